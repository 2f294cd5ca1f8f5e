/** From a destination, headers and a body to a plain message: the same for one that is published, enqueued, or in a batch. */
import type { Caller } from '../../../accounts/authority.js';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { FailureCallback, RunSettings } from '../../../engine/run.js';
import { allowTimeout } from '../../../http-api/allowance.js';
import type { ApiContext, RequestContext } from '../../../http-api/operation.js';
import {
  checkDestination,
  type DestinationUse,
  FAILURE_CALLBACK_FORWARD,
  FORWARD,
} from '../../../http-api/operations/setting-headers.js';
import { deduplicationIdOf, notBeforeOf, settingsOf, workflowUrlOf } from '../../../http-api/operations/trigger-command.js';
import { readPrefixedHeaders } from '../../../http-api/parameters/prefixed-headers.js';
import { shown } from '../../../http-api/parameters/unacceptable.js';
import { optional } from '../../../http-api/presenters/optional.js';
import type { MessageCommand, MessageDestination } from '../../../runtime/workflow-service.js';
import { fitsInPaths } from '../../ids-in-paths.js';
import type { BatchItem } from './batch-items.js';
import { CALLBACK_FORWARD, type CallbackSettings, MESSAGE_FAMILIES, MessageHeaders } from './message-headers.js';

const FAMILIES = Object.keys(MESSAGE_FAMILIES);
const IS_URL = /^https?:/i;
const NAME = /^[A-Za-z0-9._-]+$/;

/** What queues and URL groups may be called. Throws ApiError. */
export function checkedName(name: string, what: string): string {
  if (NAME.test(name) && fitsInPaths(name) && name.length <= LIMITS.maxQueueNameLength) return name;
  throw new ApiError(
    'bad-parameter',
    `${what} must be of letters, digits, hyphens, periods and underscores, at most ${LIMITS.maxQueueNameLength}, and not "." or "..": ${shown(name)} is not`,
  );
}

/** Throws ApiError when it is neither a URL that may be called nor the name of a group. */
export function destinationFor(given: string, use: DestinationUse): MessageDestination {
  if (!IS_URL.test(given)) {
    if (NAME.test(given)) return { kind: 'url-group', name: checkedName(given, 'the name of a URL group') };
    throw new ApiError(
      'bad-url',
      `the destination must be an absolute http or https URL, or the name of a URL group, not ${shown(given)}`,
    );
  }
  const url = workflowUrlOf({ destination: given, destinationName: 'the destination' });
  checkDestination(url, null, use);
  return { kind: 'url', url };
}

/** A callback with what its headers say of it. */
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

type Carried = Readonly<Record<string, Readonly<Record<string, string>>>>;
/** What schedules and messages both take. */
export type SharedHeaders = Omit<MessageHeaders, 'Not-Before' | 'Deduplication-Id' | 'Content-Based-Deduplication'>;

export interface MessageSettingsRead {
  readonly settings: Omit<RunSettings, 'steps' | 'message'>;
  readonly method: string;
  readonly callback: FailureCallback | null;
}

/** Throws ApiError when something may not be called, limits have no key, or a timeout is too long. */
export function messageSettings(headers: SharedHeaders, carried: Carried, use: DestinationUse): MessageSettingsRead {
  const settings = settingsOf({ headers, carried }, use);
  const { context, request, instanceId } = use;
  for (const name of ['Callback-Timeout', 'Failure-Callback-Timeout'] as const)
    allowTimeout(context, instanceId, request.dialect.spell(name), headers[name]);
  const { Callback: callbackUrl, 'Failure-Callback': failureUrl } = headers;
  if (callbackUrl !== undefined) checkDestination(callbackUrl, 'Callback', use);
  const failureCallback =
    failureUrl === undefined
      ? null
      : callbackFor(failureUrl, carried[FAILURE_CALLBACK_FORWARD] ?? {}, {
          method: headers['Failure-Callback-Method'],
          timeoutMs: headers['Failure-Callback-Timeout'],
          maxRetries: headers['Failure-Callback-Retries'],
          retryDelay: headers['Failure-Callback-Retry-Delay'],
          delayMs: headers['Failure-Callback-Delay'],
        });
  const callback =
    callbackUrl === undefined
      ? null
      : callbackFor(callbackUrl, carried[CALLBACK_FORWARD] ?? {}, {
          method: headers['Callback-Method'],
          timeoutMs: headers['Callback-Timeout'] ?? settings.deliveryTimeoutMs,
          maxRetries: headers['Callback-Retries'] ?? settings.maxRetries,
          retryDelay: headers['Callback-Retry-Delay'] ?? settings.retryDelay ?? undefined,
          delayMs: headers['Callback-Delay'],
        });
  return { settings: { ...settings, failureCallback }, method: headers.Method ?? 'POST', callback };
}

const oneText = (value: string | readonly string[] | undefined): string | null =>
  typeof value === 'string' && value !== '' ? value : null;

/** Throws ApiError when something of it is not acceptable. */
export function messageCommand(item: BatchItem, context: ApiContext, request: RequestContext, caller: Caller): MessageCommand {
  const { values, families } = readPrefixedHeaders(MessageHeaders, FAMILIES, item.headers, request.dialect);
  const { instanceId } = caller;
  const use = { context, request, instanceId };
  const destination = destinationFor(item.destination, use);
  const contentType = oneText(item.headers['content-type']);
  const { body } = item;
  if (body.byteLength > LIMITS.maxBodyBytes)
    throw new ApiError('body-too-large', `a message takes ${LIMITS.maxBodyBytes} bytes, and this has ${body.byteLength}`);
  const where = destination.kind === 'url' ? destination.url : destination.name;
  // A run that was started with the same id is no message.
  const id = deduplicationIdOf({ headers: values, carried: families, body, contentType }, where);
  return {
    instanceId,
    dialect: request.dialect.name,
    destination,
    payload: { body, contentType, forwardHeaders: families[FORWARD] ?? {} },
    ...messageSettings(values, families, use),
    queue: item.queue === null ? null : checkedName(item.queue, 'the name of a queue'),
    notBefore: notBeforeOf(values, context.service.now(), request),
    deduplicationId: id === null ? null : `message ${id}`,
    callerIp: request.callerIp,
  };
}
