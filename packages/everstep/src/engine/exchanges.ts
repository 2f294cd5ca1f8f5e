/**
 * What is kept of the exchange of a failed attempt: what was sent, without
 * secrets, and how the answer begins. The body of a request is kept, in its
 * beginning, where nothing else that is kept tells what it was; what a step is
 * asked is in the payload and the journal. Attempts that succeed keep no
 * answers, which are in the journal; and only a call keeps what it sent, when
 * no attempt before it has.
 */
import type { EncodedBody } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';

/** A request that was sent, as whoever sent it knows it. */
export interface SentRequest {
  /** Unix ms. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly method: string;
  readonly url: string;
  /** Names and values in turns. */
  readonly headers: readonly string[];
  readonly bodyBytes: number;
  /** Null where it can be made again from what is recorded, and where there is none. */
  readonly body: Uint8Array | null;
  /** Length of the body that came back, as far as it was read; null when nothing came. */
  readonly answerBytes: number | null;
}

type HeaderMap = Readonly<Record<string, readonly string[]>>;

/** What was sent. */
export interface KeptRequest {
  /** Unix ms. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly request: {
    readonly method: string;
    readonly url: string;
    /** Lower-case names. */
    readonly headers: HeaderMap;
    readonly bodyBytes: number;
    /** Its beginning; absent where it is made again from what is recorded. */
    readonly body?: EncodedBody;
  };
}

export interface KeptExchange extends KeptRequest {
  /** Null when nothing came back. */
  readonly response: {
    readonly status: number;
    readonly headers: HeaderMap;
    /** Its beginning. */
    readonly body: EncodedBody;
    readonly bodyBytes: number;
  } | null;
}

/** Stands for a value that may be a secret. */
export const NOT_KEPT = '[NOT KEPT]';

const MAY_BE_SECRET =
  /auth|cookie|token|secret|signature|password|passwd|credential|session|api-?key|access-?key|private-?key|csrf/i;

/** Whether the value of a header or parameter of this name may be a secret. */
export const mayBeSecret = (name: string): boolean => MAY_BE_SECRET.test(name);

/** A value each; what is too much is left out. */
function keptHeaders(pairs: Iterable<readonly [name: string, values: readonly string[]]>): HeaderMap {
  const kept = new Map<string, readonly string[]>();
  let length = 0;
  for (const [given, values] of pairs) {
    const name = given.toLowerCase();
    const shown = mayBeSecret(name) ? [NOT_KEPT] : values;
    length += name.length + shown.reduce((sum, value) => sum + value.length, 0);
    if (length > LIMITS.maxKeptAttemptHeadersLength) break;
    if (name !== '__proto__') kept.set(name, [...(kept.get(name) ?? []), ...shown]);
  }
  return Object.fromEntries(kept);
}

function* inPairs(headers: readonly string[]): Generator<readonly [string, readonly string[]]> {
  for (let i = 0; i + 1 < headers.length; i += 2) yield [headers[i] ?? '', [headers[i + 1] ?? '']];
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The beginning of a body: as text, when the whole of it that is known is UTF-8; a character is not cut in two. */
export function beginningOf(body: Uint8Array, mostBytes: number = LIMITS.maxKeptAttemptBodyBytes): EncodedBody {
  let end = Math.min(body.byteLength, mostBytes);
  if (end < body.byteLength) {
    // At most three bytes follow on the first of a character.
    for (let back = 0; back < 3 && end > 0 && ((body[end] ?? 0) & 0xc0) === 0x80; back++) end--;
  }
  const beginning = body.subarray(0, end);
  try {
    return { encoding: 'utf8', data: strictUtf8.decode(beginning) };
  } catch {
    const cut = body.subarray(0, Math.min(body.byteLength, mostBytes));
    return { encoding: 'base64', data: Buffer.from(cut.buffer, cut.byteOffset, cut.byteLength).toString('base64') };
  }
}

/** What of the answer a failure knows. */
interface Answered {
  readonly status: number | null;
  readonly responseHeaders: HeaderMap;
  readonly responseBody: Uint8Array;
}

export function keptRequest({ startedAt, durationMs, method, url, headers, bodyBytes, body }: SentRequest): KeptRequest {
  return {
    startedAt,
    durationMs,
    request: {
      method,
      url,
      headers: keptHeaders(inPairs(headers)),
      bodyBytes,
      ...(body === null ? {} : { body: beginningOf(body, LIMITS.maxKeptAttemptRequestBytes) }),
    },
  };
}

export function keptExchange(sent: SentRequest, answer: Answered): KeptExchange {
  const { status, responseHeaders, responseBody } = answer;
  return {
    ...keptRequest(sent),
    response:
      status === null
        ? null
        : {
            status,
            headers: keptHeaders(Object.entries(responseHeaders)),
            body: beginningOf(responseBody),
            bodyBytes: Math.max(sent.answerBytes ?? 0, responseBody.byteLength),
          },
  };
}
