/** Errors that workflow code throws, and errors that the client reports. */
import { type Duration, durationMs } from './duration.js';

/** Fails the run immediately, without further retries. Throw it from a step or from workflow code. */
export class NonRetryableError extends Error {
  override readonly name: string = 'NonRetryableError';
}

/**
 * Delays the next attempt by `delay` instead of the default backoff. Throw it from a step or from workflow code. The
 * number of retries does not change.
 */
export class RetryAfterError extends Error {
  override readonly name: string = 'RetryAfterError';
  /** Delay before the next attempt in milliseconds. */
  readonly delayMs: number;
  /** @param delay Seconds, text such as `'30s'` or `'5m'`, or the time of the next attempt as a Date. */
  constructor(message: string, delay: Duration | Date, options?: ErrorOptions) {
    super(message, options);
    this.delayMs = delay instanceof Date ? Math.max(0, delay.getTime() - Date.now()) : durationMs(delay);
  }
}

/**
 * Thrown for a value, such as a payload, that is malformed or damaged, or that the schema rejects. Fails the run without
 * retries.
 */
export class PayloadError extends NonRetryableError {
  override readonly name: string = 'PayloadError';
}

/**
 * Thrown for a value that cannot be decrypted at the moment, for example because its key is missing in this process. The
 * attempt fails and is retried. Workflow code does not see this error.
 */
export class DecryptionError extends Error {
  override readonly name: string = 'DecryptionError';
}

/** Thrown if the code requests other steps than the recorded ones. */
export class JournalMismatchError extends Error {
  override readonly name: string = 'JournalMismatchError';
}

/** Thrown if a call to the API of the server fails. */
export class EverstepError extends Error {
  override readonly name: string = 'EverstepError';
  /** HTTP status; 0 if no response arrived. */
  readonly status: number;
  /**
   * Stable error code (header `Svc-Error-Code`). `unreachable` if no response arrived; `unknown` if the response
   * contains no code.
   */
  readonly code: string;
  constructor(message: string, details: { readonly status: number; readonly code: string; readonly cause?: unknown }) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.status = details.status;
    this.code = details.code;
  }
}

/** An error as plain data. */
export interface ErrorDescription {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** Describes any thrown value as plain data. */
export function describeError(thrown: unknown): ErrorDescription {
  if (thrown instanceof Error) {
    const { name, message, stack } = thrown;
    return { name: String(name || 'Error'), message: String(message), ...(typeof stack === 'string' ? { stack } : {}) };
  }
  if (typeof thrown === 'object' && thrown !== null) {
    const name = 'name' in thrown && typeof thrown.name === 'string' ? thrown.name : 'Error';
    if ('message' in thrown && typeof thrown.message === 'string') return { name, message: thrown.message };
    try {
      return { name, message: JSON.stringify(thrown) ?? Object.prototype.toString.call(thrown) };
    } catch {
      return { name, message: Object.prototype.toString.call(thrown) };
    }
  }
  return { name: 'Error', message: String(thrown) };
}

/**
 * Explains why a text is not valid JSON, without the excerpt that the runtime quotes. Errors are logged, and the text
 * may contain secrets.
 */
export const jsonProblem = (thrown: unknown): string => describeError(thrown).message.replace(/,? (?:\.\.\.)?".*$/s, '');

/** When a failed attempt may be retried. */
export type RetryAdvice =
  | { readonly kind: 'backoff' }
  | { readonly kind: 'after'; readonly delayMs: number }
  | { readonly kind: 'never' };

/**
 * Returns whether and when a failed attempt may be retried after this error. The error is recognized by name as well as by
 * class, because an app may contain two copies of this package.
 */
export function retryAdvice(thrown: unknown): RetryAdvice {
  if (thrown instanceof NonRetryableError) return { kind: 'never' };
  if (typeof thrown === 'object' && thrown !== null && 'name' in thrown) {
    if (thrown.name === 'NonRetryableError' || thrown.name === 'PayloadError') return { kind: 'never' };
    if (thrown.name === 'RetryAfterError' && 'delayMs' in thrown && typeof thrown.delayMs === 'number') {
      const delayMs = Number.isFinite(thrown.delayMs) ? Math.max(0, Math.ceil(thrown.delayMs)) : 0;
      return { kind: 'after', delayMs };
    }
  }
  return { kind: 'backoff' };
}
