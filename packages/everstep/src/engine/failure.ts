/** What a failed attempt leads to: another attempt later, or the dead letter queue. */
import { LIMITS } from '../config/limits.js';
import type { Draft } from './decision.js';
import { keptExchange } from './exchanges.js';
import { retryDelayMs } from './retry-delay.js';
import type { AttemptedTask, DeliveryFailure, FailedAttempt, Task } from './run.js';

type Attempted = Extract<Task, { kind: 'advance' | 'step' | 'message' }>;

const NOT_STEPS = { advance: 'the workflow', message: 'the message' } as const;

/** How often, and after which delay, something is tried again. */
export interface RetryRule {
  readonly maxRetries: number;
  /** Source of the retry delay expression, or null for the default back-off. */
  readonly retryDelay: string | null;
}

/** The delay before the next attempt, ms; null when there is none. `retried`: failed attempts before this one. */
export function nextDelayMs(rule: RetryRule, retried: number, failure: DeliveryFailure): number | null {
  if (failure.retry.kind === 'never' || retried >= rule.maxRetries) return null;
  if (failure.retry.kind === 'after') return Math.min(LIMITS.maxRetryDelayMs, Math.max(0, failure.retry.delayMs));
  return retryDelayMs(rule.retryDelay, retried);
}

/** A failed attempt as the log keeps it. `delayMs` null: it was the last. */
export function attemptOf(task: AttemptedTask, failure: DeliveryFailure, now: number, delayMs: number | null): FailedAttempt {
  return {
    slot: task.slot,
    name: 'name' in task ? task.name : null,
    messageId: task.messageId,
    retried: task.retried,
    at: now,
    cause: failure.cause,
    message: failure.message.slice(0, LIMITS.maxKeptErrorLength),
    status: failure.status,
    retryAt: delayMs === null ? null : now + delayMs,
    ...(failure.sent ? { exchange: keptExchange(failure.sent, failure) } : {}),
  };
}

function inWords(task: Attempted, failure: DeliveryFailure): string {
  const what = task.kind === 'step' ? `step "${task.name}" (${task.slot})` : NOT_STEPS[task.kind];
  const attempts = task.retried + 1;
  const how =
    failure.retry.kind === 'never' ? 'failed and is not retried' : `failed after ${attempts} attempt${attempts === 1 ? '' : 's'}`;
  return `${what} ${how}: ${failure.message}`.slice(0, LIMITS.maxKeptErrorLength);
}

/** Applies a failed attempt of `task`, which must be the one in its slot. */
export function failAttempt(draft: Draft, task: Attempted, failure: DeliveryFailure): void {
  const delayMs = nextDelayMs(draft.settings, task.retried, failure);
  draft.recordAttempt(attemptOf(task, failure, draft.now, delayMs));
  if (delayMs === null) {
    // What failed stays open (parked), so that a resume knows where to go on.
    draft.putTask(task);
    draft.fail(inWords(task, failure), failure, task.kind === 'step' ? task.name : null);
  } else draft.putTask({ ...task, retried: task.retried + 1, dueAt: draft.now + delayMs });
}
