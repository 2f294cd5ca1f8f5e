/** Reads runs for a comparison. Results are read in parts, in the order in which they are needed. */
import { LIMITS, PART_LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { NO_LENGTH_LIMIT, omittedResultBytes, readSteps, yieldToOthers } from '../../ports/stores/history-parts.js';
import type { HistoryStore, ListedStep, RunRecord } from '../../ports/stores/store.js';
import { quoteValue } from '../parameters/value-errors.js';
import type { ComparedRun } from '../presenters/comparison.js';
import type { RunReads } from './reads.js';
import { requireFullResult } from './run-histories.js';

/** Maximum memory for the steps of one of the two runs of a comparison. */
const MAX_STEP_BYTES = LIMITS.maxPageBytes / 2;

/** Reads the results of steps. Caches the last part that was read, because it usually contains the next results. */
class ResultReader {
  private readonly store: HistoryStore;
  private readonly runKey: string;
  private part = new Map<number, ListedStep>();

  constructor(store: HistoryStore, runKey: string) {
    this.store = store;
    this.runKey = runKey;
  }

  async resultOf({ index }: ListedStep): Promise<string | null> {
    if (!this.part.has(index)) {
      const from = String(index);
      const { items } = await this.store.listSteps({
        runKey: this.runKey,
        from,
        bounds: PART_LIMITS,
        maxOutBytes: NO_LENGTH_LIMIT,
      });
      this.part = new Map(items.map((step) => [step.index, step]));
      await yieldToOthers();
    }
    return this.part.get(index)?.out ?? null;
  }
}

/** Reads a run for a comparison. `isWhole` is false if the run has more steps than are compared. */
export async function readComparedRun(
  store: RunReads,
  { key: runKey, workflowRunId }: RunRecord,
): Promise<{ readonly comparedRun: ComparedRun; readonly isWhole: boolean }> {
  const run = await store.findRun({ runKey });
  const payload = run && (await store.loadPayload({ runKey }));
  if (!run || !payload) throw new ApiError('not-found', `run ${quoteValue(workflowRunId)} was removed`);
  const steps: ListedStep[] = [];
  let bytes = 0;
  let isWhole = true;
  for await (const part of readSteps(store, { runKey, bounds: PART_LIMITS, maxOutBytes: 0 })) {
    steps.push(...part);
    bytes += part.reduce((sum, { name }) => sum + name.length + LIMITS.assumedRowBytes, 0);
    isWhole = bytes < MAX_STEP_BYTES;
    if (!isWhole) break;
  }
  const results = new ResultReader(store, runKey);
  return {
    comparedRun: { run: await requireFullResult(store, run), steps, payload, outOf: (step) => results.resultOf(step) },
    isWhole,
  };
}

/** Returns the number of bytes of a run that a comparison reads at a time. */
export async function comparisonBytes(store: RunReads, run: RunRecord): Promise<number> {
  const runKey = run.key;
  const { longestOutBytes } = await store.journalSize({ runKey });
  return longestOutBytes + omittedResultBytes(run) + ((await store.payloadHead({ runKey }))?.bodyBytes ?? 0);
}
