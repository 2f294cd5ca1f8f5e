/** Shortens the error of a failed run to one line, with the message instead of the number of attempts first. */

export interface SplitError {
  /** The step or other part that failed; null if the error does not name one. */
  readonly where: string | null;
  readonly what: string;
}

/** Format of the server's errors: `step "charge" (2) failed after 4 attempts: ...`. Other texts are shown unchanged. */
const FAILED = /^(?:step "(.+?)" \(\d+\)|([^:"]+?)) failed (?:and is not retried|after \d+ attempts?): (.+)$/s;

export function splitError(error: string): SplitError {
  const [, step, other, what] = FAILED.exec(error) ?? [];
  return what === undefined ? { where: null, what: error } : { where: step ?? other ?? null, what };
}
