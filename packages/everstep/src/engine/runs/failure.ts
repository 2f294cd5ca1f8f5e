/** Consequences of a failed attempt: a later attempt, or the dead letter queue. */
import { truncateText } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import { retryDelayMs } from '../schedules/retry-delay.js';
import type { Draft } from './decision.js';
import { toStoredExchange } from './exchanges.js';
import type { AttemptedTask, DeliveryFailure, FailedAttempt, Task } from './run.js';

type AttemptTask = Extract<Task, { kind: 'advance' | 'step' | 'message' }>;

const TASK_SUBJECTS = { advance: 'the workflow', message: 'the message' } as const;

/** Number of retries and the delay between them. */
export interface RetryRule {
  readonly maxRetries: number;
  /** Source of the retry delay expression, or null for the default backoff. */
  readonly retryDelay: string | null;
}

/**
 * Returns the delay before the next attempt in ms, or null if there is none. `retried` is the number of failed
 * attempts before this one.
 */
export function nextDelayMs(rule: RetryRule, retried: number, failure: DeliveryFailure): number | null {
  if (failure.retry.kind === 'never' || retried >= rule.maxRetries) return null;
  if (failure.retry.kind === 'after') return Math.min(LIMITS.maxRetryDelayMs, Math.max(0, failure.retry.delayMs));
  return retryDelayMs(rule.retryDelay, retried);
}

/** Returns a failed attempt in the form that the log stores. `delayMs` is null if it was the last attempt. */
export function attemptOf(task: AttemptedTask, failure: DeliveryFailure, now: number, delayMs: number | null): FailedAttempt {
  return {
    slot: task.slot,
    name: 'name' in task ? task.name : null,
    messageId: task.messageId,
    retried: task.retried,
    at: now,
    cause: failure.cause,
    message: truncateText(failure.message, LIMITS.maxKeptErrorLength),
    status: failure.status,
    retryAt: delayMs === null ? null : now + delayMs,
    ...(failure.thrown ? { thrown: failure.thrown } : {}),
    ...(failure.sent ? { exchange: toStoredExchange(failure.sent, failure) } : {}),
  };
}

function describeFailure(task: AttemptTask, failure: DeliveryFailure): string {
  const subject = task.kind === 'step' ? `step "${task.name}" (${task.slot})` : TASK_SUBJECTS[task.kind];
  const attempts = task.retried + 1;
  const outcome =
    failure.retry.kind === 'never' ? 'failed and is not retried' : `failed after ${attempts} attempt${attempts === 1 ? '' : 's'}`;
  return truncateText(`${subject} ${outcome}: ${failure.message}`, LIMITS.maxKeptErrorLength);
}

/** Applies a failed attempt of `task`, which must be the task in its slot. */
export function failAttempt(draft: Draft, task: AttemptTask, failure: DeliveryFailure): void {
  const delayMs = nextDelayMs(draft.settings, task.retried, failure);
  draft.recordAttempt(attemptOf(task, failure, draft.now, delayMs));
  if (delayMs === null) {
    // The failed task stays open (parked), so that a resume knows where to continue.
    draft.putTask(task);
    draft.fail(describeFailure(task, failure), failure, task.kind === 'step' ? task.name : null);
  } else draft.putTask({ ...task, retried: task.retried + 1, dueAt: draft.now + delayMs });
}
