/** Shared parts of the management operations: JSON bodies, and the conversion of outcomes to responses. */
import Type, { type TProperties } from 'typebox';
import type { Outcome } from '../../accounts/account-service.js';
import { ApiError, type ErrorCode } from '../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../contract/fields/no-other-properties.js';
import { CHALLENGE as BASIC_CHALLENGE } from '../admission/basic-authentication.js';
import { respond } from '../operation.js';
import { CHALLENGE as SESSION_CHALLENGE } from '../sessions/session-authentication.js';

const ERROR_CODES = {
  'not-found': 'not-found',
  forbidden: 'forbidden',
  invalid: 'bad-body',
  conflict: 'conflict',
  'bad-credential': 'bad-credential',
  'session-ended': 'session-ended',
} as const;
const CHALLENGES: { readonly [Kind in keyof typeof ERROR_CODES]?: Readonly<Record<string, string>> } = {
  'bad-credential': BASIC_CHALLENGE,
  'session-ended': SESSION_CHALLENGE,
};

/** Error codes of operations that change an existing object. */
export const CHANGE_ERRORS: readonly ErrorCode[] = ['bad-parameter', 'not-found', 'forbidden'];
export const BODY_ERRORS: readonly ErrorCode[] = ['bad-body', 'unsupported-media-type'];

/** Returns the value of a successful outcome. Throws ApiError for other outcomes. */
export function valueOrThrow<Value>(outcome: Outcome<Value>): Value {
  if (outcome.kind === 'done') return outcome.value;
  throw new ApiError(ERROR_CODES[outcome.kind], outcome.message, CHALLENGES[outcome.kind]);
}

/** Response that the specification defines for operations without data. */
export const OK = respond(200, 'OK' as const);

/** Headers of responses that contain a secret. */
export const NO_STORE_HEADERS = { 'cache-control': 'no-store' } as const;

/** Declares a required JSON object without additional fields as the body of an operation. */
export const jsonBody = <Properties extends TProperties>(properties: Properties) =>
  ({ kind: 'json', required: true, schema: Type.Object(properties, NO_OTHER_PROPERTIES) }) as const;

/** Returns the body of an operation that requires one. */
export function requiredBody<Body>(body: Body | undefined): Body {
  if (body === undefined)
    throw new ApiError('bad-body', 'the request body is missing; send a JSON object with Content-Type: application/json');
  return body;
}
