/** Reads the path, query, headers and body of a request as its operation declares them. */
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { ApiError } from '../../contract/error-codes.js';
import type { Operation, OperationInput, RequestContext } from '../operation.js';
import { readJson, validate } from '../parameters/json-body.js';
import { readPrefixedHeaders } from '../parameters/prefixed-headers.js';
import { readQuery, splitQuery } from '../parameters/query.js';
import { readValue } from '../parameters/read-value.js';
import { InvalidValueError } from '../parameters/value-errors.js';

export const NO_QUERY: Readonly<Record<string, never>> = Object.freeze({});
export const NO_BODY = Buffer.alloc(0);
const NO_PARAMETERS = Type.Object({});

/** Reads the path parameters. `params` is the result of the router. Throws ApiError. */
export function readPath(
  { pathParameters, pathErrorCode, unknownQuery }: Operation,
  params: unknown,
): Readonly<Record<string, unknown>> {
  if (!pathParameters || unknownQuery === 'part-of-path') return {};
  const texts = new Map(Object.entries(typeof params === 'object' && params !== null ? params : {}));
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(pathParameters.properties)) {
    const text = String(texts.get(name) ?? '');
    try {
      values[name] = readValue(property, text);
    } catch (error) {
      if (!(error instanceof InvalidValueError)) throw error;
      // Unlike other parameters, a path segment cannot be omitted.
      const problem = text === '' ? 'is missing from the path' : error.message;
      throw new ApiError(pathErrorCode ?? error.code ?? 'bad-parameter', `${name} ${problem}`);
    }
  }
  return values;
}

function readBody({ body: spec, access }: Operation, bytes: Buffer, contentType: string | undefined): unknown {
  if (spec?.kind !== 'json') return bytes;
  // A page of any origin can send a body without a content type, but not with JSON.
  if (access === 'open' && bytes.byteLength > 0 && contentType === undefined)
    throw new ApiError('unsupported-media-type', 'the Content-Type header is missing; send application/json');
  const value = readJson(bytes, contentType);
  if (value !== undefined) return validate(spec.schema, value, 'the body');
  if (spec.required)
    throw new ApiError('bad-body', 'the request body is missing; send a JSON value with Content-Type: application/json');
  return undefined;
}

function readQueryOf({ query, unknownQuery }: Operation, context: RequestContext): Readonly<Record<string, unknown>> {
  if (unknownQuery === 'part-of-path' || (!query && unknownQuery === 'ignore')) return NO_QUERY;
  // A token parameter next to a token header was not removed, and must not be read as a filter.
  const rules = { unknown: unknownQuery, otherNames: [context.dialect.tokenParameter] };
  return { ...readQuery(query ?? NO_PARAMETERS, splitQuery(context.target.query), rules) };
}

/** Reads the input of an operation. Throws ApiError. */
export function readInput(operation: Operation, request: FastifyRequest, body: Buffer, context: RequestContext): OperationInput {
  const { headers, headerFamilies } = operation;
  const families = headerFamilies ? Object.keys(headerFamilies) : [];
  const prefixedHeaders = headers ? readPrefixedHeaders(headers, families, context.headers, context.dialect) : null;
  return {
    path: readPath(operation, request.params),
    query: readQueryOf(operation, context),
    headers: prefixedHeaders?.values ?? {},
    headersByFamily: prefixedHeaders?.families ?? {},
    body: readBody(operation, body, request.headers['content-type']),
    request: context,
  };
}
