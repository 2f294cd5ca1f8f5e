/** Descriptions of the tables of the embedded store as they are read for PostgreSQL, with helpers that several tables share. */
import type { Columns, RowOf } from '../stores/postgres/connection/first-load.js';
import { KEY } from '../stores/postgres/runs/tables.js';
import { type SummedTable, UNSETTLED_SUMS } from '../stores/sqlite/commit/unsettled-sums.js';

/** A row of the embedded store, with the names of the target columns. */
export type SourceRow = Readonly<Record<string, unknown>>;
export type TargetRow = RowOf<Columns>;

export interface CopiedTable {
  readonly table: string;
  readonly columns: Columns;
  readonly select: string;
  /** The embedded table whose rows must all be returned by `select`; null: `select` returns a part. */
  readonly allOf: string | null;
  /** Selects further rows of the target, which are not rows of that table. */
  readonly furtherRows?: string;
  /** Converts a row to target rows. Absent: each row becomes one, with values taken by name. */
  rowsOf?(row: SourceRow): readonly Readonly<Record<string, unknown>>[];
}

/** Columns of run `r` and its instance `t`. */
export const OF_RUN = 't.instance_id, r.key AS run_key';
export const runOf = (alias: string) => `JOIN run r ON r.seq = ${alias}.run_seq JOIN tenant t ON t.seq = r.tenant`;
export const IS_MESSAGE = `json_extract(r.settings, '$.message') IS NOT NULL AS message`;
export const columnList = (columns: Columns, alias: string, ...excluded: readonly string[]) =>
  Object.keys(columns)
    .filter((name) => !excluded.includes(name))
    .map((name) => `${alias}.${name}`)
    .join(', ');

/** Returns a table that is the same in both stores. */
export const same = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns,
  select: `SELECT ${columnList(columns, 'x')} FROM ${table} x ORDER BY x.rowid`,
  allOf: table,
});
/** Returns a table that is the same in both stores and has no row numbers. */
export const sameWithoutRowid = (table: string, columns: Columns): CopiedTable => ({
  ...same(table, columns),
  select: `SELECT ${columnList(columns, 'x')} FROM ${table} x`,
});
/** Returns a table that refers to its instance by number in the embedded store. */
export const ofInstance = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns: { instance_id: 'text', ...columns },
  select: `SELECT t.instance_id, ${columnList(columns, 'x')} FROM ${table} x JOIN tenant t ON t.seq = x.tenant`,
  allOf: table,
});
/** Returns a table that refers to its run by number in the embedded store. */
export const ofRun = (table: string, columns: Columns, more = ''): CopiedTable => ({
  table,
  columns: { ...KEY, ...columns, ...(more === '' ? {} : { place: 'bigint' }) },
  select: `SELECT ${OF_RUN}, ${columnList(columns, 'x', ...Object.keys(KEY))}${more} FROM ${table} x ${runOf('x')}`,
  allOf: table,
});
/** Returns SQL for the sums of the embedded store that are not yet added to the table; `columns` are SQL on the fields of `x`. */
export const unsettledSql = (table: SummedTable, columns: string): string =>
  `SELECT ${columns}, 1 AS shard FROM (${UNSETTLED_SUMS}) x WHERE x.summed = '${table}'`;

/** Returns a table of counts, which has several rows per count in PostgreSQL, so that commits do not wait for each other. */
export const countTable = (table: SummedTable, columns: Columns, furtherRows: string): CopiedTable => ({
  table,
  columns: { ...columns, shard: 'integer' },
  select: `SELECT ${columnList(columns, 'x')}, 0 AS shard FROM ${table} x`,
  allOf: table,
  furtherRows: unsettledSql(table, furtherRows),
});
