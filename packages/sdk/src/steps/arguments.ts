/**
 * Checks what workflow code gives to the steps that the service carries out.
 * All throw TypeError or RangeError, in words that begin with what is wrong.
 * Limits of the service that a person rarely meets are left to the service.
 */
import { type Duration, durationMs } from '../duration.js';
import type { FlowControlSpec } from '../protocol.js';
import type { FlowControlLimits } from './step-types.js';

const MAX_EVENT_ID_LENGTH = 512;
const MAX_EVENTS_PER_WAIT = 100;
const MAX_SHOWN_LENGTH = 80;

export const shown = (value: unknown): string => String(JSON.stringify(value) ?? value).slice(0, MAX_SHOWN_LENGTH);

/** U+0000 and halves of surrogate pairs do not come back from every store as they went in, so a text with one would not match. */
export const keepable = (text: string): boolean => !text.includes('\u0000') && !/\p{Surrogate}/u.test(text);

export function eventIdOf(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`the id of an event is a text, not ${shown(value)}`);
  if (value.length > MAX_EVENT_ID_LENGTH) {
    throw new RangeError(`the id of an event has at most ${MAX_EVENT_ID_LENGTH} characters, and this has ${value.length}`);
  }
  if (!keepable(value))
    throw new TypeError(`the id of an event must not have U+0000 or half a surrogate pair, as ${shown(value)} has`);
  return value;
}

export function eventIdsOf(values: unknown): readonly string[] {
  if (!Array.isArray(values) || values.length === 0) throw new TypeError('the ids of the events are a list with at least one');
  const eventIds = [...new Set(values.map(eventIdOf))];
  if (eventIds.length > MAX_EVENTS_PER_WAIT) {
    throw new RangeError(`a step waits for at most ${MAX_EVENTS_PER_WAIT} events, and this is to wait for ${eventIds.length}`);
  }
  return eventIds;
}

function wordOf(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '' || !keepable(value))
    throw new TypeError(`${what} is a text, not ${shown(value)}`);
  return value;
}

export const runIdOf = (value: unknown): string => wordOf(value, 'the id of a run');

function countOf(value: unknown, least: number, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeError(`${what} must be a whole number from ${least}, not ${shown(value)}`);
}

/** The URL as it was given, when it is one that can be called. */
export function httpUrlOf(value: unknown, what: string): string {
  const url = value instanceof URL ? value.href : value;
  if (typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new TypeError(`${what} must be an absolute http or https URL, not ${shown(url)}`);
}

export function headersOf(given: unknown): Readonly<Record<string, string>> {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null || Array.isArray(given) || given instanceof Headers) {
    throw new TypeError('headers must be an object of names and texts');
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    // Values may be secrets: an error shows names only.
    if (typeof value !== 'string') throw new TypeError(`the header ${shown(name)} must be a text; its type is ${typeof value}`);
    headers[name] = value;
  }
  return headers;
}

export const headerNamed = (headers: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];

export function labelsOf(given: unknown): readonly string[] {
  if (!Array.isArray(given)) throw new TypeError(`labels must be a list of texts, not ${shown(given)}`);
  return given.map((label) => wordOf(label, 'a label'));
}

function flowControlOf({ key, parallelism, rate, period }: FlowControlLimits): FlowControlSpec {
  if (rate === undefined && period !== undefined)
    throw new TypeError('the period of a flow control key goes with its rate, which is missing');
  return {
    key: wordOf(key, 'a flow control key'),
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

/** What calls and invocations have in common, as it travels. */
export function deliveryOf({ retries, retryDelay, timeout, flowControl }: DeliveryOptions) {
  const timeoutMs = timeout === undefined ? undefined : durationMs(timeout);
  if (timeoutMs === 0) throw new RangeError('a timeout must be longer than nothing');
  return {
    ...(retries === undefined ? {} : { retries: countOf(retries, 0, 'retries') }),
    ...(retryDelay === undefined ? {} : { retryDelay: wordOf(retryDelay, 'a retry delay') }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(flowControl === undefined ? {} : { flowControl: flowControlOf(flowControl) }),
  };
}
