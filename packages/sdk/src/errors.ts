/** Errors that workflow code throws, and those that the client reports. */
import { type Duration, durationMs } from './duration.js';

/**
 * Thrown from a step or from workflow code: the run fails at once, whatever
 * retries are left.
 */
export class NonRetryableError extends Error {
  override readonly name: string = 'NonRetryableError';
}

/**
 * Thrown from a step or from workflow code: the next attempt, if one is left,
 * is made after `delay` instead of the usual back-off.
 */
export class RetryAfterError extends Error {
  override readonly name: string = 'RetryAfterError';
  readonly delayMs: number;
  /** `delay`: seconds, or text such as `'30s'`, `'5m'`, or the instant of the next attempt. */
  constructor(message: string, delay: Duration | Date, options?: ErrorOptions) {
    super(message, options);
    this.delayMs = delay instanceof Date ? Math.max(0, delay.getTime() - Date.now()) : durationMs(delay);
  }
}

/** The run was triggered with something that is no payload of this workflow. */
export class PayloadError extends NonRetryableError {
  override readonly name: string = 'PayloadError';
}

/** The recorded steps are not those that the code asks for. */
export class JournalMismatchError extends Error {
  override readonly name: string = 'JournalMismatchError';
}

/** A call to the API of the service did not succeed. */
export class EverstepError extends Error {
  override readonly name: string = 'EverstepError';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The stable code (`Svc-Error-Code`); `unreachable` when no answer came, `unknown` when the answer named none. */
  readonly code: string;
  constructor(message: string, details: { readonly status: number; readonly code: string; readonly cause?: unknown }) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.status = details.status;
    this.code = details.code;
  }
}

export interface ErrorDescription {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** Whatever was thrown, as data. */
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
 * Why a text is no JSON, without the part of it that the runtime quotes: logs show errors, and the text may be one that
 * they must not show.
 */
export const jsonProblem = (thrown: unknown): string => describeError(thrown).message.replace(/,? (?:\.\.\.)?".*$/s, '');

export type RetryAdvice =
  | { readonly kind: 'backoff' }
  | { readonly kind: 'after'; readonly delayMs: number }
  | { readonly kind: 'never' };

/** What an error says about retrying. By name as well as by class: an app may hold two copies of this package. */
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
