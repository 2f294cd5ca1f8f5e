/** Headers that configure a plain message. Names are without the prefix. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { settingHeaders, TriggerHeaders } from '../../operations/triggers/setting-headers.js';
import { parseRedactFields } from '../../parameters/redact-fields.js';
import { Destination, Duration, RetryDelay } from '../../parameters/values.js';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const method = (description: string) => Type.Optional(Type.Enum([...METHODS], { type: 'string', description }));
const timeout = (description: string) =>
  Type.Optional(
    Duration({ minMs: 1_000, maxMs: LIMITS.maxDeliveryTimeoutMs }, { description, examples: ['30s', '15m', '1h30m'] }),
  );
const retries = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.maxRetries, description }));
const delay = (description: string) => Type.Optional(Duration({ minMs: 0, maxMs: LIMITS.maxDelayMs }, { description }));
const retryDelay = (description: string) =>
  Type.Optional(RetryDelay({ description, examples: ['1000', 'pow(2, retried) * 1000'] }));

const CALLBACK_NOTE = 'Applies to the callback. Default: the value of the message.';
const FAILURE_CALLBACK_NOTE = 'Applies to the failure callback. Default: the value of the message.';
const PLURAL_HEADERS = /(^|,)\s*headers\s*(?=,|$)/g;

/** Settings of a callback or failure callback. */
export interface CallbackSettings {
  readonly method?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  readonly retryDelay?: string | undefined;
  readonly delayMs?: number | undefined;
}

const {
  'Redact-Fields': _native,
  'Workflow-RunId': _runId,
  'Wait-For-Result': _wait,
  ...triggerHeaders
} = TriggerHeaders.properties;

/** Headers that schedules and messages share. */
export const sharedHeaders = {
  Method: method('Method of the request to the destination. Default: POST.'),
  ...settingHeaders,
  Timeout: timeout('Maximum duration of one request to the destination.'),
  Callback: Type.Optional(
    Destination({ description: 'URL that is notified of every response of the destination, in a separate message.' }),
  ),
  'Callback-Method': method('Method of the callback request. Default: POST.'),
  'Callback-Timeout': timeout(CALLBACK_NOTE),
  'Callback-Retries': retries(CALLBACK_NOTE),
  'Callback-Retry-Delay': retryDelay(CALLBACK_NOTE),
  'Callback-Delay': delay('Delay before the callback is first sent.'),
  'Failure-Callback-Method': method('Method of the failure callback request. Default: POST.'),
  'Failure-Callback-Timeout': timeout(FAILURE_CALLBACK_NOTE),
  'Failure-Callback-Retries': retries(FAILURE_CALLBACK_NOTE),
  'Failure-Callback-Retry-Delay': retryDelay(FAILURE_CALLBACK_NOTE),
  'Failure-Callback-Delay': delay('Delay before the failure callback is first sent.'),
  'Redact-Fields': Type.Optional(
    Type.Codec(
      Type.String({
        minLength: 1,
        description:
          'Comma-separated fields that logs and listings hide: `body`, `header` or `headers` for all of them, `header[<name>]`, and names of JSON fields, bare or as `body[<name>]`.',
      }),
    )
      .Decode((text) => parseRedactFields(text.replace(PLURAL_HEADERS, '$1header')))
      .Encode((): never => {
        throw new Error('parameters cannot be encoded');
      }),
  ),
};

export const MessageHeaders = Type.Object({
  ...sharedHeaders,
  'Not-Before': triggerHeaders['Not-Before'],
  'Deduplication-Id': triggerHeaders['Deduplication-Id'],
  'Content-Based-Deduplication': Type.Optional(
    Type.Boolean({
      description:
        'Derives the deduplication id from what the destination receives: the destination, the method, the body, its content type and the forwarded headers. The queue is not included.',
    }),
  ),
});
export type MessageHeaders = StaticDecode<typeof MessageHeaders>;

export const CALLBACK_FORWARD = 'Callback-Forward-';

/**
 * A header belongs to the first family that matches, so longer prefixes come first. SDK metadata, and workflow headers that do
 * not apply to messages, are accepted and ignored.
 */
export const MESSAGE_FAMILIES = Object.freeze({
  'Failure-Callback-Forward-': 'Forwarded to the failure callback, without the prefix.',
  [CALLBACK_FORWARD]: 'Forwarded to the callback, without the prefix.',
  'Forward-': 'Forwarded to the destination, without the prefix.',
  'Telemetry-': 'SDK metadata. Ignored.',
  'Workflow-': 'Workflow headers without a meaning for messages. Ignored.',
  'Feature-': 'SDK metadata. Ignored.',
});
