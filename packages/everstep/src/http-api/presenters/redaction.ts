/**
 * What logs and listings show of a run whose trigger said what they must not
 * show. A hidden value is replaced by one constant and not by a hash: who may
 * start runs could find out a short value (a PIN, a birthday) by comparing.
 *
 * Names of fields count wherever they stand in JSON, also in JSON texts inside
 * of JSON; names of headers in every object that is called `headers` there,
 * because answers to calls travel on as results. A body that is no JSON is hidden whole, because fields cannot be
 * found in it; so is whatever cannot be read for another reason.
 */
import { JsonBoundsError, parseJson, type StepType } from '@everstep/sdk/protocol';
import { canonicalHeaders } from '../../answers/header-names.js';
import { LIMITS } from '../../config/limits.js';
import type { Redaction } from '../../engine/run.js';

export const REDACTED = '[REDACTED]';
const REDACTED_JSON = JSON.stringify(REDACTED);
const REDACTED_BYTES: Uint8Array = Buffer.from(REDACTED);

const utf8 = new TextDecoder('utf-8', { fatal: true });

type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

const hidesHeader = ({ headers }: Redaction, name: string): boolean => headers === true || headers.includes(name.toLowerCase());
const hidesHeaders = ({ headers }: Redaction): boolean => headers === true || headers.length > 0;

const withoutHeaders = (headers: JsonObject, redact: Redaction): JsonObject =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hidesHeader(redact, name) ? [REDACTED] : value]));

function withoutHidden(value: unknown, redact: Redaction): unknown {
  if (typeof value === 'string') return /^\s*[[{]/.test(value) ? textWithoutHidden(value, redact) : value;
  if (Array.isArray(value)) return value.map((each) => withoutHidden(each, redact));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      if (redact.fields.includes(name)) return [name, REDACTED];
      const shown = name === 'headers' && isObject(each) ? withoutHeaders(each, redact) : each;
      return [name, withoutHidden(shown, redact)];
    }),
  );
}

/** A text inside of JSON that may be JSON itself. */
function textWithoutHidden(text: string, redact: Redaction): string {
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch (error) {
    // Its fields cannot be looked at.
    return error instanceof JsonBoundsError ? REDACTED : text;
  }
  return JSON.stringify(withoutHidden(parsed, redact));
}

/**
 * Applies to a JSON text; as it was where there is nothing to hide. What cannot be worked on is hidden, and so is a long text,
 * which would take many times its memory.
 */
function reworked(text: string, change: (value: unknown) => unknown): string {
  if (text.length > LIMITS.maxParsedValueBytes) return REDACTED_JSON;
  try {
    const value: unknown = parseJson(text);
    const before = JSON.stringify(value);
    const after = JSON.stringify(change(value));
    return after === before ? text : after;
  } catch {
    return REDACTED_JSON;
  }
}

/** JSON text, such as the result of a run. */
export function shownJson(text: string, redact: Redaction | undefined): string {
  if (!redact) return text;
  if (redact.body) return REDACTED_JSON;
  if (redact.fields.length === 0 && !hidesHeaders(redact)) return text;
  return reworked(text, (value) => withoutHidden(value, redact));
}

/** A long body is not read: it is hidden where something in it might have to be. */
function shownLongBody(body: Uint8Array, redact: Redaction): Uint8Array {
  const mayBeJson = /^\s*[[{]/.test(Buffer.from(body.subarray(0, 64)).toString('latin1'));
  return redact.fields.length > 0 || (mayBeJson && hidesHeaders(redact)) ? REDACTED_BYTES : body;
}

/** A body as it was sent. Nothing is hidden of an empty one. */
export function shownBody(body: Uint8Array, redact: Redaction | undefined): Uint8Array {
  if (!redact || body.byteLength === 0) return body;
  if (redact.body) return REDACTED_BYTES;
  if (body.byteLength > LIMITS.maxParsedValueBytes) return shownLongBody(body, redact);
  let text: string;
  try {
    text = utf8.decode(body);
    parseJson(text);
  } catch {
    return redact.fields.length === 0 ? body : REDACTED_BYTES;
  }
  const shown = shownJson(text, redact);
  return shown === text ? body : Buffer.from(shown);
}

/**
 * The beginning of a body, which may be cut: what cannot be read as JSON is hidden where anything in it might have to be, headers
 * that JSON carries along among it.
 */
export function shownBeginning(body: Uint8Array, redact: Redaction | undefined): Uint8Array {
  if (!redact || body.byteLength === 0) return body;
  const shown = shownBody(body, redact);
  if (shown !== body || !hidesHeaders(redact)) return shown;
  try {
    parseJson(utf8.decode(body));
    return shown;
  } catch {
    return REDACTED_BYTES;
  }
}

/** Returns the headers under their canonical names, with the values hidden that must not be shown. */
export function shownHeaders(
  headers: Readonly<Record<string, readonly string[]>>,
  redact: Redaction | undefined,
): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(canonicalHeaders(headers)).map(([name, values]) => [
      name,
      redact && hidesHeader(redact, name) ? [REDACTED] : [...values],
    ]),
  );
}

/** An HTTP message inside of a result: the answer to a call, the request that came to a webhook. */
function shownMessage(message: JsonObject, redact: Redaction): JsonObject {
  if (redact.fields.length === 0) return message;
  const { body, query } = message;
  return {
    ...message,
    ...(isObject(body) ? { body: shownEncoded(body, redact) } : {}),
    ...(typeof query === 'string' && query !== '' ? { query: REDACTED } : {}),
  };
}

function shownEncoded(body: JsonObject, redact: Redaction): JsonObject {
  const { encoding, data } = body;
  if (typeof data !== 'string' || data === '') return body;
  if (encoding !== 'utf8') return { encoding: 'utf8', data: REDACTED };
  const bytes = shownBody(Buffer.from(data), redact);
  return { encoding, data: utf8.decode(bytes) };
}

/** The result of a step, JSON text. */
export function shownOut(type: StepType, out: string, redact: Redaction | undefined): string {
  if (!redact || redact.body) return shownJson(out, redact);
  if (redact.fields.length === 0 && !hidesHeaders(redact)) return out;
  return reworked(out, (value) => {
    if (!isObject(value)) return withoutHidden(value, redact);
    if (type === 'Call') return withoutHidden(shownMessage(value, redact), redact);
    const { content } = value;
    const cameByEvent = (type === 'Wait' || type === 'WaitForWebhook') && isObject(content);
    return withoutHidden(cameByEvent ? { ...value, content: shownMessage(content, redact) } : value, redact);
  });
}

/** What a step is about to call may have been made of the body, or of a field: then no further than the host. */
export function shownUrl(url: string, redact: Redaction | undefined): string {
  if (!redact || (!redact.body && redact.fields.length === 0)) return url;
  if (redact.body || !URL.canParse(url)) return REDACTED;
  const { origin, pathname, search } = new URL(url);
  return pathname === '/' && search === '' ? `${origin}/` : `${origin}/${REDACTED}`;
}
