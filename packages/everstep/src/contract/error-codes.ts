/**
 * Every error that the API answers, in one table: the stable code (sent as
 * `Svc-Error-Code`), its HTTP status, and what it is about. docs/errors.md is
 * checked against it both ways.
 */
export const ERROR_CODES = Object.freeze({
  'bad-request': { status: 400, about: 'The request is malformed: a body, header or parameter could not be read.' },
  'bad-parameter': { status: 400, about: 'A query or path parameter has a wrong type, range or value.' },
  'bad-header': { status: 400, about: 'A request header has a wrong form or value.' },
  'bad-body': { status: 400, about: 'The request body does not have the expected form.' },
  'bad-cursor': { status: 400, about: 'The cursor was not made by this service, or not for this request and its filters.' },
  'bad-url': { status: 400, about: 'The workflow URL is not an absolute http or https URL, or is too long.' },
  'bad-expression': { status: 400, about: 'The retry delay expression cannot be parsed or uses something that is not allowed.' },
  'run-over': { status: 400, about: 'The run of the submitted steps is not active: it has ended, or there is none.' },
  'unknown-region': { status: 400, about: 'The host names a region that does not exist.' },
  'missing-token': { status: 401, about: 'No credential was sent.' },
  'bad-token': { status: 401, about: 'The token is malformed, expired, revoked, or not of this region or installation.' },
  'bad-credential': {
    status: 401,
    about: 'The e-mail or the API key is not good, or the Authorization header is no HTTP Basic.',
  },
  'session-ended': { status: 401, about: 'There is no session of this cookie, or not any more.' },
  'budget-exceeded': { status: 402, about: 'The monthly budget of the queue instance is spent.' },
  'read-only-token': { status: 403, about: 'The token may only read.' },
  'missing-scope': { status: 403, about: 'The token does not have the scope that the operation requires.' },
  'csrf-refused': {
    status: 403,
    about: 'The session was recognised, but the request does not show that a page of the service sent it.',
  },
  forbidden: { status: 403, about: 'The role of the user in the account does not allow this.' },
  'blocked-address': { status: 400, about: 'The destination has an address or a port that this service may not call.' },
  'not-found': { status: 404, about: 'There is no such thing, or not for this token.' },
  'unknown-route': { status: 404, about: 'No operation has this path.' },
  'method-not-allowed': { status: 405, about: 'The path exists, but not with this method.' },
  'request-timeout': { status: 408, about: 'The request did not arrive as a whole in time.' },
  'run-id-taken': { status: 409, about: 'An active run already has this id.' },
  'run-not-active': { status: 409, about: 'The run has ended, so it cannot be canceled or notified any more.' },
  'too-many-events': { status: 409, about: 'The run has as many events kept for it as it may.' },
  'too-many-schedules': { status: 409, about: 'The queue instance has as many schedules as it may.' },
  'storage-quota-exceeded': {
    status: 409,
    about: 'The account stores as many bytes as its plan allows, or would store more than that.',
  },
  'too-many-queues': { status: 409, about: 'The queue instance has as many queues as its plan allows.' },
  'too-many-url-groups': { status: 409, about: 'The queue instance has as many URL groups as its plan allows.' },
  'too-many-flow-control-keys': {
    status: 409,
    about: 'The queue instance has as many flow control keys as its plan allows.',
  },
  'callback-not-possible': { status: 409, about: 'The failure callback is in no state that allows this, or there is none.' },
  'repair-state': { status: 409, about: 'The repair is in a state that does not allow this: the message says which one does.' },
  conflict: { status: 409, about: 'What is there does not allow this: the message says what to change first.' },
  'steps-refused': {
    status: 412,
    about: 'What the endpoint submits for its run cannot be taken, and no retry will help: the message says why.',
  },
  'body-too-large': { status: 413, about: 'The body is over the limit.' },
  'url-too-long': { status: 414, about: 'The request URL is over the limit.' },
  'unsupported-media-type': { status: 415, about: 'The body has a content type that this operation does not take.' },
  'headers-too-large': { status: 431, about: 'The headers are over the limit.' },
  'too-many-active-runs': {
    status: 429,
    about: 'The account has as many active runs and messages as its plan allows.',
  },
  'daily-limit-reached': {
    status: 429,
    about: 'The queue instance has started as many runs today (UTC) as its plan allows.',
  },
  'rate-limited': { status: 429, about: 'Too many requests; try again after Retry-After seconds.' },
  'internal-error': { status: 500, about: 'Something went wrong inside the service.' },
  'store-unavailable': {
    status: 503,
    about: 'The store cannot be reached, or refuses writes. What a request was to change may have been changed, or not.',
  },
  unavailable: {
    status: 503,
    about:
      'The service is starting or stopping, too many connections or waiting requests are open, or too many long answers are being sent.',
  },
} as const);

export type ErrorCode = keyof typeof ERROR_CODES;

/** Thrown by request handlers; the server turns it into `{ "error": message }` with the code's status. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  /** `message` says what was wrong and what to do; it is shown to the caller. */
  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
  get status(): number {
    return ERROR_CODES[this.code].status;
  }
}
