/**
 * Reads query parameters. A parameter with several values is repeated, or given once with the values separated by commas. A
 * percent-encoded comma also separates values, because most clients encode every comma. If a value can contain a comma, a
 * repeated parameter is not split.
 */
import Type, { type StaticDecode, type TArray, type TObject, type TSchema } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { splitRuleOf } from './multi-value.js';
import { readValue } from './read-value.js';
import { InvalidValueError, quoteValue } from './value-errors.js';

/** Raw values of the parameters by their decoded names. */
export type RawQuery = ReadonlyMap<string, readonly string[]>;

const EMPTY: RawQuery = new Map();

/** Decodes a name or a value. Throws ApiError, whose message names the subject. */
export function decodeText(text: string, subject: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ApiError('bad-parameter', `${subject} is not correctly percent-encoded: ${quoteValue(text)}`);
  }
}

/** Splits a query without its question mark. Throws ApiError when a name cannot be decoded. */
export function splitQuery(query: string): RawQuery {
  if (query === '') return EMPTY;
  const parameters = new Map<string, string[]>();
  for (const parameter of query.split('&')) {
    if (parameter === '') continue;
    const equalsIndex = parameter.indexOf('=');
    const encodedName = equalsIndex === -1 ? parameter : parameter.slice(0, equalsIndex);
    const name = decodeText(encodedName, 'the name of a query parameter');
    const encodedValue = equalsIndex === -1 ? '' : parameter.slice(equalsIndex + 1);
    const values = parameters.get(name);
    if (values) values.push(encodedValue);
    else parameters.set(name, [encodedValue]);
  }
  return parameters;
}

export interface QueryRules {
  /** Treatment of unknown parameters. Operations reject them if a misspelled filter would match more than intended. */
  readonly unknown: 'ignore' | 'refuse';
  /** Names of parameters that do not belong to the operation, such as the token. */
  readonly otherNames: readonly string[];
}

interface SplitValues {
  /** Values to read. Each must be valid. */
  readonly texts: readonly string[];
  /** The text before it was split, if it can be a value itself; otherwise null. */
  readonly unsplitText: string | null;
}

function splitValues(schema: TArray, texts: readonly string[]): SplitValues {
  const { separator, keepsWhole } = splitRuleOf(schema);
  const [text = '', ...otherTexts] = texts;
  if (!keepsWhole) return { texts: texts.flatMap((value) => value.split(separator)), unsplitText: null };
  if (otherTexts.length > 0 || !text.includes(',')) return { texts, unsplitText: null };
  // Two consecutive commas separate nothing in a value that may contain commas.
  return { texts: text.split(separator).filter((part) => part !== ''), unsplitText: text };
}

function isReadable(schema: TSchema, text: string): boolean {
  try {
    readValue(schema, text);
    return true;
  } catch (error) {
    if (error instanceof InvalidValueError) return false;
    throw error;
  }
}

function readValues(schema: TArray, receivedTexts: readonly string[]): unknown[] {
  const { texts, unsplitText } = splitValues(schema, receivedTexts);
  const values = new Set(texts.map((text) => readValue(schema.items, text)));
  if (values.size > LIMITS.maxFilterValues)
    throw new InvalidValueError(`must have at most ${LIMITS.maxFilterValues} values, but has ${values.size}`);
  // The whole text may be too long for a single value.
  if (unsplitText !== null && isReadable(schema.items, unsplitText)) values.add(readValue(schema.items, unsplitText));
  return [...values];
}

function readParameter(schema: TSchema, name: string, rawValues: readonly string[]): unknown {
  const texts = rawValues.map((text) => decodeText(text, `the query parameter ${name}`));
  if (Type.IsArray(schema)) return readValues(schema, texts);
  const [text = '', secondText] = texts;
  if (secondText !== undefined) throw new InvalidValueError(`must have one value, but has ${rawValues.length}`);
  return readValue(schema, text);
}

/** Reads the query. Throws ApiError `bad-parameter`, whose message contains the parameter, its value and the allowed values. */
export function readQuery<Schema extends TObject>(schema: Schema, query: RawQuery, rules: QueryRules): StaticDecode<Schema> {
  const { properties } = schema;
  const values: Record<string, unknown> = {};
  for (const [name, rawValues] of query) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property === undefined) {
      if (rules.unknown === 'ignore' || rules.otherNames.includes(name)) continue;
      const names = Object.keys(properties);
      const support = names.length === 0 ? 'it supports none' : `it supports ${names.join(', ')}`;
      throw new ApiError('bad-parameter', `unknown query parameter ${quoteValue(name)} for this operation; ${support}`);
    }
    try {
      values[name] = readParameter(property, name, rawValues);
    } catch (error) {
      if (error instanceof InvalidValueError) throw new ApiError(error.code ?? 'bad-parameter', `${name} ${error.message}`);
      throw error;
    }
  }
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(values, name)) throw new ApiError('bad-parameter', `the query parameter ${name} is missing`);
  }
  // Each property was read with its own schema above.
  return values as StaticDecode<Schema>;
}
