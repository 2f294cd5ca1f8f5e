/** What steps send and receive: values as bodies with a content type, and back. */
import { bytesOf, encodedBody, isJsonType, textOf } from '../encoded-body.js';
import { jsonProblem, PayloadError } from '../errors.js';
import type { EncodedBody, EventContent } from '../protocol.js';
import { jsonText } from '../step-result.js';
import type { WebhookRequest } from './step-types.js';

const JSON_TYPE = 'application/json';
const BYTES_TYPE = 'application/octet-stream';

export interface SentContent {
  readonly body: EncodedBody;
  readonly contentType: string;
}

/** Text and bytes as they are, everything else as JSON; null for undefined. Throws NonRetryableError when JSON cannot hold it. */
export function sentContent(value: unknown, what: string): SentContent | null {
  if (typeof value === 'string') return { body: encodedBody(value), contentType: 'text/plain; charset=utf-8' };
  if (value instanceof Uint8Array) return { body: encodedBody(value), contentType: BYTES_TYPE };
  const text = jsonText(value, `${what} cannot be sent`);
  return text === undefined ? null : { body: encodedBody(text), contentType: JSON_TYPE };
}

/** Bytes that were sent as bytes stay bytes, though they may happen to be text. */
function textOrBytes(body: EncodedBody, contentType: string | undefined): string | Uint8Array {
  return body.encoding === 'utf8' && !contentType?.trim().toLowerCase().startsWith(BYTES_TYPE) ? body.data : bytesOf(body);
}

/** A byte order mark may stand in front. Throws SyntaxError. */
const parsed = (body: EncodedBody): unknown => JSON.parse(textOf(body).replace(/^\uFEFF/, ''));

/** Throws PayloadError when the data is said to be JSON and is not. */
export function eventDataOf(content: EventContent): unknown {
  const { body } = content;
  const contentType = content.kind === 'data' ? content.contentType : content.headers['content-type']?.[0];
  if (body.data === '') return undefined;
  if (contentType === undefined || !isJsonType(contentType)) return textOrBytes(body, contentType);
  try {
    return parsed(body);
  } catch (error) {
    throw new PayloadError(`the data of the event is said to be ${contentType} but is not JSON: ${jsonProblem(error)}`);
  }
}

/** What is said to be JSON and is not stays text: a call gives what came, and does not fail. */
export function answerBodyOf(body: EncodedBody, contentType: string | undefined): unknown {
  if (body.data === '') return undefined;
  if (contentType !== undefined && isJsonType(contentType)) {
    try {
      return parsed(body);
    } catch {
      return textOf(body);
    }
  }
  return textOrBytes(body, contentType);
}

/** Ways to read a body. */
export const readersOf = (body: EncodedBody) => ({
  text: (): string => textOf(body),
  json: (): unknown => parsed(body),
});

/** The request that came to a webhook. One that was notified instead looks like a POST of its data. */
export function webhookRequestOf(content: EventContent): WebhookRequest {
  const { body } = content;
  const asRequest =
    content.kind === 'request'
      ? { method: content.method, query: content.query, headers: content.headers }
      : {
          method: 'POST',
          query: '',
          headers: content.contentType === undefined ? {} : { 'content-type': [content.contentType] },
        };
  return { ...asRequest, body: bytesOf(body), ...readersOf(body) };
}
