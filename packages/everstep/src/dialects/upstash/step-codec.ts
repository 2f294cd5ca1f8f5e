/**
 * The step protocol of `@upstash/workflow` over HTTP. The request carries the journal. The response only reports
 * success or failure: the endpoint submits outcomes in separate requests while it handles the delivery.
 */
import { NON_RETRYABLE_STATUS } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { detailsOf } from '../../engine/failures/error-details.js';
import type { DeliveryFailure } from '../../engine/runs/run.js';
import type { StepCall, StepOutcome } from '../../ports/step-caller.js';
import { describeBody, type EndpointResponse, endpointFailure, valuesOf } from '../../responses/endpoint-failure.js';
import { errorIn } from '../../responses/reported-error.js';
import { headerOf, retryAdviceOf, truncateBody } from '../../responses/retry-advice.js';
import type { StepCodec, StepEnvelope } from '../dialect.js';
import { cacheForwarded, headerValue, tracePairs } from '../header-text.js';
import { otherSdkProblem } from '../other-sdk.js';
import { firstMessageId, wireJournal } from './journal.js';
import { HEADERS, PREFIX, reserves, STEP_PROTOCOL_VERSION, versionMismatch } from './wire.js';

const NEVER = { kind: 'never' } as const;
const NO_BODY = new Uint8Array(0);

const forwardedOf = cacheForwarded({ reserves });

/** The SDK searches a fetched journal for this id and ignores the entries after it. */
function messageIdOf({ request, recordedSteps }: StepCall): string {
  if (request.target !== null) return request.messageId;
  return recordedSteps.at(-1)?.messageId ?? firstMessageId(request.run.key);
}

/** Returns the size of results and payload in Base64, without the surrounding JSON. */
function minBytes({ payload, recordedSteps }: StepCall): number {
  const bytes = recordedSteps.reduce((sum, { out }) => sum + (out?.length ?? 0), payload?.body.byteLength ?? 0);
  return (bytes * 4) / 3;
}

/** Returns an empty body if the journal is long: the endpoint then fetches it. */
function body(call: StepCall): Uint8Array {
  const { request, recordedSteps, payload, instanceId, openSteps } = call;
  if (payload === undefined) throw new Error(`a delivery of run ${request.run.key} has no payload`);
  if (minBytes(call) > LIMITS.maxDeliveredJournalBytes) return NO_BODY;
  const target = openSteps.find(({ slot }) => slot === request.target);
  const entries = wireJournal({
    runKey: request.run.key,
    workflowRunId: request.run.id,
    instanceId,
    payload,
    recordedSteps,
    openSteps: target ? [target] : [],
  });
  const bytes = Buffer.from(JSON.stringify(entries));
  return bytes.byteLength > LIMITS.maxDeliveredJournalBytes ? NO_BODY : bytes;
}

function headers(call: StepCall, { url, userAgent, signatures, region }: StepEnvelope): string[] {
  const { run, retried } = call.request;
  const serviceHeaders: readonly (readonly [name: string, value: string])[] = [
    call.hasIntroducedItself ? [HEADERS.protocol, STEP_PROTOCOL_VERSION] : [HEADERS.unknownSdk, 'true'],
    [HEADERS.runId, headerValue(run.id)],
    [HEADERS.createdAt, String(run.createdAt)],
    [HEADERS.url, url],
    [HEADERS.messageId, headerValue(messageIdOf(call))],
    [HEADERS.retried, String(retried)],
    ...Object.entries(signatures),
    ...(run.labels.length > 0 ? [[HEADERS.label, headerValue(run.labels.join(','))] as const] : []),
    ...(region === null ? [] : [[HEADERS.region, region] as const]),
  ];
  return [
    ...forwardedOf(call.forwardHeaders),
    'content-type',
    'application/json',
    'accept-encoding',
    'identity',
    'user-agent',
    userAgent,
    ...tracePairs(call.request.trace, call.forwardHeaders),
    ...serviceHeaders.flatMap(([name, value]) => [PREFIX + name, value]),
  ];
}

/**
 * Returns the body to store for a response that reports an error. If the body is too long, each field is truncated and
 * the result is still JSON, because a failure function reads the error from it.
 */
function storedErrorBody(body: Buffer): Uint8Array {
  const reportedError = body.byteLength > LIMITS.maxKeptResponseBytes ? errorIn(body) : null;
  if (reportedError === null) return truncateBody(body);
  const { name: error, message, stack } = reportedError;
  return Buffer.from(JSON.stringify({ error, message, stack }));
}

/** Describes an error response of the SDK: a step, or the code between steps, failed. */
function workflowFailure(
  response: EndpointResponse,
  { hidesData }: StepCall,
  now: number,
): Omit<DeliveryFailure, 'status' | 'responseHeaders' | 'responseBody'> {
  const { status, headers: responseHeaders } = response;
  const stepName = headerOf(responseHeaders, PREFIX + HEADERS.errorStepName);
  const location = stepName === undefined ? '' : `step "${stepName}": `;
  const reportedError = errorIn(response.body);
  const retry = retryAdviceOf(status, responseHeaders, now);
  const cause = stepName === undefined ? 'workflow' : 'step';
  const thrown = reportedError === null ? undefined : detailsOf(reportedError);
  if (hidesData || reportedError === null) {
    // The location in the code contains no data.
    const { code: _code, ...source } = thrown?.source ?? { file: '', line: 0 };
    return {
      ...(thrown?.source ? { thrown: { source } } : {}),
      cause,
      message: `${location}the workflow returned ${status} (${describeBody(response, hidesData)})`,
      retry,
    };
  }
  return { cause, message: `${location}${reportedError.name}: ${reportedError.message}`, retry, ...(thrown ? { thrown } : {}) };
}

function read(response: EndpointResponse, call: StepCall, now: number): StepOutcome {
  const { status, headers: responseHeaders } = response;
  const { hidesData } = call;
  const envelope = { status, responseHeaders: valuesOf(responseHeaders), responseBody: truncateBody(response.body) };
  const failure = (cause: DeliveryFailure['cause'], message: string, retry: DeliveryFailure['retry']): StepOutcome => ({
    kind: 'failure',
    failure: { cause, message, retry, ...envelope },
  });
  const version = headerOf(responseHeaders, PREFIX + HEADERS.protocol);
  const isSuccess = status >= 200 && status < 300;
  if (version !== undefined && version !== STEP_PROTOCOL_VERSION)
    return failure('refused', versionMismatch('the endpoint', version), NEVER);
  const otherSdk = otherSdkProblem(responseHeaders, 'upstash');
  if (otherSdk !== null) return failure('refused', otherSdk, NEVER);
  if (version !== undefined && isSuccess) return { kind: 'silent', ...envelope };
  if (version !== undefined || status === NON_RETRYABLE_STATUS) {
    const responseBody = storedErrorBody(response.body);
    return { kind: 'failure', failure: { ...workflowFailure(response, call, now), ...envelope, responseBody } };
  }
  if (isSuccess) {
    return failure(
      'not-protocol',
      `the endpoint returned ${status} without the header ${PREFIX}${HEADERS.protocol} (${describeBody(response, hidesData)}). Either this URL is not a workflow endpoint, or its SDK is too old. Serve the workflow with @upstash/workflow 1.x at exactly this URL, and make sure that no proxy responds instead of the app`,
      NEVER,
    );
  }
  const { message, retry } = endpointFailure(response, { hidesData, now });
  return failure('http', message, retry);
}

export const upstashStepCodec: StepCodec = {
  body,
  headers,
  isReply: (responseHeaders) => headerOf(responseHeaders, PREFIX + HEADERS.protocol) !== undefined,
  read,
};
