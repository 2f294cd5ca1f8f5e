/** Combines pages of a journal. Later requests fetch only what was added. */
import type { RunJournal } from '../../../../../everstep/src/contract/runs.js';
import type { Failure, Outcome } from '../../../api/outcome.js';

/** Maximum number of steps in one response. */
export const JOURNAL_PAGE_STEPS = 1_000;

/** Returns the journal so far with the next page. The page contains everything except the earlier steps, attempts and the input. */
export function appendPage(journal: RunJournal, page: RunJournal): RunJournal {
  return {
    ...page,
    ...(journal.input === undefined ? {} : { input: journal.input }),
    steps: journal.steps.concat(page.steps),
    attempts: journal.attempts.concat(page.attempts),
  };
}

/** Returns whether the run no longer changes. */
export const isEnded = (journal: RunJournal): boolean =>
  journal.workflowState !== 'RUN_STARTED' && journal.failureFunctionInfo?.state !== 'CALLBACK_INPROGRESS';

/** Returns whether the cursor belongs to an earlier journal, whose run was removed or replaced by a run with the same id. */
const isOutdated = ({ code }: Failure): boolean => code === 'bad-cursor';

/**
 * Reads the rest of a journal, at least one page and at most until it has `maxSteps` steps.
 * @param loaded journal that was loaded before; null for a new journal
 * @param readPage requests the page of a cursor; undefined for the first page
 */
export async function readJournal(
  loaded: RunJournal | null,
  maxSteps: number,
  readPage: (cursor: string | undefined) => Promise<Outcome<RunJournal>>,
): Promise<Outcome<RunJournal>> {
  let journal = loaded;
  for (;;) {
    const outcome = await readPage(journal?.cursor);
    if (!outcome.ok) {
      if (journal === null || !isOutdated(outcome.failure)) return outcome;
      journal = null;
      continue;
    }
    journal = journal === null ? outcome.value : appendPage(journal, outcome.value);
    if (journal.complete !== false || journal.steps.length >= maxSteps) return { ok: true, value: journal };
  }
}
