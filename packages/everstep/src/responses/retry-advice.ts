/** Interprets HTTP error responses for any sender: whether a retry can help, and a short excerpt of the body. */
import { NON_RETRYABLE_STATUS } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import type { DeliveryFailure } from '../engine/runs/run.js';

const BACKOFF = { kind: 'backoff' } as const;
const NEVER = { kind: 'never' } as const;
const NON_RETRYABLE_HEADER = /^(?:[a-z0-9]+-)?nonretryable-error$/;
const SNIPPET_LENGTH = 100;
const MAX_SHOWN_HEADER_LENGTH = 300;

/** Headers of a response, by lowercase name. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the first value of a header, shortened for display. */
export function headerOf(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  const firstValue = typeof value === 'string' ? value : value?.[0];
  return firstValue?.slice(0, MAX_SHOWN_HEADER_LENGTH);
}

/**
 * Returns the delay of a Retry-After header (seconds, or an HTTP date), up to the limit; undefined if it is absent or
 * invalid.
 */
function retryAfterMs(value: string | undefined, now: number): number | undefined {
  const text = value?.trim();
  if (text === undefined || text === '') return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) - now : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(LIMITS.maxRetryDelayMs, Math.max(0, ms));
}

/** Returns whether the header NonRetryable-Error is true, without a prefix or with the prefix of any dialect. */
function forbidsRetry(headers: ResponseHeaders): boolean {
  return Object.keys(headers).some(
    (name) => NON_RETRYABLE_HEADER.test(name) && headerOf(headers, name)?.trim().toLowerCase() === 'true',
  );
}

/** Returns whether and when to retry after a response that is neither a success nor a redirect. `now` is in Unix ms. */
export function retryAdviceOf(status: number, headers: ResponseHeaders, now: number): DeliveryFailure['retry'] {
  if (status === NON_RETRYABLE_STATUS) return forbidsRetry(headers) ? NEVER : BACKOFF;
  const delayMs = status === 429 || status === 503 ? retryAfterMs(headerOf(headers, 'retry-after'), now) : undefined;
  return delayMs === undefined ? BACKOFF : { kind: 'after', delayMs };
}

/**
 * Describes a redirect, for example `with a redirect (302) to https://...`. The text follows the word "responded". With
 * `hidesData`, it quotes nothing of the response, which may contain data that the run redacts.
 */
export function describeRedirect(status: number, headers: ResponseHeaders, hidesData: boolean): string {
  if (hidesData) return `with a redirect (${status})`;
  const location = headerOf(headers, 'location');
  return `with a redirect (${status}) ${location === undefined ? 'without a Location' : `to ${location}`}`;
}

/** Returns the first characters of a body on one line. With `hidesData`, it states only whether the body is empty. */
export function snippetOf(body: Uint8Array, hidesData: boolean): string {
  if (hidesData) return body.byteLength === 0 ? 'an empty body' : 'a redacted body';
  // A character has at most four bytes.
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, SNIPPET_LENGTH * 4))
    .toString('utf8')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (text === '') return 'an empty body';
  const characters = [...text];
  return `a body that begins with "${characters.slice(0, SNIPPET_LENGTH).join('')}"`;
}

/** Returns the part of a body that is stored. A part of a longer body is a copy, which does not keep the body in memory. */
export function truncateBody(body: Uint8Array): Uint8Array {
  return body.byteLength <= LIMITS.maxKeptResponseBytes ? body : new Uint8Array(body.subarray(0, LIMITS.maxKeptResponseBytes));
}
