/**
 * Error codes of the API: the stable code (sent as `Svc-Error-Code`), the HTTP status and the meaning. A test compares the
 * table with docs/errors.md.
 */
import type { NotReadyReason } from './errors.js';

export const ERROR_CODES = Object.freeze({
  'bad-request': { status: 400, about: 'The request is not valid HTTP: a body, header or path could not be read.' },
  'bad-parameter': { status: 400, about: 'A query or path parameter has an invalid type, range or value.' },
  'bad-header': { status: 400, about: 'A request header is missing or has an invalid value.' },
  'bad-body': { status: 400, about: 'The request body is not valid.' },
  'bad-cursor': { status: 400, about: 'The cursor is not valid for this request.' },
  'bad-url': { status: 400, about: 'The workflow URL is not an absolute http or https URL, or is too long.' },
  'bad-expression': { status: 400, about: 'The retry delay expression is not valid.' },
  'run-over': { status: 400, about: 'The run of the submitted steps is not active: it has ended or does not exist.' },
  'unknown-region': { status: 400, about: 'The host name contains a region that does not exist.' },
  'blocked-address': { status: 400, about: 'Everstep is not allowed to call this address or port.' },
  'missing-token': { status: 401, about: 'The request has no credential.' },
  'bad-token': { status: 401, about: 'The token is malformed, expired, revoked, or belongs to another region or installation.' },
  'bad-credential': { status: 401, about: 'The email or API key is wrong, or the Authorization header is not HTTP Basic.' },
  'session-ended': { status: 401, about: 'The session in the cookie does not exist or has ended.' },
  'budget-exceeded': { status: 402, about: 'The monthly budget of the queue instance is spent.' },
  'read-only-token': { status: 403, about: 'The token can only read, and the operation requires write access.' },
  'missing-scope': { status: 403, about: 'The token does not have the scope that the operation requires.' },
  'csrf-refused': {
    status: 403,
    about: 'The request has a valid session, but does not prove that it comes from a page of this server.',
  },
  forbidden: { status: 403, about: 'The role of the user does not permit this operation.' },
  'not-found': { status: 404, about: 'The object does not exist, or the caller has no access to it.' },
  'unknown-route': { status: 404, about: 'No operation has this path.' },
  'method-not-allowed': { status: 405, about: 'The path does not support this method.' },
  'request-timeout': { status: 408, about: 'The request was not received completely in time.' },
  'run-id-taken': { status: 409, about: 'An active run already has this id.' },
  'run-not-active': { status: 409, about: 'The run has already ended, so it cannot be canceled or notified.' },
  'too-many-events': { status: 409, about: 'The run has reached the limit of stored events.' },
  'too-many-schedules': { status: 409, about: 'The queue instance has reached its limit of schedules.' },
  'storage-quota-exceeded': {
    status: 409,
    about: 'The account has reached the storage limit of its plan, or the request would exceed it.',
  },
  'too-many-queues': { status: 409, about: 'The queue instance has reached the limit of queues of its plan.' },
  'too-many-url-groups': { status: 409, about: 'The queue instance has reached the limit of URL groups of its plan.' },
  'too-many-flow-control-keys': {
    status: 409,
    about: 'The queue instance has reached the limit of flow control keys of its plan.',
  },
  'callback-not-possible': {
    status: 409,
    about: 'The state of the failure callback does not allow this, or there is no failure callback.',
  },
  'no-mail-server': { status: 409, about: 'The installation has no SMTP server, so it cannot send email.' },
  'too-many-repairs': { status: 409, about: 'The queue instance has reached its limit of repairs that have not ended.' },
  'repair-state': { status: 409, about: 'The state of the repair does not allow this.' },
  conflict: { status: 409, about: 'The current state of the object, or a limit, does not allow this.' },
  'steps-refused': {
    status: 412,
    about: 'The steps that the endpoint submits for its run are not acceptable, and a retry will not help.',
  },
  'body-too-large': { status: 413, about: 'The request body is too large.' },
  'url-too-long': { status: 414, about: 'The request URL is too long.' },
  'unsupported-media-type': { status: 415, about: 'The operation does not support the content type of the body.' },
  'rate-limited': { status: 429, about: 'Too many requests: retry after the number of seconds in Retry-After.' },
  'too-many-active-runs': { status: 429, about: 'The account has reached the limit of active runs and messages of its plan.' },
  'daily-limit-reached': { status: 429, about: 'The queue instance has reached the daily limit of runs (UTC) of its plan.' },
  'headers-too-large': { status: 431, about: 'The request has too many headers, or they are too large.' },
  'internal-error': { status: 500, about: 'An internal error occurred.' },
  'store-unavailable': {
    status: 503,
    about: 'The store cannot be reached or rejects writes. A change may or may not have been made.',
  },
  unavailable: {
    status: 503,
    about: 'The server is starting or stopping, or has reached a limit of connections, waiting requests or large responses.',
  },
} as const);

export type ErrorCode = keyof typeof ERROR_CODES;

/** Error that request handlers throw. The server responds with `{ "error": message }` and the status of the code. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  /** Reason why the server is not ready; null in all other errors. */
  readonly reason: NotReadyReason | null;
  /** `message` describes the problem and its solution. The caller sees it. */
  constructor(
    code: ErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    reason: NotReadyReason | null = null,
  ) {
    super(message);
    this.code = code;
    this.headers = headers;
    this.reason = reason;
  }
  get status(): number {
    return ERROR_CODES[this.code].status;
  }
}
