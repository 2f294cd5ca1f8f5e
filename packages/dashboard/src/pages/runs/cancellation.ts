/** Outcome of the cancellation of one run. */
import type { Outcome } from '../../api/outcome.js';

/** Response of the operation that cancels several runs. */
export interface CanceledRuns {
  /** Number of runs that the request canceled. */
  readonly cancelled: number;
}

/** Returns a failure if the run was not canceled. The operation for several runs succeeds if none of them is active. */
export function cancellationOutcome(outcome: Outcome<CanceledRuns>): Outcome<null> {
  if (!outcome.ok) return outcome;
  if (outcome.value.cancelled > 0) return { ok: true, value: null };
  const text = 'The run has already ended and cannot be canceled.';
  return { ok: false, failure: { code: 'run-not-active', status: 409, text, retryAfterMs: null } };
}
