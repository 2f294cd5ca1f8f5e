/** Whatever goes wrong, the answer has one form: `{"error": string}`, and the code in a header. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../config/limits.js';
import { ApiError } from '../contract/error-codes.js';
import type { Dialect } from '../dialects/index.js';
import type { Log } from '../ports/log.js';
import { StoreRefusesWritesError, StoreUnavailableError } from '../ports/store-unavailable.js';
import { shown } from './parameters/unacceptable.js';

export const JSON_TYPE = 'application/json; charset=utf-8';
const ERROR_CODE_HEADER = 'Error-Code';

/** Of every answer: much of it is secret, nobody keeps it on the way, and no browser guesses what it is. */
export const API_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function errorReply(error: ApiError, dialect: Dialect): ErrorReply {
  return {
    status: error.status,
    headers: { ...API_HEADERS, 'content-type': JSON_TYPE, [dialect.spell(ERROR_CODE_HEADER)]: error.code, ...error.headers },
    body: JSON.stringify({ error: error.message }),
  };
}

export const unknownRoute = (path: string): ApiError =>
  new ApiError('unknown-route', `there is no operation at ${shown(path)}; see /openapi.json`);

/** Errors of the server framework, by its codes. */
function fromFramework(code: string): ApiError | null {
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('unsupported-media-type', 'the Content-Type header is no media type, such as application/json');
    case 'FST_ERR_BAD_URL':
      return new ApiError('bad-request', 'the path is not correctly percent-encoded');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new ApiError('url-too-long', 'a part of the path is too long');
    default:
      return null;
  }
}

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** What may be logged of a request. */
export interface FailedRequest {
  readonly requestId: string;
  readonly method: string;
  readonly route: string | undefined;
  /** All of it has come. */
  readonly whole: boolean;
}

const RETRY_AFTER = { 'retry-after': '2' };

/**
 * The commit of a change may have happened, and only its answer been lost: nobody can tell before the database is back. A
 * store that refuses a write has not done it, but an operation may have written something before.
 */
function storeAway(error: StoreUnavailableError, method: string): ApiError {
  if (error instanceof StoreRefusesWritesError) {
    const message = `${error.message}; retry after the number of seconds in Retry-After, with the same run id or deduplication id`;
    return new ApiError('store-unavailable', message, RETRY_AFTER);
  }
  const reads = method === 'GET' || method === 'HEAD';
  const known = 'whether it was taken is not known: look, or send it again with the same run id or deduplication id';
  const message = `the database cannot be reached just now; try again in a moment${reads ? '' : `. Of this request ${known}`}`;
  return new ApiError('store-unavailable', message, RETRY_AFTER);
}

/** What the client is told of an error. What it is not told goes to the log. */
export function apiErrorOf(error: unknown, log: Log, { requestId, method, route, whole }: FailedRequest): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreUnavailableError) {
    log.warn({ requestId, method, route, error: error.message }, 'a request failed because the store cannot be reached');
    return storeAway(error, method);
  }
  const code = codeOf(error);
  const known = fromFramework(code);
  if (known) return known;
  // Of a request that has come it is said by another connection, such as that to the database.
  if (!whole && (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE'))
    return new ApiError('bad-request', 'the request ended before it was whole');
  const told = error instanceof Error ? { error: error.message, stack: error.stack } : { error: String(error) };
  log.error({ requestId, method, route, ...told }, 'a request failed inside the service');
  return new ApiError('internal-error', 'something went wrong inside the service; try again, or look into its log');
}

/** Errors of requests that could not be read as HTTP. */
export function clientError(code: string): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('headers-too-large', `the headers are over the limit of ${LIMITS.maxHeaderBytes} bytes`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request-timeout', `the request was not whole within ${LIMITS.requestTimeoutMs / 1000} s`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('body-too-large', 'the extensions of a chunk are over the limit');
    default:
      return new ApiError('bad-request', `the request is no HTTP that can be read${code.startsWith('HPE_') ? ` (${code})` : ''}`);
  }
}

/** Answers on a socket whose request could not be read, and closes it. */
export function replyOnSocket(socket: Socket, error: ApiError, dialect: Dialect): void {
  const { status, headers, body } = errorReply(error, dialect);
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n${body}`);
}
