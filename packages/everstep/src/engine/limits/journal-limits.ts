/** Limits of a journal. A larger journal could not be sent to the endpoint. */
import { LIMITS } from '../../config/limits.js';
import type { Draft } from '../runs/decision.js';
import { failAttempt } from '../runs/failure.js';
import { ADVANCE_SLOT } from '../runs/run.js';

/** Returns the problem of the journal, or null if it is within the limits. */
export function journalProblem({ journalLength, journalBytes }: Draft): string | null {
  if (journalLength > LIMITS.maxJournalSteps) return `its journal has more than ${LIMITS.maxJournalSteps} steps`;
  if (journalBytes > LIMITS.maxJournalBytes) return `its results exceed ${LIMITS.maxJournalBytes} bytes in total`;
  return null;
}

/**
 * Fails the run if a step that the server recorded itself exceeds the limits. In this case no endpoint violated
 * the protocol.
 */
export function enforceJournalLimits(draft: Draft): void {
  const message = journalProblem(draft);
  const advance = draft.task(ADVANCE_SLOT);
  // The advance exists, because the code has not seen the recorded step yet.
  if (message === null || advance?.kind !== 'advance') return;
  failAttempt(draft, advance, {
    cause: 'refused',
    message,
    status: null,
    responseHeaders: {},
    responseBody: new Uint8Array(0),
    retry: { kind: 'never' },
  });
}
