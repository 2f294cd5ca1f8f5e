/** Reads a long journal in parts, with the same entries as `wireJournal`. */
import { PART_LIMITS } from '../../../config/limits.js';
import {
  firstEntry,
  type JournalSource,
  openStepEntry,
  planEntryOf,
  stepEntry,
  type WireEntry,
} from '../../../dialects/upstash/journal.js';
import { readSteps, yieldToOthers } from '../../../ports/stores/history-parts.js';
import type { HistoryStore, ListedStep } from '../../../ports/stores/store.js';

/**
 * Yields the steps of the group that starts with `firstStep`. They were planned together and recorded consecutively. Results
 * are not loaded.
 */
async function* groupOf(store: HistoryStore, runKey: string, firstStep: ListedStep): AsyncGenerator<readonly ListedStep[]> {
  let from: string | null = String(firstStep.index);
  while (from !== null) {
    const part = await store.listSteps({ runKey, bounds: PART_LIMITS, maxOutBytes: 0, from });
    const end = part.items.findIndex(({ group }) => group !== firstStep.group);
    yield end === -1 ? part.items : part.items.slice(0, end);
    if (end !== -1) return;
    from = part.next;
    await yieldToOthers();
  }
}

/** Yields the entries of a long journal. `recordedCount` is the number of steps that were recorded when `source` was read. */
export async function* longJournal(
  store: HistoryStore,
  source: Omit<JournalSource, 'recordedSteps'>,
  recordedCount: number,
): AsyncGenerator<readonly WireEntry[]> {
  const { runKey, payload, openSteps } = source;
  yield [firstEntry(runKey, payload)];
  let group: number | null = null;
  for await (const part of readSteps(store, { runKey, bounds: PART_LIMITS, below: recordedCount })) {
    const entries: WireEntry[] = [];
    for (const step of part) {
      if (step.group !== group && step.concurrent > 1)
        for await (const plannedSteps of groupOf(store, runKey, step))
          entries.push(...plannedSteps.filter(({ index }) => index < recordedCount).map(planEntryOf));
      group = step.group;
      entries.push(stepEntry(step, source));
    }
    yield entries;
  }
  yield openSteps.map(openStepEntry);
}
