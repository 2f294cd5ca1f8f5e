/** Reads columns and checks their types: a row that does not match the schema is a fault, not a value. */
import type { SQLOutputValue } from 'node:sqlite';

export type Row = Readonly<Record<string, SQLOutputValue>>;

function unexpected(row: Row, column: string, wanted: string): never {
  throw new TypeError(`column ${column} is ${row[column] === null ? 'null' : typeof row[column]}, not ${wanted}`);
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  return typeof value === 'number' ? value : unexpected(row, column, 'a number');
}

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === 'string' ? value : unexpected(row, column, 'a text');
}

const NO_BYTES = new Uint8Array(new ArrayBuffer(8), 0, 0);

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  return value instanceof Uint8Array ? value : unexpected(row, column, 'bytes');
}

/** Bytes as they are written. Node 22 writes empty bytes as null unless they are part of a memory buffer. */
export const blob = (value: Uint8Array): Uint8Array => (value.length === 0 ? NO_BYTES : value);

export const integerOrNull = (row: Row, column: string): number | null => (row[column] === null ? null : integer(row, column));

/** Includes fractions. */
export const numberOrNull = integerOrNull;

export const textOrNull = (row: Row, column: string): string | null => (row[column] === null ? null : text(row, column));

/** One of a closed set of words. */
export function word<Word extends string>(row: Row, column: string, words: readonly Word[]): Word {
  const value = text(row, column);
  return words.find((known) => known === value) ?? unexpected(row, column, `one of ${words.join(', ')}`);
}

/** JSON that this store wrote itself from a value of the type. */
export const json = <Value>(row: Row, column: string): Value => JSON.parse(text(row, column)) as Value;
export const jsonOrNull = <Value>(row: Row, column: string): Value | null => (row[column] === null ? null : json(row, column));
