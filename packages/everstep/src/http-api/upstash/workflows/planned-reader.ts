/** Reads call, wait and invoke steps in the format of the SDK. Throws InvalidFieldError or ApiError. */
import { JsonBoundsError, type PlannedStep, parseJson, WORKER_SCHEME } from '@everstep/sdk/protocol';
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { InvalidFieldError, readFields } from '../../../dialects/frame-fields.js';
import { runIdProblem } from '../../../dialects/upstash/wire.js';
import { FAILURE_CALLBACK_FORWARD, FORWARD, settingHeaders } from '../../operations/triggers/setting-headers.js';
import { parseDestination } from '../../parameters/destination.js';
import { InvalidValueError, quoteValue } from '../../parameters/value-errors.js';
import { ClientSuppliedId, Duration } from '../../parameters/values.js';
import { encodeBody } from '../../responses/encoded-bytes.js';
import { headerText, readKnownHeaders } from '../item-headers.js';
import type { BatchItem } from '../messages/batch-items.js';
import { durationMs, stepHead } from './step-reader.js';

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const CALLBACK_PREFIX = 'upstash-callback-forward-upstash-workflow-';

const DELIVERY_HEADERS = {
  Retries: settingHeaders.Retries,
  'Retry-Delay': settingHeaders['Retry-Delay'],
  'Flow-Control-Key': settingHeaders['Flow-Control-Key'],
  'Flow-Control-Value': settingHeaders['Flow-Control-Value'],
  Timeout: Type.Optional(Duration({ minMs: 1_000, maxMs: LIMITS.maxDeliveryTimeoutMs }, {})),
};
const CallHeaders = Type.Object({ ...DELIVERY_HEADERS, Method: Type.Optional(Type.String()) });
const InvokeHeaders = Type.Object({
  ...DELIVERY_HEADERS,
  'Workflow-RunId': Type.Optional(ClientSuppliedId(LIMITS.maxRunIdLength, {})),
  Label: settingHeaders.Label,
  'Failure-Callback': settingHeaders['Failure-Callback'],
});

/** A planned step and the id of its run. */
export interface OwnedStep {
  readonly workflowRunId: string;
  /** Time when the run was created, Unix ms, if the SDK states it. */
  readonly workflowCreatedAt?: number;
  readonly step: PlannedStep;
}

type DeliveryHeaders = Readonly<{
  Retries?: number | undefined;
  'Retry-Delay'?: string | undefined;
  Timeout?: number | undefined;
  'Flow-Control-Key'?: string | undefined;
  'Flow-Control-Value'?: { readonly parallelism?: number; readonly rate?: number; readonly periodMs?: number } | undefined;
}>;

function deliveryOf(values: DeliveryHeaders) {
  const { Retries: retries, 'Retry-Delay': retryDelay, Timeout: timeoutMs, 'Flow-Control-Key': key } = values;
  return {
    ...(retries === undefined ? {} : { retries }),
    ...(retryDelay === undefined ? {} : { retryDelay }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(key === undefined ? {} : { flowControl: { key, ...values['Flow-Control-Value'] } }),
  };
}

function urlOf(destination: string): string {
  try {
    return parseDestination(destination);
  } catch (error) {
    if (error instanceof InvalidValueError) throw new ApiError('bad-url', `the destination ${error.message}`);
    throw error;
  }
}

function jsonFields(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return readFields(parseJson(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')), 'the body');
  } catch (error) {
    if (error instanceof JsonBoundsError) throw new InvalidFieldError(`the body is JSON that exceeds a limit: ${error.message}`);
    if (error instanceof SyntaxError) throw new InvalidFieldError('the body must be JSON');
    throw error;
  }
}

function requireRunId(runId: unknown): string {
  if (typeof runId === 'string' && runId !== '') return runId;
  throw new InvalidFieldError('the id of the run that the step belongs to is missing');
}

/** Reads a call step. The item is the request that the server makes; its callback headers identify the step. */
export function readCall({ destination, headers, body }: BatchItem): OwnedStep {
  const { values, families } = readKnownHeaders(CallHeaders, [FORWARD], headers);
  const method = (values.Method ?? 'POST').toUpperCase();
  if (!METHODS.includes(method)) throw new InvalidFieldError(`the method of a call must be one of ${METHODS.join(', ')}`);
  if (body.byteLength > LIMITS.maxCallBodyBytes)
    throw new InvalidFieldError(
      `the body of a call has ${body.byteLength} bytes, over the limit of ${LIMITS.maxCallBodyBytes} (maxCallBodyBytes)`,
    );
  const { stepId, name } = stepHead({
    stepId: Number(headerText(headers, `${CALLBACK_PREFIX}stepid`)),
    stepName: headerText(headers, `${CALLBACK_PREFIX}stepname`),
    stepType: 'Call',
  });
  const forwardHeaders = families[FORWARD];
  const contentType = headerText(headers, 'content-type');
  const call = {
    url: urlOf(destination),
    method,
    headers:
      body.byteLength > 0 && contentType !== undefined && forwardHeaders['content-type'] === undefined
        ? { ...forwardHeaders, 'content-type': contentType }
        : forwardHeaders,
    ...(body.byteLength > 0 ? { body: encodeBody(body) } : {}),
    ...deliveryOf(values),
  };
  return {
    workflowRunId: requireRunId(headerText(headers, 'upstash-callback-workflow-runid')),
    step: { stepId, name, type: 'Call', call },
  };
}

/** Reads an invoke step. The headers configure the invoked run; the body identifies the step that waits for it. */
export function readInvoke({ destination, headers, body }: BatchItem): OwnedStep {
  const { values, families } = readKnownHeaders(InvokeHeaders, [FAILURE_CALLBACK_FORWARD, FORWARD], headers);
  const request = jsonFields(body);
  const { stepId, name } = stepHead(readFields(request.step, 'step'));
  const workflowRunId = requireRunId(request.workflowRunId);
  const contentType = headerText(headers, 'content-type');
  const callbackUrl = values['Failure-Callback'];
  const { 'Workflow-RunId': invokedRunId, Label: labels } = values;
  const problem = runIdProblem(invokedRunId ?? '');
  if (problem !== null) throw new InvalidFieldError(`the id of the invoked run ${problem}`);
  if (request.body !== undefined && typeof request.body !== 'string') throw new InvalidFieldError('body must be a string');
  // The invoked run would speak the protocol of its invoker, which workers do not.
  if (destination.startsWith(WORKER_SCHEME))
    throw new InvalidFieldError(
      `${quoteValue(destination)} is served by workers, so @upstash/workflow cannot invoke it; trigger it in a step, with a client of @everstep/sdk`,
    );
  const invoke = {
    workflowUrl: urlOf(destination),
    headers: families[FORWARD],
    ...(request.body === undefined ? {} : { body: { encoding: 'utf8' as const, data: request.body } }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(invokedRunId === undefined ? {} : { workflowRunId: invokedRunId }),
    ...(labels === undefined ? {} : { labels }),
    ...(callbackUrl === undefined ? {} : { failureCallback: { url: callbackUrl, headers: families[FAILURE_CALLBACK_FORWARD] } }),
    ...deliveryOf(values),
  };
  const createdAt = request.workflowRunCreatedAt;
  return {
    workflowRunId,
    ...(typeof createdAt === 'number' && Number.isSafeInteger(createdAt) ? { workflowCreatedAt: createdAt } : {}),
    step: { stepId, name, type: 'Invoke', invoke },
  };
}

/** Reads a wait step. `runIdHeader` is the value of the request header with the id of the run. */
export function readWait(eventId: string, body: Uint8Array, runIdHeader: string | undefined): OwnedStep {
  const request = jsonFields(body);
  const { stepId, name, type } = stepHead(readFields(request.step, 'step'));
  if (type !== 'Wait' && type !== 'WaitForWebhook') throw new InvalidFieldError('step.stepType must be Wait or WaitForWebhook');
  const timeoutMs =
    request.timeout === undefined ? LIMITS.defaultWaitMs : durationMs(request.timeout, 'timeout', LIMITS.maxWaitMs);
  return { workflowRunId: requireRunId(runIdHeader), step: { stepId, name, type, eventIds: [eventId], timeoutMs } };
}
