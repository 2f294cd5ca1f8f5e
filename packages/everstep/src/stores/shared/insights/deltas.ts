/**
 * The counters that a commit adds. A commit writes one row for each instance, however many runs it contains; the rows are added
 * to the counters of their minute and hour later, and a read includes rows that are not added yet. A commit therefore never
 * waits for another one, and touches one page.
 * Keeps invariant 19.
 */
import {
  addInsightCounts,
  type InsightCounts,
  noCounts,
  type RunCounts,
  startOfMinute,
} from '../../../engine/insights/counts.js';
import { type StoredCounts, storedCounts } from '../../../engine/insights/stored-counts.js';

/** Number of rows of an instance after which they are added to its counters. */
export const FOLD_AFTER = 200;

/** The counts that a batch adds to one instance. `counts` is JSON of `StoredCounts`. */
export interface InsightDelta {
  readonly instanceId: string;
  readonly counts: string;
}

interface Sum {
  readonly minute: number;
  readonly workflow: string | null;
  readonly counts: RunCounts;
}

/** Sums the counts of one batch. */
export class InsightSums {
  private readonly instances = new Map<string, Sum[]>();

  add(write: InsightCounts): void {
    const minute = startOfMinute(write.at);
    let sums = this.instances.get(write.instanceId);
    if (!sums) {
      sums = [];
      this.instances.set(write.instanceId, sums);
    }
    // A batch has few workflows and minutes.
    let sum = sums.find((candidate) => candidate.minute === minute && candidate.workflow === write.workflow);
    if (!sum) {
      sum = { minute, workflow: write.workflow, counts: noCounts() };
      sums.push(sum);
    }
    addInsightCounts(sum.counts, write);
  }

  /** Returns the sums and starts again at zero. */
  take(): readonly InsightDelta[] {
    if (this.instances.size === 0) return [];
    const deltas = [...this.instances].map(([instanceId, sums]) => ({
      instanceId,
      counts: JSON.stringify(sums.map(({ minute, workflow, counts }) => storedCounts(minute, workflow, counts))),
    }));
    this.instances.clear();
    return deltas;
  }
}

/** Reads the counters of a delta, which `take` wrote. */
export const countsOfDelta = (text: string): readonly StoredCounts[] => JSON.parse(text) as readonly StoredCounts[];

/** Counts the rows of each instance since they were last added to its counters. */
export class FoldTurns {
  private readonly rows = new Map<string, number>();

  /** Returns the instances whose rows should be added now. */
  dueAfter(deltas: readonly InsightDelta[]): readonly string[] {
    const dueInstanceIds: string[] = [];
    for (const { instanceId } of deltas) {
      const rows = (this.rows.get(instanceId) ?? 0) + 1;
      if (rows < FOLD_AFTER) this.rows.set(instanceId, rows);
      else {
        this.rows.delete(instanceId);
        dueInstanceIds.push(instanceId);
      }
    }
    return dueInstanceIds;
  }
}
