/**
 * Validates the arguments of steps that the server executes. Errors are TypeError or RangeError, and their message
 * starts with the invalid argument. Limits that are rarely reached are checked only by the server.
 */
import { type Duration, durationMs } from '../duration.js';
import type { FlowControlSpec } from '../protocol.js';
import { parseWorkerUrl, WORKER_SCHEME } from '../worker/worker-url.js';
import type { FlowControlLimits } from './step-types.js';

const MAX_EVENT_ID_LENGTH = 512;
const MAX_EVENTS_PER_WAIT = 100;
const MAX_SHOWN_LENGTH = 80;

/** Returns a value as JSON for an error message, shortened to 80 characters. */
export const quoteValue = (value: unknown): string => String(JSON.stringify(value) ?? value).slice(0, MAX_SHOWN_LENGTH);

/** Returns whether every store can represent the text exactly: it contains neither U+0000 nor an unpaired surrogate. */
export const isStorable = (text: string): boolean => !text.includes('\u0000') && !/\p{Surrogate}/u.test(text);

/** Validates an event id. */
export function eventIdOf(value: unknown): string {
  if (typeof value !== 'string' || value === '')
    throw new TypeError(`an event id must be a non-empty string, not ${quoteValue(value)}`);
  if (value.length > MAX_EVENT_ID_LENGTH) {
    throw new RangeError(`an event id must have at most ${MAX_EVENT_ID_LENGTH} characters, but this one has ${value.length}`);
  }
  if (!isStorable(value))
    throw new TypeError(`an event id must not contain U+0000 or an unpaired surrogate, but ${quoteValue(value)} does`);
  return value;
}

/** Validates a list of event ids and removes duplicates. */
export function eventIdsOf(values: unknown): readonly string[] {
  if (!Array.isArray(values) || values.length === 0) throw new TypeError('event ids must be an array with at least one id');
  const eventIds = [...new Set(values.map(eventIdOf))];
  if (eventIds.length > MAX_EVENTS_PER_WAIT) {
    throw new RangeError(`a step can wait for at most ${MAX_EVENTS_PER_WAIT} events, not ${eventIds.length}`);
  }
  return eventIds;
}

function nonEmptyString(value: unknown, subject: string): string {
  if (typeof value !== 'string' || value === '' || !isStorable(value))
    throw new TypeError(`${subject} must be a non-empty string without U+0000 and unpaired surrogates, not ${quoteValue(value)}`);
  return value;
}

/** Validates a run id. */
export const runIdOf = (value: unknown): string => nonEmptyString(value, 'a run id');

function countOf(value: unknown, min: number, subject: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value;
  throw new RangeError(`${subject} must be a whole number of at least ${min}, not ${quoteValue(value)}`);
}

/** Returns the URL unchanged if it is an absolute http or https URL. */
export function httpUrlOf(value: unknown, subject: string): string {
  const url = value instanceof URL ? value.href : value;
  if (typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new TypeError(`${subject} must be an absolute http or https URL, not ${quoteValue(url)}`);
}

/** Returns the URL unchanged if it is one of a workflow: an absolute http or https URL, or `worker://<app>/<workflow>`. */
export function workflowUrlOf(value: unknown): string {
  if (typeof value !== 'string' || !value.startsWith(WORKER_SCHEME)) return httpUrlOf(value, 'the URL of a workflow');
  if (parseWorkerUrl(value)) return value;
  throw new TypeError(`the URL of a workflow that a worker serves must be worker://<app>/<workflow>, not ${quoteValue(value)}`);
}

/** Validates an object of headers. */
export function headersOf(headers: unknown): Readonly<Record<string, string>> {
  if (headers === undefined) return {};
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers) || headers instanceof Headers) {
    throw new TypeError('headers must be an object of names and strings');
  }
  const validHeaders: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    // Values may be secrets, so the error shows only names.
    if (typeof value !== 'string') throw new TypeError(`the header ${quoteValue(name)} must be a string, not ${typeof value}`);
    validHeaders[name] = value;
  }
  return validHeaders;
}

/** Returns the value of a header. `name` is in lowercase. */
export const findHeader = (headers: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.entries(headers).find(([headerName]) => headerName.toLowerCase() === name)?.[1];

/** Validates a list of labels. */
export function labelsOf(labels: unknown): readonly string[] {
  if (!Array.isArray(labels)) throw new TypeError(`labels must be an array of strings, not ${quoteValue(labels)}`);
  return labels.map((label) => nonEmptyString(label, 'a label'));
}

function flowControlOf({ key, parallelism, rate, period }: FlowControlLimits): FlowControlSpec {
  if (rate === undefined && period !== undefined)
    throw new TypeError('a flow control period requires a rate: set both, or omit the period');
  return {
    key: nonEmptyString(key, 'a flow control key'),
    ...(parallelism === undefined ? {} : { parallelism: countOf(parallelism, 1, 'parallelism') }),
    ...(rate === undefined ? {} : { rate: countOf(rate, 1, 'rate'), periodMs: durationMs(period ?? 1) }),
  };
}

interface DeliveryOptions {
  readonly retries?: number;
  readonly retryDelay?: string;
  readonly timeout?: Duration;
  readonly flowControl?: FlowControlLimits;
}

/** Converts the options that calls and invocations share to their form on the wire. */
export function deliveryOf({ retries, retryDelay, timeout, flowControl }: DeliveryOptions) {
  const timeoutMs = timeout === undefined ? undefined : durationMs(timeout);
  if (timeoutMs === 0) throw new RangeError('the timeout must be greater than 0, for example "30s"; omit it for the default');
  return {
    ...(retries === undefined ? {} : { retries: countOf(retries, 0, 'retries') }),
    ...(retryDelay === undefined ? {} : { retryDelay: nonEmptyString(retryDelay, 'a retry delay') }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(flowControl === undefined ? {} : { flowControl: flowControlOf(flowControl) }),
  };
}
