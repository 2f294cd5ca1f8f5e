/** Converts the values of statements to values that the library accepts, and reads those of rows. */
import pg from 'pg';

/** A text, number, boolean, bytes or null, or an array of them (`unnest($1::text[])`). */
export type SqlValue = string | number | boolean | Uint8Array | null | readonly SqlValue[];

type PgValue = string | number | boolean | Buffer | null;

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Returns the text of an array element, quoted so that it is not mistaken for NULL, a bracket or the end of the array. */
function elementOf(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return /["\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
  if (typeof value !== 'object') return String(value);
  return value instanceof Uint8Array ? `"\\\\x${bufferOf(value).toString('hex')}"` : arrayOf(value);
}

/** Encodes an array. Most values are arrays, and the library takes twice as long to encode one. */
const arrayOf = (values: readonly SqlValue[]): string => `{${values.map(elementOf).join(',')}}`;

/** Replaces NUL characters, which PostgreSQL does not accept in text: a batch that contains one would never succeed. */
const textOf = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text);

/** Returns the value as the library sends it. */
export function pgValueOf(value: SqlValue): PgValue {
  if (typeof value === 'string') return textOf(value);
  if (value instanceof Uint8Array) return bufferOf(value);
  return value !== null && typeof value === 'object' ? textOf(arrayOf(value)) : value;
}

const INT8_OID = 20;

function parseInt8(digits: string): number {
  const value = Number(digits);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${digits} is too large to be read as a number`);
  return value;
}

/** Reads bigint as a number, in these connections only. */
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8_OID && format !== 'binary') return parseInt8;
    return pg.types.getTypeParser(oid, format as 'text');
  }) as typeof pg.types.getTypeParser,
};
