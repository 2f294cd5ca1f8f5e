/**
 * Reads the filters of a bulk operation from a JSON body. The SDKs send them in the query; other and older clients send them
 * in the body. If the body were ignored, a filtered operation would apply to everything.
 */
import Type, { type StaticDecode, type TObject } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import type { RequestContext } from '../operation.js';
import { readJson, validate } from '../parameters/json-body.js';
import { readQuery, splitQuery } from '../parameters/query.js';
import { headerText } from './item-headers.js';

export const FILTERS_BODY = {
  kind: 'bytes',
  maxBytes: LIMITS.maxEventBytes,
  description:
    'JSON object with the query parameters, instead of a query. A string is a parameter given once; an array is a repeated parameter.',
} as const;

const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const Fields = Type.Record(Type.String(), Type.Union([Value, Type.Array(Value)]));

export interface BulkFilters<Query> {
  readonly query: Query;
  /** True if a multi-value filter is an empty array, so that nothing matches. */
  readonly matchesNothing: boolean;
}

/** Reads the filters from the query or from the body. Throws ApiError. */
export function filtersOf<Schema extends TObject>(
  schema: Schema,
  query: StaticDecode<Schema>,
  body: Uint8Array,
  { headers, target, dialect }: Pick<RequestContext, 'headers' | 'target' | 'dialect'>,
): BulkFilters<StaticDecode<Schema>> {
  const json = readJson(body, headerText(headers, 'content-type'));
  if (json === undefined) return { query, matchesNothing: false };
  const fields = Object.entries(validate(Fields, json, 'the body'));
  const queryNames = [...splitQuery(target.query).keys()].filter((name) => name !== dialect.tokenParameter);
  if (fields.length > 0 && queryNames.length > 0)
    throw new ApiError('bad-parameter', 'parameters are in both the query and the body; send them in one place');
  if (fields.length === 0 && queryNames.length === 0)
    throw new ApiError('bad-parameter', 'the body contains no filter; omit it to match everything');
  if (fields.length === 0) return { query, matchesNothing: false };
  const matchesNothing = fields.some(([, value]) => Array.isArray(value) && value.length === 0);
  const encodedFields = fields.map(([name, value]) => {
    const values = [value].flat().map((item) => encodeURIComponent(item));
    // A repeated value is not split at commas, so the only value of an array is sent twice.
    const isList = Array.isArray(value) && Type.IsArray(schema.properties[name]);
    return [name, isList ? [...values, ...values] : values] as const;
  });
  const nonEmptyFields = encodedFields.filter(([, values]) => values.length > 0);
  return { query: readQuery(schema, new Map(nonEmptyFields), { unknown: 'refuse', otherNames: [] }), matchesNothing };
}
