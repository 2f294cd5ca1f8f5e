/** Converts messages, dead letters and message events to responses of this dialect. */
import type { FailureCallback, FlowControl, MessageSettings, RunPayload, RunSettings } from '../../../engine/runs/run.js';
import type { DeadLetterRecord, FullDeadLetter } from '../../../ports/stores/store.js';
import type { MessageEvent, MessageRecord } from '../../../runtime/services/workflow-service.js';
import { presentBytes, presentDeadLetter, sentHeaders } from '../../presenters/dead-letter.js';
import { presentFailureFunction } from '../../presenters/failure-function.js';
import { optional } from '../../presenters/optional.js';
import { redactBody, redactHeaders } from '../../presenters/redaction.js';
import type { CallbackHistory } from '../../read-models/dead-letter-pages.js';
import type { DlqMessage, LogEntry, MessageEntry } from '../shapes.js';

export const presentLimits = (flowControl: FlowControl | null) => ({
  ...optional('flowControlKey', flowControl?.key),
  ...optional('parallelism', flowControl?.parallelism),
  ...optional('rate', flowControl?.rate),
  ...optional('period', flowControl?.periodMs === undefined ? null : flowControl.periodMs / 1000),
});

export const presentLabels = (labels: readonly string[]) => ({
  ...optional('label', labels[0]),
  ...optional('labels', labels.length > 0 ? [...labels] : null),
});

const presentOrigin = (message: MessageSettings | undefined) => ({
  ...optional('topicName', message?.urlGroup),
  ...optional('endpointName', message?.endpointName),
  ...optional('queueName', message?.queue),
  ...optional('scheduleId', message?.scheduleId),
});

const presentSettings = (settings: RunSettings) => ({
  maxRetries: settings.maxRetries,
  ...optional('retryDelayExpression', settings.retryDelay),
  timeout: settings.deliveryTimeoutMs,
  ...optional('callback', settings.message?.callback?.url),
  ...optional('failureCallback', settings.failureCallback?.url),
  ...presentLabels(settings.labels),
});

const callerFields = ({ callerIp }: { readonly callerIp: string }) => ({ callerIP: callerIp, callerIp });

export function presentMessage({ run, retried, nextAttemptAt }: MessageRecord, payload: RunPayload): MessageEntry {
  const { settings } = run;
  const { redact, message } = settings;
  return {
    messageId: run.workflowRunId,
    url: run.workflowUrl,
    ...presentOrigin(message),
    method: message.method,
    header: sentHeaders(payload, redact),
    ...presentBytes('body', 'bodyBase64', redactBody(payload.body, redact)),
    ...presentSettings(settings),
    notBefore: message.notBefore ?? run.createdAt,
    createdAt: run.createdAt,
    ...callerFields(run),
    ...presentLimits(settings.flowControl),
    retried,
    ...optional('nextDeliveryTime', nextAttemptAt),
  };
}

/**
 * Returns the fields specific to a failed run. `messageId` is the run id, because runs have no other permanent
 * message id.
 */
const presentRunFields = ({ run, failureFunctionState, responseStatus }: DeadLetterRecord) =>
  run.settings.message
    ? {}
    : {
        workflowRunId: run.workflowRunId,
        workflowCreatedAt: run.createdAt,
        workflowUrl: run.workflowUrl,
        ...optional('failureFunctionState', failureFunctionState),
        // The workflow client requires these fields.
        ...(responseStatus === null ? { responseStatus: 0, responseHeader: {}, responseBody: '' } : {}),
      };

/** Presents a dead letter. `history` is set for a run if the response to its failure callback is shown. */
export function presentDlqMessage(entry: FullDeadLetter, history: CallbackHistory | null = null): DlqMessage {
  const { run } = entry;
  const { settings } = run;
  const { message } = settings;
  const { header, body, bodyBase64, responseStatus, responseHeader, responseBody, responseBodyBase64 } = presentDeadLetter(
    entry,
    undefined,
  );
  const state = entry.failureFunctionState;
  const failureFunction = history && presentFailureFunction(history, state);
  return {
    dlqId: entry.dlqId,
    messageId: run.workflowRunId,
    url: run.workflowUrl,
    ...presentOrigin(message),
    method: message?.method ?? 'POST',
    header,
    ...optional('body', body),
    ...optional('bodyBase64', bodyBase64),
    ...presentSettings(settings),
    notBefore: message?.notBefore ?? run.createdAt,
    createdAt: run.createdAt,
    ...callerFields(run),
    ...presentLimits(settings.flowControl),
    ...optional('responseStatus', responseStatus),
    ...optional('responseHeader', responseHeader),
    ...optional('responseBody', responseBody),
    ...optional('responseBodyBase64', responseBodyBase64),
    error: entry.error,
    failedAt: entry.createdAt,
    ...presentRunFields(entry),
    ...optional('failureCallbackInfo', state && { state, ...optional('responseStatus', failureFunction?.responseStatus) }),
  };
}

function presentCallbackHeaders(callback: FailureCallback | null | undefined, { redact }: RunSettings) {
  if (!callback || Object.keys(callback.headers).length === 0) return null;
  return redactHeaders(Object.fromEntries(Object.entries(callback.headers).map(([name, value]) => [name, [value]])), redact);
}

export function presentEvent({ at, state, run, nextDeliveryAt, error, responseStatus }: MessageEvent): LogEntry {
  const { settings } = run;
  const { message } = settings;
  return {
    time: at,
    state,
    messageId: run.workflowRunId,
    createdAt: run.createdAt,
    url: run.workflowUrl,
    ...presentOrigin(message),
    method: message.method,
    ...optional('nextDeliveryTime', nextDeliveryAt),
    ...optional('error', error),
    ...optional('responseStatus', responseStatus),
    ...presentSettings(settings),
    ...optional('callbackHeaders', presentCallbackHeaders(message.callback, settings)),
    ...optional('failureCallbackHeaders', presentCallbackHeaders(settings.failureCallback, settings)),
    callerIP: run.callerIp,
    ...optional('flowControlKey', settings.flowControl?.key),
  };
}
