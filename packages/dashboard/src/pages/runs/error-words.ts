/** Why a run failed where there is one line for it: what went wrong comes before how often it was tried. */

export interface ErrorWords {
  /** The step that failed, or what else did; null where the error tells of none. */
  readonly where: string | null;
  readonly what: string;
}

/** As the service says it: `step "charge" (2) failed after 4 attempts: ...`. Anything else is shown as it is. */
const FAILED = /^(?:step "(.+?)" \(\d+\)|([^:"]+?)) failed (?:and is not retried|after \d+ attempts?): (.+)$/s;

export function errorWords(error: string): ErrorWords {
  const [, step, other, what] = FAILED.exec(error) ?? [];
  return what === undefined ? { where: null, what: error } : { where: step ?? other ?? null, what };
}
