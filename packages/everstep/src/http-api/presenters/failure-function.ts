/** Attempts to tell of a run's failure, as logs and dead letters show them. */
import type { AttemptError, FailureFunctionInfo } from '../../contract/runs.js';
import { CALLBACK_SLOT, type FailedAttempt, type FailureFunctionState, type RunSettings } from '../../engine/run.js';
import type { RunHistory } from '../../ports/store.js';
import { optional } from './optional.js';

export const presentError = (attempt: FailedAttempt): AttemptError => ({
  error: attempt.message,
  ...optional('status', attempt.status),
  time: attempt.at,
  retried: attempt.retried,
});

interface Told {
  readonly run: { readonly workflowUrl: string; readonly settings: RunSettings };
  readonly tasks: RunHistory['tasks'];
  readonly attempts: RunHistory['attempts'];
}

/** Each failed attempt led to a retry, but for the one after which it was given up. */
const retriesOf = (failed: readonly FailedAttempt[]): number => failed.filter(({ retryAt }) => retryAt !== null).length;

/** Null when nobody was told, as far as is known. `state` of the dead letter, null where that is not at hand. */
export function presentFailureFunction(
  { run, tasks, attempts }: Told,
  state: FailureFunctionState | null,
): FailureFunctionInfo | null {
  const failed = attempts.filter(({ slot }) => slot === CALLBACK_SLOT);
  const open = tasks.find(({ kind }) => kind === 'callback');
  if (state === null && !open && failed.length === 0) return null;
  // Told again from the first attempt on, its message is another one.
  const messageId = open?.messageId ?? failed.at(-1)?.messageId;
  return {
    ...optional('state', state ?? (open ? ('CALLBACK_INPROGRESS' as const) : null)),
    url: run.settings.failureCallback?.url ?? run.workflowUrl,
    ...optional('responseStatus', failed.at(-1)?.status),
    retried: retriesOf(failed.filter((attempt) => attempt.messageId === messageId)),
    ...optional('nextAttemptAt', open?.dueAt),
    errors: failed.map(presentError),
  };
}
