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
import {
  boundedText,
  describeValue,
  type Fields,
  InvalidFieldError,
  integer,
  milliseconds,
  optional,
  readFields,
  readId,
  readList,
  readText,
} from '../frame-fields.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

function readBody(value: unknown, path: string, maxBytes: number): EncodedBody {
  const properties = readFields(value, path);
  const { encoding } = properties;
  if (encoding !== 'utf8' && encoding !== 'base64')
    throw new InvalidFieldError(`${path}.encoding must be "utf8" or "base64"`, describeValue(encoding));
  const data = readText(properties.data, `${path}.data`);
  const bytes = Buffer.byteLength(data, encoding);
  if (bytes > maxBytes) throw new InvalidFieldError(`${path} has ${bytes} bytes, over the limit of ${maxBytes}`);
  return { encoding, data };
}

function readHttpUrl(value: unknown, path: string, maxLength: number): string {
  const url = boundedText(value, path, maxLength);
  const parsedUrl = URL.canParse(url) ? new URL(url) : null;
  if (parsedUrl?.protocol === 'http:' || parsedUrl?.protocol === 'https:') return url;
  throw new InvalidFieldError(`${path} must be an http or https URL`, describeValue(url));
}

function readWorkflowUrl(value: unknown, path: string, maxLength: number): string {
  const url = boundedText(value, path, maxLength);
  return parseWorkerUrl(url) === null ? readHttpUrl(value, path, maxLength) : url;
}

function readHeaders(value: unknown, path: string): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  const entries = Object.entries(readFields(value, path));
  if (entries.length > LIMITS.maxHeaderCount)
    throw new InvalidFieldError(
      `${path} has ${entries.length} headers, over the limit of ${LIMITS.maxHeaderCount} (maxHeaderCount)`,
    );
  const headerMap = Object.fromEntries(entries.map(([name, headerText]) => [name, readText(headerText, `${path}.${name}`)]));
  const characterCount = entries.reduce((sum, [name]) => sum + name.length + (headerMap[name]?.length ?? 0), 0);
  if (characterCount > LIMITS.maxHeaderBytes)
    throw new InvalidFieldError(
      `${path} has ${characterCount} characters, over the limit of ${LIMITS.maxHeaderBytes} (maxHeaderBytes)`,
    );
  return headerMap;
}

function readFlowControl(value: unknown, path: string): FlowControlSpec {
  const properties = readFields(value, path);
  const key = readId(properties.key, `${path}.key`, LIMITS.maxFlowControlKeyLength);
  const parallelism = optional(properties.parallelism, `${path}.parallelism`, (item, itemPath) =>
    integer(item, itemPath, 1, LIMITS.maxParallelism),
  );
  const rate = optional(properties.rate, `${path}.rate`, (item, itemPath) => integer(item, itemPath, 1, LIMITS.maxRate));
  if (rate === undefined && properties.periodMs !== undefined)
    throw new InvalidFieldError(`${path}.periodMs requires ${path}.rate, which is missing`);
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
              : integer(properties.periodMs, `${path}.periodMs`, 1_000, LIMITS.maxPeriodMs),
        }),
  };
}

/** Reads the settings that calls and invocations share. */
function readDeliverySettings(properties: Fields, path: string) {
  const retries = optional(properties.retries, `${path}.retries`, (item, itemPath) =>
    integer(item, itemPath, 0, LIMITS.maxRetries),
  );
  const retryDelay = optional(properties.retryDelay, `${path}.retryDelay`, (item, itemPath) =>
    boundedText(item, itemPath, LIMITS.maxRetryExpressionLength),
  );
  const timeoutMs = optional(properties.timeoutMs, `${path}.timeoutMs`, (item, itemPath) =>
    milliseconds(item, itemPath, 1, LIMITS.maxDeliveryTimeoutMs),
  );
  const control = optional(properties.flowControl, `${path}.flowControl`, readFlowControl);
  return {
    ...(retries === undefined ? {} : { retries }),
    ...(retryDelay === undefined ? {} : { retryDelay }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(control ? { flowControl: control } : {}),
  };
}

function readCallSpec(value: unknown, path: string): CallSpec {
  const properties = readFields(value, path);
  const method = readText(properties.method, `${path}.method`);
  if (!METHODS.includes(method))
    throw new InvalidFieldError(`${path}.method must be one of ${METHODS.join(', ')}`, describeValue(method));
  const requestBody = optional(properties.body, `${path}.body`, (item, itemPath) =>
    readBody(item, itemPath, LIMITS.maxCallBodyBytes),
  );
  return {
    url: readHttpUrl(properties.url, `${path}.url`, LIMITS.maxCallUrlLength),
    method,
    headers: readHeaders(properties.headers, `${path}.headers`),
    ...(requestBody ? { body: requestBody } : {}),
    ...readDeliverySettings(properties, path),
  };
}

function readLabels(value: unknown, path: string): readonly string[] {
  const elements = readList(value, path);
  if (elements.length > LIMITS.maxLabels)
    throw new InvalidFieldError(`${path} has ${elements.length} labels, over the limit of ${LIMITS.maxLabels} (maxLabels)`);
  return elements.map((label, index) => boundedText(label, `${path}[${index}]`, LIMITS.maxLabelLength));
}

function readInvokeSpec(value: unknown, path: string): InvokeSpec {
  const properties = readFields(value, path);
  const requestBody = optional(properties.body, `${path}.body`, (item, itemPath) =>
    readBody(item, itemPath, LIMITS.maxBodyBytes),
  );
  const contentType = optional(properties.contentType, `${path}.contentType`, (item, itemPath) =>
    boundedText(item, itemPath, LIMITS.maxUrlLength),
  );
  const workflowRunId = optional(properties.workflowRunId, `${path}.workflowRunId`, (item, itemPath) =>
    readId(item, itemPath, LIMITS.maxRunIdLength),
  );
  const runLabels = optional(properties.labels, `${path}.labels`, readLabels);
  const runHeaders = readHeaders(properties.headers, `${path}.headers`);
  return {
    workflowUrl: readWorkflowUrl(properties.workflowUrl, `${path}.workflowUrl`, LIMITS.maxWorkflowUrlLength),
    headers: Object.fromEntries(Object.entries(runHeaders).map(([name, headerText]) => [name.toLowerCase(), headerText])),
    ...(requestBody ? { body: requestBody } : {}),
    ...(contentType === undefined ? {} : { contentType }),
    ...(workflowRunId === undefined ? {} : { workflowRunId }),
    ...(runLabels ? { labels: runLabels } : {}),
    ...readDeliverySettings(properties, path),
  };
}

const readEventId = (value: unknown, path: string): string => readId(value, path, LIMITS.maxEventIdLength);

function readEventIds(value: unknown, path: string): readonly string[] {
  const elements = readList(value, path);
  if (elements.length === 0 || elements.length > LIMITS.maxEventsPerWait)
    throw new InvalidFieldError(
      `${path} must list 1 to ${LIMITS.maxEventsPerWait} events (maxEventsPerWait), but lists ${elements.length}`,
    );
  return [...new Set(elements.map((item, index) => readEventId(item, `${path}[${index}]`)))];
}

function readEventData(value: unknown, path: string): Extract<EventContent, { kind: 'data' }> {
  const properties = readFields(value, path);
  const contentType = optional(properties.contentType, `${path}.contentType`, (item, itemPath) =>
    boundedText(item, itemPath, LIMITS.maxUrlLength),
  );
  return {
    kind: 'data',
    body: readBody(properties.body, `${path}.body`, LIMITS.maxEventBytes),
    ...(contentType === undefined ? {} : { contentType }),
  };
}

/** Reads the fields that the type of the step requires. `now`, in Unix ms, limits how far in the future a wake time may be. */
export function plannedStep(
  { stepId, name, type }: { readonly stepId: number; readonly name: string; readonly type: StepType },
  step: Fields,
  path: string,
  now: number,
): PlannedStep {
  const head = { stepId, name };
  switch (type) {
    case 'Run':
    case 'CreateWebhook':
      return { ...head, type };
    case 'SleepFor':
      return { ...head, type, sleepMs: milliseconds(step.sleepMs, `${path}.sleepMs`, 0, LIMITS.maxSleepMs) };
    case 'SleepUntil': {
      const latestWakeAt = now + LIMITS.maxSleepMs;
      const wakeAt = milliseconds(step.wakeAt, `${path}.wakeAt`, Number.MIN_SAFE_INTEGER, latestWakeAt);
      return { ...head, type, wakeAt: Math.max(0, wakeAt) };
    }
    case 'Wait':
    case 'WaitForWebhook': {
      return {
        ...head,
        type,
        eventIds: readEventIds(step.eventIds, `${path}.eventIds`),
        timeoutMs: milliseconds(step.timeoutMs, `${path}.timeoutMs`, 0, LIMITS.maxWaitMs),
      };
    }
    case 'Notify': {
      const workflowRunId = optional(step.workflowRunId, `${path}.workflowRunId`, (item, itemPath) =>
        boundedText(item, itemPath, LIMITS.maxRunIdLength),
      );
      const eventId = readEventId(step.eventId, `${path}.eventId`);
      const content = readEventData(step.content, `${path}.content`);
      return { ...head, type, eventId, content, ...(workflowRunId === undefined ? {} : { workflowRunId }) };
    }
    case 'Call':
      return { ...head, type, call: readCallSpec(step.call, `${path}.call`) };
    case 'Invoke':
      return { ...head, type, invoke: readInvokeSpec(step.invoke, `${path}.invoke`) };
  }
}
