/**
 * Plain messages: runs without code, whose one task is a request. A success
 * ends the run; a failure is tried again, and in the end is a dead letter. Who
 * wants to be told of answers is told by a message of its own, which is made
 * in the unit that takes the answer: so once for each of them.
 */
import { LIMITS } from '../config/limits.js';
import type { Draft } from './decision.js';
import { failAttempt } from './failure.js';
import type { DeliveryFailure, FailureCallback, Run, RunPayload, RunSettings, Task } from './run.js';
import { startRun } from './start.js';

type MessageTask = Extract<Task, { kind: 'message' }>;

/** `failure` null: it was taken. `notice`: what the callback is told, as JSON; null when there is none, or nothing was answered. */
export function takeMessageAnswer(
  draft: Draft,
  task: MessageTask,
  failure: DeliveryFailure | null,
  notice: Uint8Array | null,
): void {
  const callback = draft.settings.message?.callback;
  if (callback && notice) beginCallback(draft, callback, notice);
  if (failure) failAttempt(draft, task, failure);
  else draft.end({ status: 'succeeded', result: null });
}

function beginCallback(draft: Draft, callback: FailureCallback, notice: Uint8Array): void {
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
  draft.begin({ run, payload }, unit.writes);
}

function callbackSettings({ settings, workflowRunId }: Run, callback: FailureCallback): RunSettings {
  return {
    maxRetries: callback.maxRetries ?? LIMITS.defaultRetries,
    retryDelay: callback.retryDelay ?? null,
    deliveryTimeoutMs: callback.timeoutMs ?? LIMITS.defaultDeliveryTimeoutMs,
    labels: [],
    flowControl: null,
    failureCallback: null,
    // Its body tells all of the message, what must not be shown too, and in base64, where no field is found.
    ...(settings.redact ? { redact: { ...settings.redact, body: true } } : {}),
    message: { method: callback.method ?? 'POST', callbackOf: workflowRunId },
  };
}
