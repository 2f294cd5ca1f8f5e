/** Reads the request headers that start with the prefix of the dialect. */
import type { StaticDecode, TObject } from 'typebox';
import { ApiError } from '../../contract/error-codes.js';
import type { Dialect } from '../../dialects/index.js';
import { readValue } from './read-value.js';
import { InvalidValueError, quoteValue } from './value-errors.js';

export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const NON_ASCII = /[\x80-\xff]/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes a header value as UTF-8 if it is valid UTF-8. Node decodes headers as Latin-1, but most clients send UTF-8. */
export function toUtf8(value: string): string {
  if (!NON_ASCII.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}

/**
 * Result of reading prefixed headers. A family is a group of headers that carry other headers, such as `Forward-*`; its
 * name ends with the hyphen.
 */
export interface PrefixedHeaders<Schema extends TObject, Family extends string> {
  readonly values: StaticDecode<Schema>;
  /** Headers by their lowercase names, without the name of the family. Their values are unchanged. */
  readonly families: Readonly<Record<Family, Readonly<Record<string, string>>>>;
}

const namesBySchema = new WeakMap<TObject, ReadonlyMap<string, string>>();

/** Returns the names of the headers by their lowercase form. */
function namesOf(schema: TObject): ReadonlyMap<string, string> {
  let names = namesBySchema.get(schema);
  if (!names) {
    names = new Map(Object.keys(schema.properties).map((name) => [name.toLowerCase(), name]));
    namesBySchema.set(schema, names);
  }
  return names;
}

/**
 * Reads every header with the prefix. Unknown headers are rejected, because a misspelled setting must not be silently ignored.
 * Headers that clients of the dialect send with every request are ignored. Throws ApiError `bad-header`, or the
 * code of the value.
 */
export function readPrefixedHeaders<Schema extends TObject, Family extends string>(
  schema: Schema,
  families: readonly Family[],
  headers: ReceivedHeaders,
  dialect: Dialect,
): PrefixedHeaders<Schema, Family> {
  const names = namesOf(schema);
  const values: Record<string, unknown> = {};
  const pairsByFamily = new Map<Family, [string, string][]>(families.map((family) => [family, []]));
  const { receivedPrefix } = dialect;
  for (const receivedName in headers) {
    if (!receivedName.startsWith(receivedPrefix)) continue;
    const value = headers[receivedName];
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    const unprefixedName = receivedName.slice(receivedPrefix.length);
    const name = names.get(unprefixedName);
    const property = name === undefined ? undefined : schema.properties[name];
    if (name === undefined || property === undefined) {
      const family = families.find(
        (candidate) => unprefixedName.startsWith(candidate.toLowerCase()) && unprefixedName.length > candidate.length,
      );
      if (family === undefined) {
        if (dialect.ignores(unprefixedName) && !isMisspelled(unprefixedName, names)) continue;
        throw unknownHeader(receivedName, [...names.values()], families, dialect);
      }
      const forwardedName = unprefixedName.slice(family.length);
      // The published SDK forwards all headers of the request that starts a run. They can include a signature, which must not be forwarded.
      if (!dialect.isSignature(forwardedName)) pairsByFamily.get(family)?.push([forwardedName, text]);
      continue;
    }
    try {
      values[name] = readValue(property, toUtf8(text));
    } catch (error) {
      if (error instanceof InvalidValueError)
        throw new ApiError(error.code ?? 'bad-header', `${dialect.spell(name)} ${error.message}`);
      throw error;
    }
  }
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(values, name)) throw new ApiError('bad-header', `the header ${dialect.spell(name)} is missing`);
  }
  const familyHeaders: Record<string, Readonly<Record<string, string>>> = {};
  for (const [family, pairs] of pairsByFamily) familyHeaders[family] = Object.fromEntries(pairs);
  // Each property was read with its own schema above, and each family has an entry.
  return { values: values as StaticDecode<Schema>, families: familyHeaders as PrefixedHeaders<Schema, Family>['families'] };
}

const removeHyphens = (name: string): string => name.replaceAll('-', '');

/** Returns whether the name differs from a known name only in its hyphens. */
function isMisspelled(unprefixedName: string, names: ReadonlyMap<string, string>): boolean {
  const bareName = removeHyphens(unprefixedName);
  return [...names.keys()].some((name) => removeHyphens(name) === bareName);
}

function unknownHeader(receivedName: string, names: readonly string[], families: readonly string[], dialect: Dialect): ApiError {
  const supportedNames = [...names, ...families.map((family) => `${family}*`)].map((name) => dialect.spell(name)).join(', ');
  return new ApiError('bad-header', `unknown header ${quoteValue(receivedName)}; this operation supports ${supportedNames}`);
}
