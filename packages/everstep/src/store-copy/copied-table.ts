/** How a table of the embedded store is read for PostgreSQL: the ways that several tables share. */
import type { Columns, RowOf } from '../stores/postgres/first-load.js';

/** A row as the embedded store has it, under the names of the columns it goes to. */
export type SourceRow = Readonly<Record<string, unknown>>;
export type TargetRow = RowOf<Columns>;

export interface CopiedTable {
  readonly table: string;
  readonly columns: Columns;
  readonly select: string;
  /** The table of the embedded store of which every row has to be among the rows that `select` gives; null: it gives some. */
  readonly allOf: string | null;
  /** Absent: each row becomes one, its values taken by name. */
  rowsOf?(row: SourceRow): readonly Readonly<Record<string, unknown>>[];
}

export const KEY = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;
/** Columns of the run `r` of its instance `t`. */
export const OF_RUN = 't.instance_id, r.key AS run_key';
export const runOf = (alias: string) => `JOIN run r ON r.seq = ${alias}.run_seq JOIN tenant t ON t.seq = r.tenant`;
export const IS_MESSAGE = `json_extract(r.settings, '$.message') IS NOT NULL AS message`;
export const columnList = (columns: Columns, alias: string, ...but: readonly string[]) =>
  Object.keys(columns)
    .filter((name) => !but.includes(name))
    .map((name) => `${alias}.${name}`)
    .join(', ');

/** A table that is the same on both sides. */
export const same = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns,
  select: `SELECT ${columnList(columns, 'x')} FROM ${table} x ORDER BY x.rowid`,
  allOf: table,
});
/** The same, but without row numbers of its own. */
export const sameWithoutRowid = (table: string, columns: Columns): CopiedTable => ({
  ...same(table, columns),
  select: `SELECT ${columnList(columns, 'x')} FROM ${table} x`,
});
/** One that names its instance by number in the embedded store. */
export const ofInstance = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns: { instance_id: 'text', ...columns },
  select: `SELECT t.instance_id, ${columnList(columns, 'x')} FROM ${table} x JOIN tenant t ON t.seq = x.tenant`,
  allOf: table,
});
/** One that names its run by number. */
export const ofRun = (table: string, columns: Columns, more = ''): CopiedTable => ({
  table,
  columns: { ...KEY, ...columns, ...(more === '' ? {} : { place: 'bigint' }) },
  select: `SELECT ${OF_RUN}, ${columnList(columns, 'x')}${more} FROM ${table} x ${runOf('x')}`,
  allOf: table,
});
/** Counts, which have several rows in a database so that commits do not wait for each other. */
export const counted = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns: { ...columns, shard: 'integer' },
  select: `SELECT ${columnList(columns, 'x')}, 0 AS shard FROM ${table} x`,
  allOf: table,
});
