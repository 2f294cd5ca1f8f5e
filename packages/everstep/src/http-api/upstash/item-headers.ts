/**
 * Reads the headers of items. Headers that the operation does not know are ignored, because the SDKs send additional headers.
 */
import type { TObject } from 'typebox';
import { upstash } from '../../dialects/upstash/index.js';
import { type PrefixedHeaders, type ReceivedHeaders, readPrefixedHeaders, toUtf8 } from '../parameters/prefixed-headers.js';

/** Reads values by their schema, and families of headers by their prefix. Throws ApiError. */
export function readKnownHeaders<Schema extends TObject, Family extends string>(
  schema: Schema,
  families: readonly Family[],
  headers: ReceivedHeaders,
): PrefixedHeaders<Schema, Family> {
  const { receivedPrefix } = upstash;
  const names = new Set(Object.keys(schema.properties).map((name) => receivedPrefix + name.toLowerCase()));
  const prefixes = families.map((family) => receivedPrefix + family.toLowerCase());
  const knownHeaders = Object.entries(headers).filter(
    ([name]) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix)),
  );
  return readPrefixedHeaders(schema, families, Object.fromEntries(knownHeaders), upstash);
}

/** Returns the first value of a header as text. */
export function headerText(headers: ReceivedHeaders, name: string): string | undefined {
  const value = headers[name];
  const firstValue = typeof value === 'string' ? value : value?.[0];
  return firstValue === undefined ? undefined : toUtf8(firstValue);
}
