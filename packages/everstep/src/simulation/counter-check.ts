/** Compares the counters of insights with the runs of a simulation. */
import assert from 'node:assert/strict';
import { addCounts, HOUR_MS, noCounts, startOfHour } from '../engine/insights/counts.js';
import type { RunRecord, Store } from '../ports/stores/store.js';

/** Rejects if the counters of workflow runs do not match `runs`, which are all runs since `from` (Unix ms). */
export async function checkCounters(
  { insights }: Pick<Store, 'insights'>,
  instanceId: string,
  runs: readonly RunRecord[],
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const timeRange = { from: startOfHour(from), to: startOfHour(to) + HOUR_MS };
  const totals = noCounts();
  for (const { counts } of await insights.series({ instanceId, subject: 'runs', period: 'hour', ...timeRange }))
    addCounts(totals, counts);
  const countOf = (expectedStatus: RunRecord['status']) => runs.filter(({ status }) => status === expectedStatus).length;
  assert.deepEqual(
    { started: totals.started, succeeded: totals.succeeded, failed: totals.failed, canceled: totals.canceled },
    { started: runs.length, succeeded: countOf('succeeded'), failed: countOf('failed'), canceled: countOf('canceled') },
    'the counters are those of the runs',
  );
}
