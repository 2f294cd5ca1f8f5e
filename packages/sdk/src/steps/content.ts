/** Converts values that steps send to bodies with a content type, and received bodies to values. */
import { bytesOf, encodeBody, isJsonType, parseReceivedJson, textOf } from '../encoded-body.js';
import { openBody, type PayloadCipher } from '../encryption/envelope.js';
import { jsonProblem, PayloadError } from '../errors.js';
import type { EncodedBody, EventContent } from '../protocol.js';
import { jsonText } from '../step-result.js';
import type { WebhookRequest } from './step-types.js';

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';

/** A body with its content type. */
export interface EncodedContent {
  readonly body: EncodedBody;
  readonly contentType: string;
}

/**
 * Encodes a value: text and bytes as they are, everything else as JSON. Returns null for undefined.
 *
 * @throws {NonRetryableError} If JSON cannot represent the value.
 */
export function encodeContent(value: unknown, subject: string): EncodedContent | null {
  if (typeof value === 'string') return { body: encodeBody(value), contentType: 'text/plain; charset=utf-8' };
  if (value instanceof Uint8Array) return { body: encodeBody(value), contentType: BYTES_TYPE };
  const text = jsonText(value, `${subject} cannot be sent`);
  return text === undefined ? null : { body: encodeBody(text), contentType: JSON_TYPE };
}

/** Returns the text of a body, or its bytes. Data that was sent as bytes stays bytes, even if it is valid text. */
function textOrBytes(body: EncodedBody, contentType: string | undefined): string | Uint8Array {
  return body.encoding === 'utf8' && !contentType?.trim().toLowerCase().startsWith(BYTES_TYPE) ? body.data : bytesOf(body);
}

/** Parses a JSON body. Throws SyntaxError. */
const parseBody = (body: EncodedBody): unknown => parseReceivedJson(textOf(body));

/** Returns the decrypted content of an event. A request to a webhook comes from a third party, which does not encrypt. */
const openContent = (content: EventContent, cipher: PayloadCipher | undefined): EventContent =>
  content.kind === 'data' ? { ...content, body: openBody(cipher, content.body, 'the event data') } : content;

/**
 * Returns the data of an event.
 *
 * @throws {PayloadError} If the data is declared as JSON but is not valid JSON, or can never be decrypted.
 * @throws {DecryptionError} If the data cannot be decrypted at this time.
 */
export function eventDataOf(recorded: EventContent, cipher?: PayloadCipher): unknown {
  const content = openContent(recorded, cipher);
  const { body } = content;
  const contentType = content.kind === 'data' ? content.contentType : content.headers['content-type']?.[0];
  if (body.data === '') return undefined;
  if (contentType === undefined || !isJsonType(contentType)) return textOrBytes(body, contentType);
  try {
    return parseBody(body);
  } catch (error) {
    throw new PayloadError(`the event data has content type ${contentType} but is not valid JSON: ${jsonProblem(error)}`);
  }
}

/** Returns the body of a response. Invalid JSON is returned as text: a call returns what arrived and does not fail. */
export function responseBodyOf(body: EncodedBody, contentType: string | undefined): unknown {
  if (body.data === '') return undefined;
  if (contentType !== undefined && isJsonType(contentType)) {
    try {
      return parseBody(body);
    } catch {
      return textOf(body);
    }
  }
  return textOrBytes(body, contentType);
}

/** Returns functions that read a body. */
export const readersOf = (body: EncodedBody) => ({
  text: (): string => textOf(body),
  json: (): unknown => parseBody(body),
});

/** Returns the request that a webhook received. An event that was notified instead is returned as a POST with its data. */
export function webhookRequestOf(recorded: EventContent, cipher?: PayloadCipher): WebhookRequest {
  const content = openContent(recorded, cipher);
  const { body } = content;
  const requestFields =
    content.kind === 'request'
      ? { method: content.method, query: content.query, headers: content.headers }
      : {
          method: 'POST',
          query: '',
          headers: content.contentType === undefined ? {} : { 'content-type': [content.contentType] },
        };
  return { ...requestFields, body: bytesOf(body), ...readersOf(body) };
}
