/** What the operations of the management API share: bodies, and how an outcome is answered. */
import Type, { type TProperties } from 'typebox';
import type { Outcome } from '../../accounts/account-service.js';
import { ApiError, type ErrorCode } from '../../contract/error-codes.js';
import { answer } from '../operation.js';

const CODES = { 'not-found': 'not-found', forbidden: 'forbidden', invalid: 'bad-body', conflict: 'conflict' } as const;

/** Errors of operations that change something that is there. */
export const CHANGE_ERRORS: readonly ErrorCode[] = ['bad-parameter', 'not-found', 'forbidden'];
export const BODY_ERRORS: readonly ErrorCode[] = ['bad-body', 'unsupported-media-type'];

/** Throws ApiError for what was not done. */
export function done<Value>(outcome: Outcome<Value>): Value {
  if (outcome.kind === 'done') return outcome.value;
  throw new ApiError(CODES[outcome.kind], outcome.message);
}

/** The answer of the specification where there is nothing else to tell. */
export const OK = answer(200, 'OK' as const);

/** For answers with a secret. */
export const NOT_CACHED = { 'cache-control': 'no-store' } as const;

/** A JSON body that has to be there and has no other fields than these. */
export const jsonBody = <Properties extends TProperties>(properties: Properties) =>
  ({ kind: 'json', required: true, schema: Type.Object(properties, { additionalProperties: false }) }) as const;

/** A body that is required was read before its operation runs. */
export function given<Body>(body: Body | undefined): Body {
  if (body === undefined) throw new ApiError('bad-body', 'a JSON body is missing');
  return body;
}
