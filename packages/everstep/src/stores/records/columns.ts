/** Reads columns and checks their types. Throws a TypeError if a row does not match the schema. */

export type Row = Readonly<Record<string, unknown>>;

function throwUnexpected(row: Row, column: string, expected: string): never {
  throw new TypeError(`column ${column} is ${row[column] === null ? 'null' : typeof row[column]}, not ${expected}`);
}

/** Reads an integer. 64-bit integers become numbers, because times and counts are far below 2^53. */
export function integer(row: Row, column: string): number {
  const value = row[column];
  return typeof value === 'number' ? value : throwUnexpected(row, column, 'a number');
}

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === 'string' ? value : throwUnexpected(row, column, 'text');
}

/** Reads a boolean. SQLite has no type for booleans and returns 0 or 1. */
export function flag(row: Row, column: string): boolean {
  const value = row[column];
  if (value === true || value === 1) return true;
  return value === false || value === 0 ? false : throwUnexpected(row, column, 'true or false');
}

/** Reads bytes as a plain Uint8Array, because a Buffer is printed and compared differently. */
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

/** Parses a JSON column. The value is not validated, because the store wrote it from a value of this type. */
export const json = <Value>(row: Row, column: string): Value => JSON.parse(text(row, column)) as Value;

/** Returns the columns separated by commas, each qualified with `alias` if it is given. */
export const columnList = (columns: readonly string[], alias?: string): string =>
  columns.map((column) => (alias === undefined ? column : `${alias}.${column}`)).join(', ');
