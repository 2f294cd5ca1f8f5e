/** Converts a destination, headers and a body to a plain message, for publishing, enqueueing and batches. */
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { isPathSafe } from '../../../dialects/path-safe-ids.js';
import type { FailureCallback, RunSettings } from '../../../engine/runs/run.js';
import type { MessageCommand, MessageDestination } from '../../../runtime/services/workflow-service.js';
import { allowTimeout } from '../../admission/plan-limits.js';
import type { ApiContext, RequestContext } from '../../operation.js';
import {
  checkDestination,
  type DestinationContext,
  FAILURE_CALLBACK_FORWARD,
  FORWARD,
} from '../../operations/triggers/setting-headers.js';
import { deduplicationIdOf, notBeforeOf, settingsOf, workflowUrlOf } from '../../operations/triggers/trigger-command.js';
import { type ReceivedHeaders, readPrefixedHeaders } from '../../parameters/prefixed-headers.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { optional } from '../../presenters/optional.js';
import type { BatchItem } from './batch-items.js';
import { CALLBACK_FORWARD, type CallbackSettings, MESSAGE_FAMILIES, MessageHeaders } from './message-headers.js';

const FAMILIES = Object.keys(MESSAGE_FAMILIES);
const IS_URL = /^https?:/i;
const NAME = /^[A-Za-z0-9._-]+$/;

/** Checks the name of a queue or URL group. Throws ApiError. */
export function checkName(name: string, subject: string): string {
  if (NAME.test(name) && isPathSafe(name) && name.length <= LIMITS.maxQueueNameLength) return name;
  throw new ApiError(
    'bad-parameter',
    `${subject} must consist of letters, digits, hyphens, periods and underscores, have at most ${LIMITS.maxQueueNameLength} characters, and not be "." or "..", but is ${quoteValue(name)}`,
  );
}

/** Returns the destination of a message. Throws ApiError if `text` is neither an allowed URL nor the name of a URL group. */
export function destinationFor(text: string, destinationContext: DestinationContext): MessageDestination {
  if (!IS_URL.test(text)) {
    if (NAME.test(text)) return { kind: 'url-group', name: checkName(text, 'the name of a URL group') };
    throw new ApiError(
      'bad-url',
      `the destination must be an absolute http or https URL, or the name of a URL group, not ${quoteValue(text)}`,
    );
  }
  const url = workflowUrlOf({ destination: text, destinationName: 'the destination' });
  checkDestination(url, null, destinationContext);
  return { kind: 'url', url };
}

/** Creates a callback with the settings from its headers. */
export function callbackFor(
  url: string,
  headers: Readonly<Record<string, string>>,
  { method, timeoutMs, maxRetries, retryDelay, delayMs }: CallbackSettings,
): FailureCallback {
  return {
    url,
    headers,
    ...optional('method', method),
    ...optional('timeoutMs', timeoutMs),
    ...optional('maxRetries', maxRetries),
    ...optional('retryDelay', retryDelay),
    ...optional('delayMs', delayMs),
  };
}

type FamilyHeaders = Readonly<Record<string, Readonly<Record<string, string>>>>;
/** Headers that schedules and messages share. */
export type SharedHeaders = Omit<MessageHeaders, 'Not-Before' | 'Deduplication-Id' | 'Content-Based-Deduplication'>;

export interface ParsedMessageSettings {
  readonly settings: Omit<RunSettings, 'steps' | 'message'>;
  readonly method: string;
  readonly callback: FailureCallback | null;
}

/**
 * Returns the settings of a message. Throws ApiError if a URL is not allowed, limits have no flow control key, or a timeout is
 * too long.
 */
export function messageSettings(
  headers: SharedHeaders,
  familyHeaders: FamilyHeaders,
  destinationContext: DestinationContext,
  receivedHeaders?: ReceivedHeaders,
): ParsedMessageSettings {
  const settings = settingsOf(
    { headers, headersByFamily: familyHeaders, ...optional('itemHeaders', receivedHeaders) },
    destinationContext,
  );
  const { context, request, instanceId } = destinationContext;
  for (const name of ['Callback-Timeout', 'Failure-Callback-Timeout'] as const)
    allowTimeout(context, instanceId, request.dialect.spell(name), headers[name]);
  const { Callback: callbackUrl, 'Failure-Callback': failureUrl } = headers;
  if (callbackUrl !== undefined) checkDestination(callbackUrl, 'Callback', destinationContext);
  const failureCallback =
    failureUrl === undefined
      ? null
      : callbackFor(failureUrl, familyHeaders[FAILURE_CALLBACK_FORWARD] ?? {}, {
          method: headers['Failure-Callback-Method'],
          timeoutMs: headers['Failure-Callback-Timeout'],
          maxRetries: headers['Failure-Callback-Retries'],
          retryDelay: headers['Failure-Callback-Retry-Delay'],
          delayMs: headers['Failure-Callback-Delay'],
        });
  const callback =
    callbackUrl === undefined
      ? null
      : callbackFor(callbackUrl, familyHeaders[CALLBACK_FORWARD] ?? {}, {
          method: headers['Callback-Method'],
          timeoutMs: headers['Callback-Timeout'] ?? settings.deliveryTimeoutMs,
          maxRetries: headers['Callback-Retries'] ?? settings.maxRetries,
          retryDelay: headers['Callback-Retry-Delay'] ?? settings.retryDelay ?? undefined,
          delayMs: headers['Callback-Delay'],
        });
  return { settings: { ...settings, failureCallback }, method: headers.Method ?? 'POST', callback };
}

const textOrNull = (value: string | readonly string[] | undefined): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

/** Returns the command that publishes an item. Throws ApiError if the item is invalid. */
export function messageCommand(item: BatchItem, context: ApiContext, request: RequestContext, caller: Caller): MessageCommand {
  const { values, families } = readPrefixedHeaders(MessageHeaders, FAMILIES, item.headers, request.dialect);
  const { instanceId } = caller;
  const destinationContext = { context, request, instanceId };
  const destination = destinationFor(item.destination, destinationContext);
  const contentType = textOrNull(item.headers['content-type']);
  const { body } = item;
  if (body.byteLength > LIMITS.maxBodyBytes)
    throw new ApiError(
      'body-too-large',
      `a message can have at most ${LIMITS.maxBodyBytes} bytes, but this one has ${body.byteLength}`,
    );
  const destinationText = destination.kind === 'url' ? destination.url : destination.name;
  const settings = messageSettings(values, families, destinationContext, item.headers);
  const { method } = settings;
  // Deduplication ids of messages are separate from those of runs.
  const id = deduplicationIdOf({ headers: values, headersByFamily: families, body, contentType, method }, destinationText);
  return {
    instanceId,
    dialect: request.dialect.name,
    destination,
    payload: { body, contentType, forwardHeaders: families[FORWARD] ?? {} },
    ...settings,
    queue: item.queue === null ? null : checkName(item.queue, 'the name of a queue'),
    notBefore: notBeforeOf(values, context.service.now(), request),
    deduplicationId: id === null ? null : `message ${id}`,
    callerIp: request.callerIp,
  };
}
