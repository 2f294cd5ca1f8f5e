/** Builds journals of runs: a short journal in one piece, a long one while it is sent. */
import { LIMITS, PART_LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { RunJournal } from '../../../contract/runs.js';
import { CALLBACK_SLOT } from '../../../engine/runs/run.js';
import { omittedResultBytes, readAttempts, readSteps, readTasks } from '../../../ports/stores/history-parts.js';
import type { RunHistory, RunRecord } from '../../../ports/stores/store.js';
import type { RunService } from '../../../runtime/services/workflow-service.js';
import type { RequestContext } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import {
  isRunAttempt,
  journalLists,
  presentAttempt,
  presentJournal,
  presentJournalStep,
  presentTask,
} from '../../presenters/run.js';
import { invokedByStep } from '../../presenters/step-fields.js';
import type { RunReads } from '../../read-models/reads.js';
import { historyBytes, isCompleteHistory, requireFullResult } from '../../read-models/run-histories.js';
import { waitOf } from '../../read-models/waits.js';
import { StreamedList, streamedResponse } from '../../responses/streamed-json.js';

/** Sources of a journal. */
export interface JournalDeps {
  readonly store: RunReads;
  readonly service: Pick<RunService, 'waits'>;
}

async function* mapParts<Item, PresentedItem>(
  parts: AsyncIterable<readonly Item[]>,
  present: (items: readonly Item[]) => readonly PresentedItem[],
): AsyncGenerator<readonly PresentedItem[]> {
  for await (const part of parts) yield present(part);
}

/** Streams a long journal. Each part is read while the previous part is sent. */
async function streamJournal(
  { store, service }: JournalDeps,
  history: RunHistory,
  payloadBytes: number,
  reserve: RequestContext['reserve'],
) {
  const { run, journalLength, invoked } = history;
  const runKey = run.key;
  const { longestOutBytes } = await store.journalSize({ runKey });
  await reserve(2 * Math.max(LIMITS.partBytes, longestOutBytes, payloadBytes + omittedResultBytes(run)));
  const { redact } = run.settings;
  const invokedRuns = invokedByStep(invoked);
  const lists = {
    steps: new StreamedList(
      mapParts(readSteps(store, { runKey, bounds: PART_LIMITS, below: journalLength }), (steps) =>
        steps.map((step) => presentJournalStep(step, redact, invokedRuns)),
      ),
    ),
    tasks: new StreamedList(
      mapParts(readTasks(store, { runKey, bounds: PART_LIMITS }), (tasks) => tasks.map((task) => presentTask(task, redact))),
    ),
    attempts: new StreamedList(
      mapParts(readAttempts(store, { runKey, bounds: PART_LIMITS }), (attempts) =>
        attempts.filter(isRunAttempt).map(presentAttempt),
      ),
    ),
  };
  // The failure callback has few attempts, so they are read at once.
  const { items: attempts } = await store.listAttempts({ runKey, bounds: PART_LIMITS, from: null, slot: CALLBACK_SLOT });
  const fullHistory = { ...history, attempts, run: await requireFullResult(store, run) };
  return streamedResponse<RunJournal>(
    presentJournal(fullHistory, await store.loadPayload({ runKey }), lists, await waitOf(service, history)),
  );
}

/** Returns the journal of a run. A long journal is read while it is sent. Throws ApiError if the run was removed. */
export async function journalOf(
  deps: JournalDeps,
  { key: runKey, workflowRunId }: RunRecord,
  { reserve }: Pick<RequestContext, 'reserve'>,
): Promise<RunJournal> {
  const { store, service } = deps;
  const history = await store.runHistory({ runKey, bounds: PART_LIMITS, maxOutBytes: LIMITS.partBytes });
  if (!history) throw new ApiError('not-found', `run ${quoteValue(workflowRunId)} was removed`);
  const payloadBytes = (await store.payloadHead({ runKey }))?.bodyBytes ?? 0;
  if (!isCompleteHistory(history) || payloadBytes > LIMITS.partBytes) return streamJournal(deps, history, payloadBytes, reserve);
  await reserve(historyBytes(history) + payloadBytes);
  const payload = await store.loadPayload({ runKey });
  const fullHistory = { ...history, run: await requireFullResult(store, history.run) };
  return presentJournal(fullHistory, payload, journalLists(history), await waitOf(service, history));
}
