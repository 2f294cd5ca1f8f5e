/**
 * Plain messages: runs without code, whose only task is a request. A success ends the run. A failure is retried, and
 * finally becomes a dead letter. A callback that reports responses is a separate message. It is created in the unit
 * that records the response, so there is exactly one per response.
 * Keeps invariant 14.
 */
import { LIMITS } from '../../config/limits.js';
import type { Draft } from '../runs/decision.js';
import { failAttempt } from '../runs/failure.js';
import type { DeliveryFailure, FailureCallback, Run, RunPayload, RunSettings, Task } from '../runs/run.js';
import { startRun } from '../runs/start.js';

type MessageTask = Extract<Task, { kind: 'message' }>;

/**
 * Applies the outcome of an attempt. `failure` is null if the message was accepted. `notice` is the JSON body of the callback, or
 * null if there is no callback or no response.
 */
export function applyMessageResponse(
  draft: Draft,
  task: MessageTask,
  failure: DeliveryFailure | null,
  notice: Uint8Array | null,
): void {
  const callback = draft.settings.message?.callback;
  if (callback && notice) createCallback(draft, callback, notice);
  if (failure) failAttempt(draft, task, failure);
  else draft.end({ status: 'succeeded', result: null });
}

function createCallback(draft: Draft, callback: FailureCallback, notice: Uint8Array): void {
  const { instanceId, dialect, callerIp } = draft.state;
  const payload: RunPayload = { body: notice, contentType: 'application/json', forwardHeaders: callback.headers };
  const notBefore = callback.delayMs === undefined ? null : draft.now + callback.delayMs;
  const { run, unit } = startRun(
    {
      instanceId,
      dialect,
      workflowUrl: callback.url,
      payload,
      settings: callbackSettings(draft.state, callback),
      callerIp,
      workflowRunId: null,
      notBefore,
      deduplicationId: null,
    },
    draft.context,
  );
  draft.createRun({ run, payload }, unit.writes);
}

function callbackSettings({ settings, workflowRunId }: Run, callback: FailureCallback): RunSettings {
  return {
    maxRetries: callback.maxRetries ?? LIMITS.defaultRetries,
    retryDelay: callback.retryDelay ?? null,
    deliveryTimeoutMs: callback.timeoutMs ?? LIMITS.defaultDeliveryTimeoutMs,
    labels: [],
    flowControl: null,
    failureCallback: null,
    // The body of the callback contains all details of the message in Base64, including redacted data, and fields in
    // it cannot be redacted individually.
    ...(settings.redact ? { redact: { ...settings.redact, body: true } } : {}),
    ...(settings.trace ? { trace: settings.trace } : {}),
    message: { method: callback.method ?? 'POST', callbackOf: workflowRunId },
  };
}
