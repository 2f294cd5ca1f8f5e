/**
 * Masks responses for callers without write access: read-only tokens, and sessions of roles without write access. Anyone
 * with the URL of a webhook can write to its run, and a forwarded credential gives access to the endpoint of the user. Both
 * are therefore masked in the finished response of every operation, in every dialect.
 * Keeps invariant 43.
 */
import { parseJson } from '@everstep/sdk/protocol';
import { mayBeSecret } from '../../engine/runs/exchanges.js';

export const MASKED = '[HIDDEN]';

/** Ids of webhooks, as the server and the published SDK create them, and URLs that end in one. */
const WEBHOOK_PATTERN =
  /\bwhk_[0-9A-Za-z]+\.[0-9A-Za-z_]+|\bevt_[0-9A-Za-z_-]{15}(?![0-9A-Za-z_-])|(?<=\/v2\/workflows\/hooks\/)[^\s"\\?]+/g;
const HOOKS_PATH = '/v2/workflows/hooks/';
const HEADERS_FIELD = /headers?$/i;
const BASE64 = /^[A-Za-z0-9+/]{40,}={0,2}$/;
/** JSON text within JSON that may contain headers. */
const NESTED_JSON = /^\s*[[{].*headers?\\*":/is;
/**
 * A query parameter. Its name can contain `?`. A name without a value also matches, so that no text is scanned once for each
 * `?` in it.
 */
const QUERY_PARAMETER = /([?&])([^=&#\s]+)(=[^&#\s]*)?/g;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function maskHeaders(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(headers).map(([name, value]) => {
    if (!mayBeSecret(name)) return [name, value];
    return [name, Array.isArray(value) ? value.map(() => MASKED) : MASKED];
  });
  return Object.fromEntries(entries);
}

const maskQuery = (url: string): string =>
  url.replace(QUERY_PARAMETER, (match, separator: string, name: string, value?: string) =>
    value !== undefined && mayBeSecret(name) ? `${separator}${name}=${MASKED}` : match,
  );

function maskText(text: string): string {
  if (NESTED_JSON.test(text)) {
    try {
      return readOnlyJson(parseJson(text));
    } catch {
      // Not JSON, so it is masked like other text.
    }
  }
  const maskedText = text.replace(WEBHOOK_PATTERN, MASKED);
  return /^https?:/i.test(maskedText) ? maskQuery(maskedText) : maskedText;
}

/** Masks Base64-encoded JSON if it contains the URL of a webhook. The published SDK encodes webhook requests in this way. */
function maskBase64(text: string): string {
  const decodedText = Buffer.from(text, 'base64').toString('utf8');
  return decodedText.includes(HOOKS_PATH) ? Buffer.from(maskText(decodedText)).toString('base64') : text;
}

function maskField(fieldName: string, value: unknown): unknown {
  if (typeof value === 'string') return BASE64.test(value) ? maskBase64(value) : maskText(value);
  return HEADERS_FIELD.test(fieldName) && isRecord(value) ? maskHeaders(value) : value;
}

/** Fields with payloads and results, or parts of them. */
const PAYLOAD_FIELDS: ReadonlySet<string> = new Set([
  ...['body', 'bodyBase64', 'responseBody', 'responseBodyBase64', 'callResponseBody', 'invokedWorkflowRunBody'],
  ...['out', 'result', 'workflowRunResponse', 'data', 'content', 'recorded', 'edits', 'query'],
]);

function maskPayloadField(fieldName: string, value: unknown): unknown {
  if (value === null || value === '') return value;
  if (PAYLOAD_FIELDS.has(fieldName)) return typeof value === 'object' && 'body' in value ? value : MASKED;
  if (HEADERS_FIELD.test(fieldName) && isRecord(value)) {
    const maskedEntries = Object.entries(value).map(([name, headerValue]) => [
      name,
      Array.isArray(headerValue) ? headerValue.map(() => MASKED) : MASKED,
    ]);
    return Object.fromEntries(maskedEntries);
  }
  return maskField(fieldName, value);
}

/** Returns a response as JSON text for a caller who may not see payloads, results and headers. */
export const metadataJson = (body: unknown): string => JSON.stringify(body, maskPayloadField);

/** Returns a response as JSON text for a caller without write access. */
export const readOnlyJson = (body: unknown): string => JSON.stringify(body, maskField);
