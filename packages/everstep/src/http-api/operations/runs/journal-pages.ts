/** Reads a journal in pages, and later only its new entries. */
import { PART_LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { RunJournal } from '../../../contract/runs.js';
import { CALLBACK_SLOT } from '../../../engine/runs/run.js';
import { omittedResultBytes } from '../../../ports/stores/history-parts.js';
import type { Position, RunRecord } from '../../../ports/stores/store.js';
import type { RequestContext } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { journalLists, presentJournal } from '../../presenters/run.js';
import { historyBytes, requireFullResult } from '../../read-models/run-histories.js';
import { waitOf } from '../../read-models/waits.js';
import type { JournalDeps } from './journals.js';

/** Position at which a page of a journal starts. */
export interface JournalPosition {
  /** Index of the first step, in recorded order. */
  readonly step: number;
  /** Position from which failed attempts are read. Null reads them from the first one. */
  readonly attempts: Position | null;
  /** Number of failed attempts from that position that the client already has. */
  readonly knownAttempts: number;
}

const START: JournalPosition = { step: 0, attempts: null, knownAttempts: 0 };

/** Parses the text of a cursor. Cursors are signed, so the text has the form that `positionText` writes. */
export function parseJournalPosition(text: string | null): JournalPosition {
  if (text === null) return START;
  const [step, knownAttempts, attempts] = text.split(' ');
  return { step: Number(step), knownAttempts: Number(knownAttempts), attempts: attempts === '' ? null : (attempts ?? null) };
}

export const positionText = ({ step, attempts, knownAttempts }: JournalPosition): string =>
  `${step} ${knownAttempts} ${attempts ?? ''}`;

export interface JournalPageOptions {
  readonly from: JournalPosition;
  /** Maximum number of steps, of failed attempts and of tasks. */
  readonly count: number;
  /** Maximum length of the result of a step. Longer results are omitted. */
  readonly maxOutBytes: number;
}

/** A page of a journal. `next` is the position of its continuation, even if the journal has no more entries yet. */
export interface JournalPage {
  readonly journal: RunJournal;
  readonly next: JournalPosition;
}

/** Reads a page of the journal of a run. Throws ApiError if the run was removed. */
export async function journalPageOf(
  { store, service }: JournalDeps,
  { key: runKey, workflowRunId }: RunRecord,
  { from, count, maxOutBytes }: JournalPageOptions,
  { reserve }: Pick<RequestContext, 'reserve'>,
): Promise<JournalPage> {
  const query = { runKey, bounds: { maxRows: count, maxBytes: PART_LIMITS.maxBytes }, maxOutBytes, exchanges: true } as const;
  const history = await store.runHistory(query);
  if (!history) throw new ApiError('not-found', `run ${quoteValue(workflowRunId)} was removed`);
  const isFirstPage = from.step === 0 && from.attempts === null && from.knownAttempts === 0;
  const payloadBytes = isFirstPage ? ((await store.payloadHead({ runKey }))?.bodyBytes ?? 0) : 0;
  await reserve(2 * (historyBytes(history) + payloadBytes + omittedResultBytes(history.run)));
  const steps =
    from.step === 0
      ? { items: history.steps, next: history.next.steps }
      : await store.listSteps({ ...query, from: String(from.step), below: history.journalLength });
  const attempts =
    from.attempts === null
      ? { items: history.attempts, next: history.next.attempts }
      : await store.listAttempts({ ...query, from: from.attempts });
  const page = {
    ...history,
    run: await requireFullResult(store, history.run),
    steps: steps.items,
    attempts: attempts.items.slice(from.knownAttempts),
  };
  const callbackAttempts = await store.listAttempts({ runKey, bounds: PART_LIMITS, from: null, slot: CALLBACK_SLOT });
  const journal = presentJournal(
    { ...page, attempts: callbackAttempts.items },
    isFirstPage ? await store.loadPayload({ runKey }) : null,
    journalLists(page),
    await waitOf(service, history),
  );
  return {
    journal: {
      ...journal,
      complete: steps.next === null && attempts.next === null,
      ...(history.next.tasks === null ? {} : { moreTasks: true }),
    },
    next: {
      step: from.step + steps.items.length,
      ...(attempts.next === null
        ? { attempts: from.attempts, knownAttempts: attempts.items.length }
        : { attempts: attempts.next, knownAttempts: 0 }),
    },
  };
}
