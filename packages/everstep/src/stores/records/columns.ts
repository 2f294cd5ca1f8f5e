/** Reads columns and checks their types. A row that does not match the schema is a TypeError. */

export type Row = Readonly<Record<string, unknown>>;

function throwUnexpected(row: Row, column: string, expected: string): never {
  throw new TypeError(`column ${column} is ${row[column] === null ? 'null' : typeof row[column]}, not ${expected}`);
}

/** 64-bit integers are read as numbers: times and counts are far below 2^53. */
export function integer(row: Row, column: string): number {
  const value = row[column];
  return typeof value === 'number' ? value : throwUnexpected(row, column, 'a number');
}

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === 'string' ? value : throwUnexpected(row, column, 'text');
}

/** SQLite has no type for flags and returns 0 or 1. */
export function flag(row: Row, column: string): boolean {
  const value = row[column];
  if (value === true || value === 1) return true;
  return value === false || value === 0 ? false : throwUnexpected(row, column, 'true or false');
}

/** Returns a plain Uint8Array: a Buffer would be shown and compared as something else. */
export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) return throwUnexpected(row, column, 'bytes');
  return Buffer.isBuffer(value) ? new Uint8Array(value) : value;
}

export const integerOrNull = (row: Row, column: string): number | null => (row[column] === null ? null : integer(row, column));

/** Reads a number, which may have a fraction, or null. */
export const numberOrNull = integerOrNull;

export const textOrNull = (row: Row, column: string): string | null => (row[column] === null ? null : text(row, column));

/** Reads a word, which must be one of `words`. */
export function word<Word extends string>(row: Row, column: string, words: readonly Word[]): Word {
  const value = text(row, column);
  return words.find((candidate) => candidate === value) ?? throwUnexpected(row, column, `one of ${words.join(', ')}`);
}

/** Reads JSON that a store wrote from a value of the type. */
export const json = <Value>(row: Row, column: string): Value => JSON.parse(text(row, column)) as Value;

/** Returns the columns as a list for a statement, each with the `alias` of its table if one is given. */
export const listOf = (columns: readonly string[], alias?: string): string =>
  columns.map((column) => (alias === undefined ? column : `${alias}.${column}`)).join(', ');
