/** Headers that set how a plain message goes; names without the prefix. */
import Type, { type StaticDecode } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { settingHeaders, TriggerHeaders } from '../../../http-api/operations/setting-headers.js';
import { parseRedactFields } from '../../../http-api/parameters/redact-fields.js';
import { Destination, Duration, RetryDelay } from '../../../http-api/parameters/values.js';

export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const method = (description: string) => Type.Optional(Type.Enum([...METHODS], { type: 'string', description }));
const timeout = (description: string) =>
  Type.Optional(
    Duration({ leastMs: 1_000, mostMs: LIMITS.maxDeliveryTimeoutMs }, { description, examples: ['30s', '15m', '1h30m'] }),
  );
const retries = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.maxRetries, description }));
const delay = (description: string) => Type.Optional(Duration({ leastMs: 0, mostMs: LIMITS.maxDelayMs }, { description }));
const retryDelay = (description: string) =>
  Type.Optional(RetryDelay({ description, examples: ['1000', 'pow(2, retried) * 1000'] }));

const ofCallback = 'Of the callback; as for the message when absent.';
const ofFailureCallback = 'Of the failure callback; as for the message when absent.';
const plural = /(^|,)\s*headers\s*(?=,|$)/g;

/** What a callback is sent with, under the names of one of the two kinds of them. */
export interface CallbackSettings {
  readonly method?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  readonly retryDelay?: string | undefined;
  readonly delayMs?: number | undefined;
}

const { 'Redact-Fields': _native, 'Workflow-RunId': _runId, 'Wait-For-Result': _wait, ...ofTriggers } = TriggerHeaders.properties;

/** What schedules and messages both take. */
export const sharedHeaders = {
  Method: method('Of the request to the destination; POST when absent.'),
  ...settingHeaders,
  Timeout: timeout('How long one request to the destination may take.'),
  Callback: Type.Optional(
    Destination({ description: 'URL that is told of every answer of the destination, in a message of its own.' }),
  ),
  'Callback-Method': method('Of the callback; POST when absent.'),
  'Callback-Timeout': timeout(ofCallback),
  'Callback-Retries': retries(ofCallback),
  'Callback-Retry-Delay': retryDelay(ofCallback),
  'Callback-Delay': delay('How long the callback waits before it is sent first.'),
  'Failure-Callback-Method': method('Of the failure callback; POST when absent.'),
  'Failure-Callback-Timeout': timeout(ofFailureCallback),
  'Failure-Callback-Retries': retries(ofFailureCallback),
  'Failure-Callback-Retry-Delay': retryDelay(ofFailureCallback),
  'Failure-Callback-Delay': delay('How long the failure callback waits before it is sent first.'),
  'Redact-Fields': Type.Optional(
    Type.Codec(
      Type.String({
        minLength: 1,
        description:
          'What logs and listings do not show, with commas between: `body`, `header` or `headers` for all of them, `header[<name>]`, and names of JSON fields, bare or as `body[<name>]`.',
      }),
    )
      .Decode((text) => parseRedactFields(text.replace(plural, '$1header')))
      .Encode((): never => {
        throw new Error('parameters are only read');
      }),
  ),
};

export const MessageHeaders = Type.Object({
  ...sharedHeaders,
  'Not-Before': ofTriggers['Not-Before'],
  'Deduplication-Id': ofTriggers['Deduplication-Id'],
  'Content-Based-Deduplication': ofTriggers['Content-Based-Deduplication'],
});
export type MessageHeaders = StaticDecode<typeof MessageHeaders>;

export const CALLBACK_FORWARD = 'Callback-Forward-';

/**
 * The longer name first: a header belongs to the first family that fits. What the SDKs say of themselves, and of workflows
 * where it has no meaning, is taken and not looked at.
 */
export const MESSAGE_FAMILIES = Object.freeze({
  'Failure-Callback-Forward-': 'Sent with the failure callback, without the prefix.',
  [CALLBACK_FORWARD]: 'Sent with the callback, without the prefix.',
  'Forward-': 'Sent to the destination, without the prefix.',
  'Telemetry-': 'What an SDK says of itself. Not looked at.',
  'Workflow-': 'Of workflows, and without a meaning for a message. Not looked at.',
  'Feature-': 'What an SDK says of itself. Not looked at.',
});
