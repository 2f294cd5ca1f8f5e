/** Reads the planned steps of an endpoint: each step type with the fields that the server needs to execute it. */
import {
  type CallSpec,
  type EncodedBody,
  type EventContent,
  type FlowControlSpec,
  type InvokeSpec,
  type PlannedStep,
  parseWorkerUrl,
  type StepType,
} from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { type Fields, fields, id, integer, list, milliseconds, optional, Problem, shown, text, word } from '../frame-fields.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

function body(value: unknown, where: string, max: number): EncodedBody {
  const properties = fields(value, where);
  const { encoding } = properties;
  if (encoding !== 'utf8' && encoding !== 'base64')
    throw new Problem(`${where}.encoding must be "utf8" or "base64"`, shown(encoding));
  const data = text(properties.data, `${where}.data`);
  const bytes = Buffer.byteLength(data, encoding);
  if (bytes > max) throw new Problem(`${where} has ${bytes} bytes, over the limit of ${max}`);
  return { encoding, data };
}

function httpUrl(value: unknown, where: string, max: number): string {
  const url = word(value, where, max);
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return url;
  throw new Problem(`${where} must be an http or https URL`, shown(url));
}

function workflowUrl(value: unknown, where: string, max: number): string {
  const url = word(value, where, max);
  return parseWorkerUrl(url) === null ? httpUrl(value, where, max) : url;
}

function headers(value: unknown, where: string): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  const entries = Object.entries(fields(value, where));
  if (entries.length > LIMITS.maxHeaderCount)
    throw new Problem(`${where} has ${entries.length} headers, over the limit of ${LIMITS.maxHeaderCount} (maxHeaderCount)`);
  const read = Object.fromEntries(entries.map(([name, text_]) => [name, text(text_, `${where}.${name}`)]));
  const size = entries.reduce((sum, [name]) => sum + name.length + (read[name]?.length ?? 0), 0);
  if (size > LIMITS.maxHeaderBytes)
    throw new Problem(`${where} has ${size} characters, over the limit of ${LIMITS.maxHeaderBytes} (maxHeaderBytes)`);
  return read;
}

function flowControl(value: unknown, where: string): FlowControlSpec {
  const properties = fields(value, where);
  const key = id(properties.key, `${where}.key`, LIMITS.maxFlowControlKeyLength);
  const parallelism = optional(properties.parallelism, `${where}.parallelism`, (item, at) =>
    integer(item, at, 1, LIMITS.maxParallelism),
  );
  const rate = optional(properties.rate, `${where}.rate`, (item, at) => integer(item, at, 1, LIMITS.maxRate));
  if (rate === undefined && properties.periodMs !== undefined)
    throw new Problem(`${where}.periodMs requires ${where}.rate, which is missing`);
  return {
    key,
    ...(parallelism === undefined ? {} : { parallelism }),
    ...(rate === undefined
      ? {}
      : {
          rate,
          periodMs:
            properties.periodMs === undefined
              ? 1_000
              : integer(properties.periodMs, `${where}.periodMs`, 1_000, LIMITS.maxPeriodMs),
        }),
  };
}

/** Settings that calls and invocations share. */
function deliverySettings(properties: Fields, where: string) {
  const retries = optional(properties.retries, `${where}.retries`, (item, at) => integer(item, at, 0, LIMITS.maxRetries));
  const retryDelay = optional(properties.retryDelay, `${where}.retryDelay`, (item, at) =>
    word(item, at, LIMITS.maxRetryExpressionLength),
  );
  const timeoutMs = optional(properties.timeoutMs, `${where}.timeoutMs`, (item, at) =>
    milliseconds(item, at, 1, LIMITS.maxDeliveryTimeoutMs),
  );
  const limits = optional(properties.flowControl, `${where}.flowControl`, flowControl);
  return {
    ...(retries === undefined ? {} : { retries }),
    ...(retryDelay === undefined ? {} : { retryDelay }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(limits ? { flowControl: limits } : {}),
  };
}

function callSpec(value: unknown, where: string): CallSpec {
  const properties = fields(value, where);
  const method = text(properties.method, `${where}.method`);
  if (!METHODS.includes(method)) throw new Problem(`${where}.method must be one of ${METHODS.join(', ')}`, shown(method));
  const sent = optional(properties.body, `${where}.body`, (item, at) => body(item, at, LIMITS.maxCallBodyBytes));
  return {
    url: httpUrl(properties.url, `${where}.url`, LIMITS.maxCallUrlLength),
    method,
    headers: headers(properties.headers, `${where}.headers`),
    ...(sent ? { body: sent } : {}),
    ...deliverySettings(properties, where),
  };
}

function labels(value: unknown, where: string): readonly string[] {
  const elements = list(value, where);
  if (elements.length > LIMITS.maxLabels)
    throw new Problem(`${where} has ${elements.length} labels, over the limit of ${LIMITS.maxLabels} (maxLabels)`);
  return elements.map((label, index) => word(label, `${where}[${index}]`, LIMITS.maxLabelLength));
}

function invokeSpec(value: unknown, where: string): InvokeSpec {
  const properties = fields(value, where);
  const sent = optional(properties.body, `${where}.body`, (item, at) => body(item, at, LIMITS.maxBodyBytes));
  const contentType = optional(properties.contentType, `${where}.contentType`, (item, at) => word(item, at, LIMITS.maxUrlLength));
  const workflowRunId = optional(properties.workflowRunId, `${where}.workflowRunId`, (item, at) =>
    id(item, at, LIMITS.maxRunIdLength),
  );
  const named = optional(properties.labels, `${where}.labels`, labels);
  const forwarded = headers(properties.headers, `${where}.headers`);
  return {
    workflowUrl: workflowUrl(properties.workflowUrl, `${where}.workflowUrl`, LIMITS.maxWorkflowUrlLength),
    headers: Object.fromEntries(Object.entries(forwarded).map(([name, text_]) => [name.toLowerCase(), text_])),
    ...(sent ? { body: sent } : {}),
    ...(contentType === undefined ? {} : { contentType }),
    ...(workflowRunId === undefined ? {} : { workflowRunId }),
    ...(named ? { labels: named } : {}),
    ...deliverySettings(properties, where),
  };
}

const eventId = (value: unknown, where: string): string => id(value, where, LIMITS.maxEventIdLength);

function eventIds(value: unknown, where: string): readonly string[] {
  const elements = list(value, where);
  if (elements.length === 0 || elements.length > LIMITS.maxEventsPerWait)
    throw new Problem(
      `${where} must list 1 to ${LIMITS.maxEventsPerWait} events (maxEventsPerWait), but lists ${elements.length}`,
    );
  return [...new Set(elements.map((item, index) => eventId(item, `${where}[${index}]`)))];
}

function eventData(value: unknown, where: string): Extract<EventContent, { kind: 'data' }> {
  const properties = fields(value, where);
  const contentType = optional(properties.contentType, `${where}.contentType`, (item, at) => word(item, at, LIMITS.maxUrlLength));
  return {
    kind: 'data',
    body: body(properties.body, `${where}.body`, LIMITS.maxEventBytes),
    ...(contentType === undefined ? {} : { contentType }),
  };
}

/** `now`, in Unix ms, limits how far in the future a wake time may be. */
export function plannedStep(
  { stepId, name, type }: { readonly stepId: number; readonly name: string; readonly type: StepType },
  step: Fields,
  where: string,
  now: number,
): PlannedStep {
  const head = { stepId, name };
  switch (type) {
    case 'Run':
    case 'CreateWebhook':
      return { ...head, type };
    case 'SleepFor':
      return { ...head, type, sleepMs: milliseconds(step.sleepMs, `${where}.sleepMs`, 0, LIMITS.maxSleepMs) };
    case 'SleepUntil': {
      const max = now + LIMITS.maxSleepMs;
      const wakeAt = milliseconds(step.wakeAt, `${where}.wakeAt`, Number.MIN_SAFE_INTEGER, max);
      return { ...head, type, wakeAt: Math.max(0, wakeAt) };
    }
    case 'Wait':
    case 'WaitForWebhook': {
      const awaited = eventIds(step.eventIds, `${where}.eventIds`);
      return {
        ...head,
        type,
        eventIds: awaited,
        timeoutMs: milliseconds(step.timeoutMs, `${where}.timeoutMs`, 0, LIMITS.maxWaitMs),
      };
    }
    case 'Notify': {
      const run = optional(step.workflowRunId, `${where}.workflowRunId`, (item, at) => word(item, at, LIMITS.maxRunIdLength));
      const of = { eventId: eventId(step.eventId, `${where}.eventId`), content: eventData(step.content, `${where}.content`) };
      return { ...head, type, ...of, ...(run === undefined ? {} : { workflowRunId: run }) };
    }
    case 'Call':
      return { ...head, type, call: callSpec(step.call, `${where}.call`) };
    case 'Invoke':
      return { ...head, type, invoke: invokeSpec(step.invoke, `${where}.invoke`) };
  }
}
