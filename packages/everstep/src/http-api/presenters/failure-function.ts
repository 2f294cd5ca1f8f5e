/** Presents the failure callback or failure function of a failed run, with its attempts. */
import type { AttemptError, FailureFunctionInfo } from '../../contract/runs.js';
import { CALLBACK_SLOT, type FailedAttempt, type FailureFunctionState, type RunSettings } from '../../engine/runs/run.js';
import type { RunHistory } from '../../ports/stores/store.js';
import { optional } from './optional.js';
import { presentThrown } from './thrown-error.js';

/** Presents the error of a failed attempt. */
export const presentError = (attempt: FailedAttempt): AttemptError => ({
  error: attempt.message,
  ...optional('status', attempt.status),
  time: attempt.at,
  retried: attempt.retried,
  ...optional('thrown', presentThrown(attempt.thrown)),
});

interface CallbackHistory {
  readonly run: { readonly workflowUrl: string; readonly settings: RunSettings };
  readonly tasks: RunHistory['tasks'];
  readonly attempts: RunHistory['attempts'];
}

/** Returns the number of retries. Each failed attempt led to a retry, except an attempt without `retryAt`. */
const countRetries = (failedAttempts: readonly FailedAttempt[]): number =>
  failedAttempts.filter(({ retryAt }) => retryAt !== null).length;

/**
 * Presents the failure callback of a run, or returns null if there was none. `state` is its state in the dead letter, or null if it
 * is not known.
 */
export function presentFailureFunction(
  { run, tasks, attempts }: CallbackHistory,
  state: FailureFunctionState | null,
): FailureFunctionInfo | null {
  const failedAttempts = attempts.filter(({ slot }) => slot === CALLBACK_SLOT);
  const callbackTask = tasks.find(({ kind }) => kind === 'callback');
  if (state === null && !callbackTask && failedAttempts.length === 0) return null;
  // After a manual retry, the callback has another message id.
  const messageId = callbackTask?.messageId ?? failedAttempts.at(-1)?.messageId;
  return {
    ...optional('state', state ?? (callbackTask ? ('CALLBACK_INPROGRESS' as const) : null)),
    url: run.settings.failureCallback?.url ?? run.workflowUrl,
    ...optional('responseStatus', failedAttempts.at(-1)?.status),
    retried: countRetries(failedAttempts.filter((attempt) => attempt.messageId === messageId)),
    ...optional('nextAttemptAt', callbackTask?.dueAt),
    errors: failedAttempts.map(presentError),
  };
}
