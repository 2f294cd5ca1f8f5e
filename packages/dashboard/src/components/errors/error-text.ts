/** Divides the error of a failed run into the part that failed and the message. */
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import type { ShownError } from './shown-error.js';

export interface SplitError {
  /** The step or other part that failed; null if the error does not name one. */
  readonly failedPart: string | null;
  readonly message: string;
}

/** Format of the server's errors: `step "charge" (2) failed after 4 attempts: ...`. Other texts are shown unchanged. */
const FAILURE_PATTERN = /^(?:step "(.+?)" \(\d+\)|([^:"]+?)) failed (?:and is not retried|after \d+ attempts?): (.+)$/s;

export function splitError(error: string): SplitError {
  const [, step, otherPart, message] = FAILURE_PATTERN.exec(error) ?? [];
  return message === undefined ? { failedPart: null, message: error } : { failedPart: step ?? otherPart ?? null, message };
}

export interface RunFailure extends ShownError {
  /** What failed, such as `Step "charge" (2) failed after 4 attempts`; null if the error does not name it. */
  readonly heading: string | null;
}

/**
 * Returns the error of a failed run.
 * @param lastAttempt the attempt after which the run failed; undefined if it is unknown
 */
export function failureOf(error: string, lastAttempt: ShownError | undefined): RunFailure {
  const { message } = splitError(error);
  const heading = error.slice(0, error.length - message.length).replace(/: $/, '');
  return {
    heading: heading === '' ? null : heading.charAt(0).toUpperCase() + heading.slice(1),
    message: lastAttempt?.message ?? message,
    thrown: lastAttempt?.thrown,
  };
}

/** The server cuts long errors, so only the start of the message is compared. */
const COMPARED_LENGTH = 1_000;

/** Returns the attempt after which the run failed; undefined if it is not among those that are loaded. */
export function lastAttemptOf(error: string, attempts: RunJournal['attempts']): ShownError | undefined {
  const lastAttempt = attempts.findLast(
    (attempt) => attempt.retryAt === undefined && error.includes(attempt.error.slice(0, COMPARED_LENGTH)),
  );
  return lastAttempt && { message: lastAttempt.error, thrown: lastAttempt.thrown };
}
