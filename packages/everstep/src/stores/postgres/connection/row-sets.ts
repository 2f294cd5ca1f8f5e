/** Passes many rows as the values of one statement: an array for each column, which `unnest` converts back to rows. */
import type { SqlValue } from './connection.js';

export type ColumnType = 'text' | 'integer' | 'bigint' | 'boolean' | 'bytea' | 'double precision';
export type Columns = Readonly<Record<string, ColumnType>>;
export type RowOf<Set extends Columns> = Readonly<Record<keyof Set, SqlValue>>;

/** Returns `unnest($1::text[], ...)`, whose first parameter has the given number. */
export const unnest = (columns: Columns, firstNumber = 1): string =>
  `unnest(${Object.values(columns)
    .map((type, index) => `$${firstNumber + index}::${type}[]`)
    .join(', ')})`;

/** Returns the names of the columns, as in the list of an INSERT. */
export const columnNames = (columns: Columns): string => Object.keys(columns).join(', ');

/** Returns the values for the parameters of `unnest`. */
export function columnArrays<Set extends Columns>(columns: Set, rows: readonly RowOf<Set>[]): readonly SqlValue[] {
  return Object.keys(columns).map((name) => rows.map((row) => row[name] ?? null));
}

/** Key of an object: its instance, and an id that is unique in the instance. */
export interface ObjectKey {
  readonly instanceId: string;
  readonly id: string;
}

/** Returns the values for `unnest($1::text[], $2::text[])`. */
export const objectKeyArrays = (keys: readonly ObjectKey[]): readonly SqlValue[] => [
  keys.map(({ instanceId }) => instanceId),
  keys.map(({ id }) => id),
];

/** Returns an INSERT statement for many rows. */
export const insertInto = (table: string, columns: Columns): string =>
  `INSERT INTO ${table} (${columnNames(columns)}) SELECT * FROM ${unnest(columns)} AS u(${columnNames(columns)})`;

/**
 * SQL for the base of new positions. The position of a row is the microseconds of the database's clock times 1000, plus the number
 * of the row in its statement, so that positions have the order in which rows are written.
 */
export const POSITION_BASE = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000';
