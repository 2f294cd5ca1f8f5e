/** Reads columns and checks their types: a row that does not match the schema is a fault, not a value. */

export type Row = Readonly<Record<string, unknown>>;

function unexpected(row: Row, column: string, wanted: string): never {
  throw new TypeError(`column ${column} is ${row[column] === null ? 'null' : typeof row[column]}, not ${wanted}`);
}

/** Includes a bigint, which arrives as a number: times and counts are far below 2^53. */
export function integer(row: Row, column: string): number {
  const value = row[column];
  return typeof value === 'number' ? value : unexpected(row, column, 'a number');
}

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === 'string' ? value : unexpected(row, column, 'a text');
}

export function flag(row: Row, column: string): boolean {
  const value = row[column];
  return typeof value === 'boolean' ? value : unexpected(row, column, 'true or false');
}

/** A copy as a plain Uint8Array: a Buffer would be shown and compared differently. */
export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  return value instanceof Uint8Array ? new Uint8Array(value) : unexpected(row, column, 'bytes');
}

export const integerOrNull = (row: Row, column: string): number | null => (row[column] === null ? null : integer(row, column));

export const textOrNull = (row: Row, column: string): string | null => (row[column] === null ? null : text(row, column));

/** One of a closed set of words. */
export function word<Word extends string>(row: Row, column: string, words: readonly Word[]): Word {
  const value = text(row, column);
  return words.find((known) => known === value) ?? unexpected(row, column, `one of ${words.join(', ')}`);
}

/** JSON that this store wrote itself from a value of the type. */
export const json = <Value>(row: Row, column: string): Value => JSON.parse(text(row, column)) as Value;
export const jsonOrNull = <Value>(row: Row, column: string): Value | null => (row[column] === null ? null : json(row, column));
