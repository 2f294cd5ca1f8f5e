/** How long a journal may get: what is beyond it could not be sent to the endpoint any more. */
import { LIMITS } from '../config/limits.js';
import type { Draft } from './decision.js';
import { failAttempt } from './failure.js';
import { ADVANCE_SLOT } from './run.js';

/** What is wrong with the journal as it is now; null when nothing is. */
export function journalProblem({ journalLength, journalBytes }: Draft): string | null {
  if (journalLength > LIMITS.maxJournalSteps) return `its journal has more than ${LIMITS.maxJournalSteps} steps`;
  if (journalBytes > LIMITS.maxJournalBytes) return `its results are over ${LIMITS.maxJournalBytes} bytes in all`;
  return null;
}

/** After a step of the service was recorded, for which nobody can be told that it broke the protocol: the run fails. */
export function keepJournalLimits(draft: Draft): void {
  const message = journalProblem(draft);
  const advance = draft.task(ADVANCE_SLOT);
  // It is there: the code has yet to see what was recorded.
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
