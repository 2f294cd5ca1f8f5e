/**
 * Reads the headers of items. Headers that the operation does not know are ignored, because the SDKs send additional
 * ones.
 */
import type { TObject } from 'typebox';
import { upstash } from '../../dialects/upstash/index.js';
import { asText, type ReadHeaders, type ReceivedHeaders, readPrefixedHeaders } from '../parameters/prefixed-headers.js';

/** Reads values by their schema, and families of headers by their prefix. Throws ApiError. */
export function readKnownHeaders<Schema extends TObject, Family extends string>(
  schema: Schema,
  families: readonly Family[],
  headers: ReceivedHeaders,
): ReadHeaders<Schema, Family> {
  const { receivedPrefix } = upstash;
  const names = new Set(Object.keys(schema.properties).map((name) => receivedPrefix + name.toLowerCase()));
  const starts = families.map((family) => receivedPrefix + family.toLowerCase());
  const known = Object.entries(headers).filter(([name]) => names.has(name) || starts.some((start) => name.startsWith(start)));
  return readPrefixedHeaders(schema, families, Object.fromEntries(known), upstash);
}

/** Returns the first value of a header as text. */
export function headerText(headers: ReceivedHeaders, name: string): string | undefined {
  const value = headers[name];
  const first = typeof value === 'string' ? value : value?.[0];
  return first === undefined ? undefined : asText(first);
}
