/** Settings of runs as the headers that carry them. */
import { type Duration, durationMs, type Instant, instantMs } from '../duration.js';
import { NATIVE_PREFIX } from '../protocol.js';

export interface FlowControlSettings {
  readonly key?: string;
  readonly parallelism?: number;
  /** Starts per period. */
  readonly rate?: number;
  /** Default one second. */
  readonly period?: Duration;
}

/** What a trigger sets, and a resume or restart may override. */
export interface RunOverrides {
  /** Retries of each step and of the code between steps. */
  readonly retries?: number;
  /** Expression over `retried` whose value is ms, such as `'pow(2, retried) * 1000'`. */
  readonly retryDelay?: string;
  readonly delay?: Duration;
  readonly labels?: readonly string[];
  readonly flowControl?: FlowControlSettings;
  readonly failureCallback?: string | { readonly url: string; readonly headers?: Readonly<Record<string, string>> };
}

export interface TriggerOptions extends RunOverrides {
  /** Text and bytes are sent as they are, everything else as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  /** Headers to send on to the workflow. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The id of the run; made by the service when absent. */
  readonly runId?: string;
  /** Wins over `delay`. A number is Unix milliseconds; rounded up to a second. */
  readonly notBefore?: Instant;
  /** How long one call of the workflow may take. */
  readonly timeout?: Duration;
  readonly deduplicationId?: string;
  readonly contentBasedDeduplication?: boolean;
  /** What logs and listings do not show: `body`, `header`, `header[x-name]`, and names of JSON fields. */
  readonly redact?: readonly string[];
  /** Answers when the run has ended, or after this time; `true` leaves the time to the service. */
  readonly waitForResult?: true | Duration;
  /** Ends the call, not the run. */
  readonly signal?: AbortSignal;
}

/** Overrides of a single resume or restart. */
export interface SingleRecoverOptions {
  /** The id of the new run. */
  readonly runId?: string;
  readonly retries?: number;
  readonly flowControl?: FlowControlSettings;
}

export type Headers = Record<string, string>;

/** Whole seconds: the service takes no parts of one. */
export const durationText = (duration: Duration): string => `${Math.ceil(durationMs(duration) / 1000)}s`;

function setFlowControl(headers: Headers, { key, parallelism, rate, period }: FlowControlSettings): void {
  if (key !== undefined) headers[`${NATIVE_PREFIX}Flow-Control-Key`] = key;
  const limits = [
    ...(parallelism === undefined ? [] : [`parallelism=${parallelism}`]),
    ...(rate === undefined ? [] : [`rate=${rate}`]),
    ...(period === undefined ? [] : [`period=${durationText(period)}`]),
  ];
  if (limits.length > 0) headers[`${NATIVE_PREFIX}Flow-Control-Value`] = limits.join(', ');
}

/** Throws RangeError, because a comma inside would become one between two. */
function commaList(items: readonly string[] | undefined, what: string): string | undefined {
  const withComma = items?.find((item) => item.includes(','));
  if (withComma !== undefined) throw new RangeError(`${what} cannot contain a comma: ${JSON.stringify(withComma)}`);
  return items?.join(',');
}

export function overrideHeaders(overrides: RunOverrides & { readonly runId?: string }): Headers {
  const { runId, retries, retryDelay, delay, labels, flowControl, failureCallback } = overrides;
  const headers: Headers = {};
  const set = (name: string, value: string | number | undefined) => {
    if (value !== undefined) headers[`${NATIVE_PREFIX}${name}`] = String(value);
  };
  set('Workflow-RunId', runId);
  set('Retries', retries);
  set('Retry-Delay', retryDelay);
  set('Delay', delay === undefined ? undefined : durationText(delay));
  set('Label', commaList(labels, 'a label'));
  if (flowControl) setFlowControl(headers, flowControl);
  if (typeof failureCallback === 'string') set('Failure-Callback', failureCallback);
  else if (failureCallback) {
    set('Failure-Callback', failureCallback.url);
    for (const [name, value] of Object.entries(failureCallback.headers ?? {})) set(`Failure-Callback-Forward-${name}`, value);
  }
  return headers;
}

export function triggerHeaders(options: TriggerOptions): Headers {
  const headers = overrideHeaders(options);
  const set = (name: string, value: string | number | boolean | undefined) => {
    if (value !== undefined) headers[`${NATIVE_PREFIX}${name}`] = String(value);
  };
  const { notBefore, timeout, deduplicationId, contentBasedDeduplication, redact } = options;
  set('Not-Before', notBefore === undefined ? undefined : Math.ceil(instantMs(notBefore) / 1000));
  set('Timeout', timeout === undefined ? undefined : durationText(timeout));
  set('Deduplication-Id', deduplicationId);
  set('Content-Based-Deduplication', contentBasedDeduplication);
  set('Redact-Fields', commaList(redact, 'what is to be redacted'));
  for (const [name, value] of Object.entries(options.headers ?? {})) set(`Forward-${name}`, value);
  const contentType = options.contentType ?? (isRaw(options.body) ? undefined : 'application/json');
  if (contentType !== undefined) headers['Content-Type'] = contentType;
  return headers;
}

const isRaw = (body: unknown): body is undefined | string | Uint8Array =>
  body === undefined || typeof body === 'string' || body instanceof Uint8Array;

export function triggerBody(body: unknown): string | Uint8Array | undefined {
  return isRaw(body) ? body : JSON.stringify(body);
}
