/** Describes how the rows of a PostgreSQL table are read from the embedded store, with helpers for similar tables. */
import type { Columns, RowOf } from '../stores/postgres/connection/first-load.js';
import { RUN_KEY } from '../stores/postgres/runs/tables.js';
import { type SummedTable, UNSETTLED_SUMS } from '../stores/sqlite/commit/unsettled-sums.js';

/** A row of the embedded store, with the names of the target columns. */
export type SourceRow = Readonly<Record<string, unknown>>;
export type TargetRow = RowOf<Columns>;

export interface CopiedTable {
  /** Name of the table in PostgreSQL. */
  readonly table: string;
  readonly columns: Columns;
  /** SQL that selects the rows from the embedded store. */
  readonly select: string;
  /** Embedded table of which `select` must return every row; null if it returns only some rows of a table. */
  readonly completeTable: string | null;
  /** SQL that selects additional rows, which are not in `completeTable`. */
  readonly extraSelect?: string;
  /** Converts a row to target rows. If it is absent, each row becomes one target row with columns of the same names. */
  targetRowsOf?(row: SourceRow): readonly Readonly<Record<string, unknown>>[];
}

/** SQL columns with the key of run `r` and the id of its instance `t`. */
export const RUN_KEY_COLUMNS = 't.instance_id, r.key AS run_key';
/** Returns SQL that joins the run and the instance of the rows of `alias`. */
export const joinRun = (alias: string) => `JOIN run r ON r.seq = ${alias}.run_seq JOIN tenant t ON t.seq = r.tenant`;
/** SQL column that states whether run `r` is a message. */
export const IS_MESSAGE = `json_extract(r.settings, '$.message') IS NOT NULL AS message`;
/** Returns SQL with the columns of `alias`, except those in `excluded`. */
export const columnList = (columns: Columns, alias: string, ...excluded: readonly string[]) =>
  Object.keys(columns)
    .filter((name) => !excluded.includes(name))
    .map((name) => `${alias}.${name}`)
    .join(', ');

/** Describes a table that is the same in both stores. */
export const identicalTable = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns,
  select: `SELECT ${columnList(columns, 'x')} FROM ${table} x ORDER BY x.rowid`,
  completeTable: table,
});
/** Describes a table that is the same in both stores and has no row numbers. */
export const identicalTableWithoutRowid = (table: string, columns: Columns): CopiedTable => ({
  ...identicalTable(table, columns),
  select: `SELECT ${columnList(columns, 'x')} FROM ${table} x`,
});
/** Describes a table that refers to its instance by number in the embedded store. */
export const instanceTable = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns: { instance_id: 'text', ...columns },
  select: `SELECT t.instance_id, ${columnList(columns, 'x')} FROM ${table} x JOIN tenant t ON t.seq = x.tenant`,
  completeTable: table,
});
/** Describes a table that refers to its run by number in the embedded store. `place` is SQL for the column `place`, if any. */
export const runTable = (table: string, columns: Columns, place: string | null = null): CopiedTable => {
  const ownColumns = columnList(columns, 'x', ...Object.keys(RUN_KEY));
  const placeColumn = place === null ? '' : `, ${place} AS place`;
  return {
    table,
    columns: { ...RUN_KEY, ...columns, ...(place === null ? {} : { place: 'bigint' }) },
    select: `SELECT ${RUN_KEY_COLUMNS}, ${ownColumns}${placeColumn} FROM ${table} x ${joinRun('x')}`,
    completeTable: table,
  };
};
/** Returns SQL for sums that the embedded store has not yet added to the table. `columns` is SQL on the fields of `x`. */
export const unsettledSql = (table: SummedTable, columns: string): string =>
  `SELECT ${columns}, 1 AS shard FROM (${UNSETTLED_SUMS}) x WHERE x.summed = '${table}'`;

/** Describes a table of counts. In PostgreSQL a count has several rows, so that commits do not wait for each other. */
export const countTable = (table: SummedTable, columns: Columns, extraSelect: string): CopiedTable => ({
  table,
  columns: { ...columns, shard: 'integer' },
  select: `SELECT ${columnList(columns, 'x')}, 0 AS shard FROM ${table} x`,
  completeTable: table,
  extraSelect: unsettledSql(table, extraSelect),
});
