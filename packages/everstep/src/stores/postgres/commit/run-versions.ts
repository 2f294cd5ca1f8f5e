/**
 * Remembers the versions of runs, for optimistic commits. Nearly every unit is the next decision on a run whose previous decision
 * this process committed, so this process knows the version of the run. A batch with only such units and new runs does not read
 * the runs: it updates each run from its expected version to the version after the batch. If a run has another version, the
 * transaction is rolled back and repeated, and the repetition reads the runs.
 * Keeps invariant 22.
 */
import { type CommitUnit, type StoreGuard, type StoreWrite, writeFacts } from '../../../engine/writes.js';
import type { BatchRun, ExpectedRun, ExpectedRuns } from './known-run.js';
import { RecentEntries } from './recent-entries.js';

/** Minimum number of active runs that are remembered; the maximum is twice as high. */
const MIN_REMEMBERED_RUNS = 20_000;
/** Number of batches that read their runs after a version conflict, because the cause of the conflict may persist. */
export const READS_AFTER_CONFLICT = 8;

export class RunVersions {
  private readonly runs: RecentEntries<Readonly<BatchRun>>;
  private remainingReads = 0;

  constructor(minRememberedRuns = MIN_REMEMBERED_RUNS) {
    this.runs = new RecentEntries(minRememberedRuns);
  }

  /** Returns the runs on which the batch decides; null if the batch must read its runs from the database. */
  expectedRunsOf(units: readonly CommitUnit[]): ExpectedRuns | null {
    if (this.remainingReads > 0) {
      this.remainingReads--;
      return null;
    }
    const createdKeys = new Set<string>();
    const expectedRuns = new Map<string, ExpectedRun>();
    const isKnown = (runKey: string) => createdKeys.has(runKey) || expectedRuns.has(runKey);
    const isGuardKnown = (guard: StoreGuard): boolean => {
      if (guard.kind === 'run-id-free') return true;
      if (guard.kind !== 'run-active' || guard.version === undefined || guard.next === undefined) return false;
      if (createdKeys.has(guard.runKey)) return true;
      const expectedRun = expectedRuns.get(guard.runKey);
      if (expectedRun) {
        if (expectedRun.version !== guard.version) return false;
        expectedRun.version = guard.next;
        return true;
      }
      const run = this.runs.get(guard.runKey);
      if (run?.version !== guard.version) return false;
      expectedRuns.set(guard.runKey, { run: { ...run }, version: guard.next });
      return true;
    };
    for (const { guards, writes } of units) {
      if (!guards.every(isGuardKnown)) return null;
      for (const write of writes) {
        if (write.kind === 'create-run') createdKeys.add(write.run.key);
        if (!canApply(write, isKnown)) return null;
      }
    }
    return expectedRuns;
  }

  /** Records that a run did not have its expected version. */
  recordConflict(): void {
    this.remainingReads = READS_AFTER_CONFLICT;
  }

  /** Remembers the runs as a commit left them. */
  remember(runs: Iterable<BatchRun>): void {
    for (const run of runs) {
      if (run.isActive) this.runs.set(run.runKey, { ...run, isNew: false });
      else this.runs.delete(run.runKey);
    }
  }
}

/** Returns whether the write depends only on itself and on a run for which `isKnown` returns true. */
function canApply(write: StoreWrite, isKnown: (runKey: string) => boolean): boolean {
  const facts = writeFacts(write);
  if (!facts.isSelfContained(write)) return false;
  const runKey = facts.runKey(write);
  return runKey === null || isKnown(runKey);
}
