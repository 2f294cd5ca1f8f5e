/**
 * Redacts runs in logs and listings according to the settings of their trigger. All hidden values are replaced by the same
 * constant, not by a hash: with hashes, anyone who can start runs could find out a short value, such as a PIN, by
 * comparing.
 * Field names apply at every depth of JSON, including JSON text within JSON. Header names apply to every object named
 * `headers`, because results can contain responses of calls. A body that is not JSON is hidden as a whole, because its
 * fields cannot be found; so is everything else that cannot be parsed.
 */
import { JsonBoundsError, parseJson, type StepType } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { Redaction } from '../../engine/runs/run.js';
import { canonicalHeaders } from '../../responses/header-names.js';

export const REDACTED = '[REDACTED]';
const REDACTED_JSON = JSON.stringify(REDACTED);
const REDACTED_BYTES: Uint8Array = Buffer.from(REDACTED);

const utf8 = new TextDecoder('utf-8', { fatal: true });

type JsonObject = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

const hidesHeader = ({ headers }: Redaction, name: string): boolean => headers === true || headers.includes(name.toLowerCase());
const hidesHeaders = ({ headers }: Redaction): boolean => headers === true || headers.length > 0;

const redactHeadersField = (headers: JsonObject, redact: Redaction): JsonObject =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hidesHeader(redact, name) ? [REDACTED] : value]));

function redactValue(value: unknown, redact: Redaction): unknown {
  if (typeof value === 'string') return /^\s*[[{]/.test(value) ? redactText(value, redact) : value;
  if (Array.isArray(value)) return value.map((element) => redactValue(element, redact));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, element]) => {
      if (redact.fields.includes(name)) return [name, REDACTED];
      const redactedElement = name === 'headers' && isObject(element) ? redactHeadersField(element, redact) : element;
      return [name, redactValue(redactedElement, redact)];
    }),
  );
}

/** Redacts JSON text within JSON. */
function redactText(text: string, redact: Redaction): string {
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch (error) {
    // The fields of text beyond the bounds cannot be inspected.
    return error instanceof JsonBoundsError ? REDACTED : text;
  }
  return JSON.stringify(redactValue(parsed, redact));
}

/**
 * Applies a change to JSON text. Returns the original text if nothing changes. Text that cannot be parsed is hidden, and so is
 * long text, because the parsed value takes many times the memory of the text.
 */
function changeJson(text: string, change: (value: unknown) => unknown): string {
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

/** Redacts JSON text, such as the result of a run. */
export function redactJson(text: string, redact: Redaction | undefined): string {
  if (!redact) return text;
  if (redact.body) return REDACTED_JSON;
  if (redact.fields.length === 0 && !hidesHeaders(redact)) return text;
  return changeJson(text, (value) => redactValue(value, redact));
}

/** Redacts a long body without parsing it: the body is hidden if it might contain a hidden value. */
function shownLongBody(body: Uint8Array, redact: Redaction): Uint8Array {
  const mayBeJson = /^\s*[[{]/.test(Buffer.from(body.subarray(0, 64)).toString('latin1'));
  return redact.fields.length > 0 || (mayBeJson && hidesHeaders(redact)) ? REDACTED_BYTES : body;
}

/** Redacts a body. An empty body stays empty. */
export function redactBody(body: Uint8Array, redact: Redaction | undefined): Uint8Array {
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
  const redactedText = redactJson(text, redact);
  return redactedText === text ? body : Buffer.from(redactedText);
}

/**
 * Redacts the start of a body, which may be truncated. A start that cannot be parsed as JSON is hidden if it might contain a
 * hidden value or header.
 */
export function redactBodyStart(body: Uint8Array, redact: Redaction | undefined): Uint8Array {
  if (!redact || body.byteLength === 0) return body;
  const redactedBody = redactBody(body, redact);
  if (redactedBody !== body || !hidesHeaders(redact)) return redactedBody;
  try {
    parseJson(utf8.decode(body));
    return redactedBody;
  } catch {
    return REDACTED_BYTES;
  }
}

/** Returns the headers with canonical names, with hidden values redacted. */
export function redactHeaders(
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

/** Redacts an HTTP message in a result: the response of a call, or a webhook request. */
function redactMessage(message: JsonObject, redact: Redaction): JsonObject {
  if (redact.fields.length === 0) return message;
  const { body, query } = message;
  return {
    ...message,
    ...(isObject(body) ? { body: redactEncodedBody(body, redact) } : {}),
    ...(typeof query === 'string' && query !== '' ? { query: REDACTED } : {}),
  };
}

function redactEncodedBody(body: JsonObject, redact: Redaction): JsonObject {
  const { encoding, data } = body;
  if (typeof data !== 'string' || data === '') return body;
  if (encoding !== 'utf8') return { encoding: 'utf8', data: REDACTED };
  const bytes = redactBody(Buffer.from(data), redact);
  return { encoding, data: utf8.decode(bytes) };
}

/** Redacts the result of a step, which is JSON text. */
export function redactStepResult(type: StepType, out: string, redact: Redaction | undefined): string {
  if (!redact || redact.body) return redactJson(out, redact);
  if (redact.fields.length === 0 && !hidesHeaders(redact)) return out;
  return changeJson(out, (value) => {
    if (!isObject(value)) return redactValue(value, redact);
    if (type === 'Call') return redactValue(redactMessage(value, redact), redact);
    const { content } = value;
    const isEvent = (type === 'Wait' || type === 'WaitForWebhook') && isObject(content);
    return redactValue(isEvent ? { ...value, content: redactMessage(content, redact) } : value, redact);
  });
}

/** Redacts the URL of a pending step. Only its origin is shown, because the rest may depend on the body or a field. */
export function redactUrl(url: string, redact: Redaction | undefined): string {
  if (!redact || (!redact.body && redact.fields.length === 0)) return url;
  if (redact.body || !URL.canParse(url)) return REDACTED;
  // The `origin` of a worker URL is "null".
  const { protocol, host, pathname, search } = new URL(url);
  const origin = `${protocol}//${host}`;
  return pathname === '/' && search === '' ? `${origin}/` : `${origin}/${REDACTED}`;
}
