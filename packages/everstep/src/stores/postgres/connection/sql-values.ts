/** Values of statements as the library accepts them. */

/** Texts, numbers, booleans, bytes, null, and arrays of them (`unnest($1::text[])`). */
export type SqlValue = string | number | boolean | Uint8Array | null | readonly SqlValue[];

type PgValue = string | number | boolean | Buffer | null;

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** In the text of an array: quoted, so that no text is mistaken for NULL, a bracket or the end. */
function elementOf(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return /["\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
  if (typeof value !== 'object') return String(value);
  return value instanceof Uint8Array ? `"\\\\x${bufferOf(value).toString('hex')}"` : arrayOf(value);
}

/** Most values are arrays: encoded here at once, they cost half of what the library needs for them. */
const arrayOf = (values: readonly SqlValue[]): string => `{${values.map(elementOf).join(',')}}`;

/** PostgreSQL accepts no character 0 in a text, and a batch with one would never succeed: another character replaces it. */
const textOf = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text);

/** The value as the library sends it. */
export function pgValueOf(value: SqlValue): PgValue {
  if (typeof value === 'string') return textOf(value);
  if (value instanceof Uint8Array) return bufferOf(value);
  return value !== null && typeof value === 'object' ? textOf(arrayOf(value)) : value;
}
