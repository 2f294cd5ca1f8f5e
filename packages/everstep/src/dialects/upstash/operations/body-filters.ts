/**
 * Filters of a bulk in a JSON body. The SDKs put them into the query; other
 * clients, and older ones, into the body, and a body that nobody looked at
 * would turn "these" into "all".
 */
import Type, { type StaticDecode, type TObject } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { RequestContext } from '../../../http-api/operation.js';
import { readJson, validate } from '../../../http-api/parameters/json-body.js';
import { readQuery, splitQuery } from '../../../http-api/parameters/query.js';
import { headerText } from './item-headers.js';

export const FILTERS_BODY = {
  kind: 'bytes',
  maxBytes: LIMITS.maxEventBytes,
  description:
    'JSON object with the parameters of the query, instead of a query. A string is read as a parameter that is given once, an array as one that is repeated.',
} as const;

const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const Fields = Type.Record(Type.String(), Type.Union([Value, Type.Array(Value)]));

export interface AskedFilters<Query> {
  readonly asked: Query;
  /** One that may have several values has none: it is about nothing. */
  readonly nothing: boolean;
}

/** What the query asks for, or the body in its place. Throws ApiError. */
export function filtersOf<Schema extends TObject>(
  schema: Schema,
  query: StaticDecode<Schema>,
  body: Uint8Array,
  { headers, target, dialect }: Pick<RequestContext, 'headers' | 'target' | 'dialect'>,
): AskedFilters<StaticDecode<Schema>> {
  const given = readJson(body, headerText(headers, 'content-type'));
  if (given === undefined) return { asked: query, nothing: false };
  const fields = Object.entries(validate(Fields, given, 'the body'));
  const inQuery = [...splitQuery(target.query).keys()].filter((name) => name !== dialect.tokenParameter);
  if (fields.length > 0 && inQuery.length > 0)
    throw new ApiError('bad-parameter', 'parameters stand in the query or in the body, not in both');
  if (fields.length === 0 && inQuery.length === 0)
    throw new ApiError('bad-parameter', 'the body names nothing; leave it out where all is meant');
  if (fields.length === 0) return { asked: query, nothing: false };
  const nothing = fields.some(([, value]) => Array.isArray(value) && value.length === 0);
  const written = fields.map(([name, value]) => {
    const values = [value].flat().map((one) => encodeURIComponent(one));
    // Given twice, the value of an array of one is not split at its commas.
    const isList = Array.isArray(value) && Type.IsArray(schema.properties[name]);
    return [name, isList ? [...values, ...values] : values] as const;
  });
  const several = written.filter(([, values]) => values.length > 0);
  return { asked: readQuery(schema, new Map(several), { unknown: 'refuse', besides: [] }), nothing };
}
