/** Error responses. They all have the form `{"error": string}` and the error code in a header. */
import { STATUS_CODES } from 'node:http';
import type { Writable } from 'node:stream';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { NOT_READY_HEADER } from '../../contract/errors.js';
import type { Dialect } from '../../dialects/index.js';
import type { Log } from '../../ports/log.js';
import { StoreRefusesWritesError, StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import { quoteValue } from '../parameters/value-errors.js';

export const JSON_TYPE = 'application/json; charset=utf-8';
/** Name of the header with the error code, without the prefix of a dialect. */
export const ERROR_CODE_HEADER = 'Error-Code';

/** Headers of every response. Many responses contain secrets, so caches must not store them, and browsers not guess their type. */
export const API_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function errorReply(error: ApiError, dialect: Dialect): ErrorReply {
  return {
    status: error.status,
    headers: {
      ...API_HEADERS,
      'content-type': JSON_TYPE,
      [dialect.spell(ERROR_CODE_HEADER)]: error.code,
      ...(error.reason === null ? {} : { [dialect.spell(NOT_READY_HEADER)]: error.reason }),
      ...error.headers,
    },
    body: JSON.stringify({ error: error.message }),
  };
}

export const unknownRoute = (path: string): ApiError =>
  new ApiError('unknown-route', `no operation has the path ${quoteValue(path)}; see /openapi.json for all operations`);

/** Converts an error of the server framework by its code. Returns null for any other error. */
function frameworkErrorOf(code: string): ApiError | null {
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ApiError('unsupported-media-type', 'the Content-Type header must be a media type, such as application/json');
    case 'FST_ERR_BAD_URL':
      return new ApiError('bad-request', 'the path is not correctly percent-encoded');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new ApiError('url-too-long', 'a segment of the path is too long');
    default:
      return null;
  }
}

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Request data that may be logged. */
export interface FailedRequest {
  readonly requestId: string;
  readonly method: string;
  readonly route: string | undefined;
  /** Whether the whole request was received. */
  readonly isComplete: boolean;
}

const RETRY_AFTER = { 'retry-after': '2' };

/**
 * Converts the error of an unavailable store. The commit may have succeeded although its response was lost. A store that
 * rejects a write has not performed it, but the operation may have written something before.
 */
function storeUnavailableError(error: StoreUnavailableError, method: string): ApiError {
  if (error instanceof StoreRefusesWritesError) {
    const message = `${error.message}; retry after the number of seconds in Retry-After, with the same run id or deduplication id`;
    return new ApiError('store-unavailable', message, RETRY_AFTER);
  }
  const isRead = method === 'GET' || method === 'HEAD';
  const uncertainty = 'The request may have been processed: check first, or repeat it with the same run id or deduplication id';
  const message = `the database cannot be reached; retry later${isRead ? '' : `. ${uncertainty}`}`;
  return new ApiError('store-unavailable', message, RETRY_AFTER);
}

/** Returns the error for the client. Internal details are only logged. */
export function apiErrorOf(error: unknown, log: Log, { requestId, method, route, isComplete }: FailedRequest): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof StoreUnavailableError) {
    log.warn({ requestId, method, route, error: error.message }, 'request failed because the store is unavailable');
    return storeUnavailableError(error, method);
  }
  const code = codeOf(error);
  const frameworkError = frameworkErrorOf(code);
  if (frameworkError) return frameworkError;
  // After the whole request was received, another connection caused the error, such as that of the database.
  if (!isComplete && (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE'))
    return new ApiError('bad-request', 'the request ended before it was complete');
  const details = error instanceof Error ? { error: error.message, stack: error.stack } : { error: String(error) };
  log.error({ requestId, method, route, ...details }, 'request failed with an internal error');
  return new ApiError('internal-error', 'internal error; retry later, or check the server log');
}

/** Returns the error of a request that is not valid HTTP. */
export function clientError(code: string): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError('headers-too-large', `the request headers must not be larger than ${LIMITS.maxHeaderBytes} bytes`);
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request-timeout', `the request was not received within ${LIMITS.requestTimeoutMs / 1000} s`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('body-too-large', 'the chunk extensions of the body are too large');
    default:
      return new ApiError('bad-request', `the request is not valid HTTP${code.startsWith('HPE_') ? ` (${code})` : ''}`);
  }
}

/** Sends an error on a socket whose request could not be parsed, and closes the socket. */
export function replyOnSocket(socket: Writable, error: ApiError, dialect: Dialect): void {
  const { status, headers, body } = errorReply(error, dialect);
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' });
  const headerText = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${headerText}\r\n${body}`);
}
