/**
 * The stored part of an exchange, that is, of a request and its response. A failed attempt stores its request without secrets,
 * and the start of the response. The start of the request body is stored only if no other stored data contains it. The body of
 * a step request is not stored, because it consists of the payload and the journal. A successful attempt stores no response,
 * because it is in the journal. Only a successful call stores its request, unless a failed attempt has already stored it.
 */
import type { EncodedBody } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';

/** A request that was sent, with all details that its sender has. */
export interface SentRequest {
  /** Time when the request was sent, Unix ms. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly method: string;
  readonly url: string;
  /** Headers, as alternating names and values. */
  readonly headers: readonly string[];
  readonly bodyBytes: number;
  /** Body of the request; null if it can be rebuilt from recorded data, or if there is none. */
  readonly body: Uint8Array | null;
  /** Size of the response body, as far as it was read; null if nothing arrived. */
  readonly responseBytes: number | null;
}

type HeaderMap = Readonly<Record<string, readonly string[]>>;

/** The stored part of a request. */
export interface StoredRequest {
  /** Time when the request was sent, Unix ms. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly request: {
    readonly method: string;
    readonly url: string;
    /** Headers with lowercase names. */
    readonly headers: HeaderMap;
    readonly bodyBytes: number;
    /** Start of the body; absent if it can be rebuilt from recorded data. */
    readonly body?: EncodedBody;
  };
}

/** The stored part of an exchange. */
export interface StoredExchange extends StoredRequest {
  /** The response; null if none arrived. */
  readonly response: {
    readonly status: number;
    readonly headers: HeaderMap;
    /** Start of the body. */
    readonly body: EncodedBody;
    readonly bodyBytes: number;
  } | null;
}

/** Text that replaces a value that may be a secret. */
export const SECRET_PLACEHOLDER = '[NOT KEPT]';

const MAY_BE_SECRET =
  /auth|cookie|token|secret|signature|password|passwd|credential|session|api-?key|access-?key|private-?key|csrf/i;

/** Returns whether the value of a header or parameter with this name may be a secret. */
export const mayBeSecret = (name: string): boolean => MAY_BE_SECRET.test(name);

/** Collects headers up to the size limit. */
function keptHeaders(pairs: Iterable<readonly [name: string, values: readonly string[]]>): HeaderMap {
  const headers = new Map<string, readonly string[]>();
  let length = 0;
  for (const [rawName, values] of pairs) {
    const name = rawName.toLowerCase();
    const shownValues = mayBeSecret(name) ? [SECRET_PLACEHOLDER] : values;
    length += name.length + shownValues.reduce((sum, value) => sum + value.length, 0);
    if (length > LIMITS.maxKeptAttemptHeadersLength) break;
    if (name !== '__proto__') headers.set(name, [...(headers.get(name) ?? []), ...shownValues]);
  }
  return Object.fromEntries(headers);
}

function* headerPairs(headers: readonly string[]): Generator<readonly [string, readonly string[]]> {
  for (let i = 0; i + 1 < headers.length; i += 2) yield [headers[i] ?? '', [headers[i + 1] ?? '']];
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the start of a body: as text if it is valid UTF-8, without splitting a character, otherwise as Base64. */
export function encodeBodyStart(body: Uint8Array, maxBytes: number = LIMITS.maxKeptAttemptBodyBytes): EncodedBody {
  let end = Math.min(body.byteLength, maxBytes);
  if (end < body.byteLength) {
    // At most three bytes follow the first byte of a character.
    for (let back = 0; back < 3 && end > 0 && ((body[end] ?? 0) & 0xc0) === 0x80; back++) end--;
  }
  const beginning = body.subarray(0, end);
  try {
    return { encoding: 'utf8', data: strictUtf8.decode(beginning) };
  } catch {
    const bytes = body.subarray(0, Math.min(body.byteLength, maxBytes));
    return { encoding: 'base64', data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') };
  }
}

/** The part of a response that a failure contains. */
interface AttemptResponse {
  readonly status: number | null;
  readonly responseHeaders: HeaderMap;
  readonly responseBody: Uint8Array;
}

/** Returns the stored part of a request. */
export function toStoredRequest({ startedAt, durationMs, method, url, headers, bodyBytes, body }: SentRequest): StoredRequest {
  return {
    startedAt,
    durationMs,
    request: {
      method,
      url,
      headers: keptHeaders(headerPairs(headers)),
      bodyBytes,
      ...(body === null ? {} : { body: encodeBodyStart(body, LIMITS.maxKeptAttemptRequestBytes) }),
    },
  };
}

/** Returns the stored part of an exchange. */
export function toStoredExchange(sent: SentRequest, response: AttemptResponse): StoredExchange {
  const { status, responseHeaders, responseBody } = response;
  return {
    ...toStoredRequest(sent),
    response:
      status === null
        ? null
        : {
            status,
            headers: keptHeaders(Object.entries(responseHeaders)),
            body: encodeBodyStart(responseBody),
            bodyBytes: Math.max(sent.responseBytes ?? 0, responseBody.byteLength),
          },
  };
}
