/** Checks header names and values, and decides which of the user's headers are forwarded. */

import type { TraceContext } from '@everstep/sdk/protocol';

const NO_PAIRS: readonly string[] = [];
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Allowed in a header value: tab, visible ASCII and Latin-1. Any other character could end the header or the request.
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Headers that the request sets itself: hop-by-hop headers, headers that describe the body, and headers that would
 * change the format of the response. Users cannot set them.
 */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'accept-encoding',
  'user-agent',
]);

/** Returns why the header cannot be sent, or null if it can. */
export function headerProblem(name: string, value: string): string | null {
  if (!TOKEN.test(name)) return 'is not a valid header name';
  return VALUE.test(value) ? null : 'has a value with characters that a header cannot contain';
}

/** Lowercase header names that a dialect reserves for itself. */
export interface ReservedNames {
  reserves(name: string): boolean;
}

/** Returns whether a user's header may be forwarded. `name` is lowercase. */
export function canForward(name: string, value: string, dialect: ReservedNames): boolean {
  return TOKEN.test(name) && VALUE.test(value) && !RESERVED.has(name) && !dialect.reserves(name);
}

/** Returns alternating names and values, which undici accepts without copying. */
export function forwardedPairs(headers: Readonly<Record<string, string>>, dialect: ReservedNames): readonly string[] {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (canForward(name.toLowerCase(), value, dialect)) pairs.push(name, value);
  }
  return pairs;
}

/** Returns a function that returns the forwarded headers. It caches them, because all calls of a run share one headers object. */
export function cacheForwarded(dialect: ReservedNames): (headers: Readonly<Record<string, string>>) => readonly string[] {
  const cache = new WeakMap<Readonly<Record<string, string>>, readonly string[]>();
  return (headers) => {
    const cachedPairs = cache.get(headers);
    if (cachedPairs) return cachedPairs;
    const pairs = forwardedPairs(headers, dialect);
    cache.set(headers, pairs);
    return pairs;
  };
}

/** Returns the headers of a trace context, unless the user's headers contain one. Names are lowercase. */
export function tracePairs(trace: TraceContext | undefined, userHeaders: Readonly<Record<string, string>>): readonly string[] {
  if (!trace || userHeaders.traceparent !== undefined || userHeaders.tracestate !== undefined) return NO_PAIRS;
  const { traceparent, tracestate } = trace;
  return tracestate === undefined ? ['traceparent', traceparent] : ['traceparent', traceparent, 'tracestate', tracestate];
}

/** Returns the value unchanged if a header can carry it, otherwise percent-encoded. */
export function headerValue(text: string): string {
  return VALUE.test(text) ? text : encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, '\ufffd'));
}

/** Returns the URL unchanged if a header can carry it, otherwise its normalized form, which is ASCII. */
export function headerValueOfUrl(url: string): string {
  return VALUE.test(url) ? url : new URL(url).href;
}
