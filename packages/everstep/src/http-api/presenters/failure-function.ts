/** Presents the attempts to report the failure of a run. */
import type { AttemptError, FailureFunctionInfo } from '../../contract/runs.js';
import { CALLBACK_SLOT, type FailedAttempt, type FailureFunctionState, type RunSettings } from '../../engine/runs/run.js';
import type { RunHistory } from '../../ports/stores/store.js';
import { optional } from './optional.js';
import { presentThrown } from './thrown-error.js';

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

/** Counts retries: each failed attempt led to one, except the last attempt. */
const retriesOf = (failed: readonly FailedAttempt[]): number => failed.filter(({ retryAt }) => retryAt !== null).length;

/** Returns null when there was no callback. `state` is the state in the dead letter; null when it is not available. */
export function presentFailureFunction(
  { run, tasks, attempts }: CallbackHistory,
  state: FailureFunctionState | null,
): FailureFunctionInfo | null {
  const failed = attempts.filter(({ slot }) => slot === CALLBACK_SLOT);
  const callbackTask = tasks.find(({ kind }) => kind === 'callback');
  if (state === null && !callbackTask && failed.length === 0) return null;
  // After a manual retry the callback has another message id.
  const messageId = callbackTask?.messageId ?? failed.at(-1)?.messageId;
  return {
    ...optional('state', state ?? (callbackTask ? ('CALLBACK_INPROGRESS' as const) : null)),
    url: run.settings.failureCallback?.url ?? run.workflowUrl,
    ...optional('responseStatus', failed.at(-1)?.status),
    retried: retriesOf(failed.filter((attempt) => attempt.messageId === messageId)),
    ...optional('nextAttemptAt', callbackTask?.dueAt),
    errors: failed.map(presentError),
  };
}
