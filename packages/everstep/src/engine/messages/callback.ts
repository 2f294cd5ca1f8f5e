/**
 * Reports a failed run to its failure callback or failure function. The message is a task in its own slot of a run
 * that has ended. Its units are guarded by that task, because a resume, restart or delete of the dead letter removes
 * it.
 */

import type { DecisionContext } from '../ids.js';
import { countMessages } from '../limits/metering.js';
import { callbackTask } from '../runs/decision.js';
import { attemptOf, nextDelayMs, type RetryRule } from '../runs/failure.js';
import { CALLBACK_SLOT, type DeliveryFailure, type Run, type Task } from '../runs/run.js';
import type { CommitUnit, StoreGuard } from '../writes.js';

/** The pending task that reports a failed run. */
export type CallbackTask = Extract<Task, { kind: 'callback' }>;

/** A decision on a callback task. */
export interface CallbackDecision {
  readonly unit: CommitUnit;
  /** The next attempt; null if there is none. */
  readonly next: CallbackTask | null;
}

const guardOf = (run: Run, { messageId }: CallbackTask) =>
  ({ kind: 'task-open', runKey: run.key, slot: CALLBACK_SLOT, messageId }) satisfies StoreGuard;

/** Returns the retry rule of the callback message: its own settings, with those of the run as defaults. */
export function callbackRetryRule({ failureCallback, maxRetries, retryDelay }: Run['settings']): RetryRule {
  return {
    maxRetries: failureCallback?.maxRetries ?? maxRetries,
    retryDelay: failureCallback?.retryDelay ?? retryDelay,
  };
}

/**
 * Decides the consequences of an attempt of the message. `failure` is null if the message was accepted, and `unwanted` if the
 * endpoint has no failure function, so that nothing is reported.
 */
export function decideCallback(
  run: Run,
  task: CallbackTask,
  failure: DeliveryFailure | null | 'unwanted',
  context: DecisionContext,
): CallbackDecision {
  const guard = guardOf(run, task);
  const { instanceId, key: runKey } = run;
  const deleteTask = { kind: 'delete-task', runKey, slot: CALLBACK_SLOT } as const;
  const setState = { kind: 'set-failure-function-state', instanceId, dlqId: task.dlqId } as const;
  if (failure === null || failure === 'unwanted') {
    const newState = failure === null ? 'CALLBACK_SUCCESS' : null;
    return { unit: { guards: [guard], writes: [deleteTask, { ...setState, state: newState }] }, next: null };
  }
  // The next attempt has the same message. Without the retries, a repeated commit would record this attempt again.
  const guards = [{ ...guard, retried: task.retried }];
  const delayMs = nextDelayMs(callbackRetryRule(run.settings), task.retried, failure);
  const attempt = { kind: 'record-attempt', runKey, attempt: attemptOf(task, failure, context.now, delayMs) } as const;
  if (delayMs === null)
    return { unit: { guards, writes: [attempt, deleteTask, { ...setState, state: 'CALLBACK_FAIL' }] }, next: null };
  const next: CallbackTask = { ...task, retried: task.retried + 1, dueAt: context.now + delayMs };
  return { unit: { guards, writes: [attempt, { kind: 'put-task', runKey, task: next }] }, next };
}

/** Sends the message again, starting with the first attempt. */
export function retryCallback(
  run: Run,
  dlqId: string,
  context: DecisionContext,
): CallbackDecision & { readonly next: CallbackTask } {
  const { instanceId, key: runKey } = run;
  const next = callbackTask(dlqId, context);
  return {
    next,
    unit: {
      guards: [
        { kind: 'dead-letters-present', instanceId, dlqIds: [dlqId] },
        { kind: 'slot-free', runKey, slot: CALLBACK_SLOT },
      ],
      writes: [
        { kind: 'put-task', runKey, task: next },
        ...countMessages(instanceId, 1, context),
        { kind: 'set-failure-function-state', instanceId, dlqId, state: 'CALLBACK_INPROGRESS' },
      ],
    },
  };
}

/** Cancels the message. A response to an attempt in flight is ignored. */
export function cancelCallback(run: Run, task: CallbackTask): CommitUnit {
  const { instanceId, key: runKey } = run;
  return {
    guards: [guardOf(run, task)],
    writes: [
      { kind: 'delete-task', runKey, slot: CALLBACK_SLOT },
      { kind: 'set-failure-function-state', instanceId, dlqId: task.dlqId, state: 'CALLBACK_CANCELED' },
    ],
  };
}
