/**
 * What a batch takes for granted instead of reading it first. Nearly every unit is the next decision on a run whose last one
 * was committed by this process, too: how the run is at that version is known. A batch of such units and of beginnings only
 * brings the runs from the versions that they should be at to those at which it leaves them. Where one of them is not, all
 * is undone and done again, reading.
 * Keeps invariant 22.
 */
import type { CommitUnit, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';
import { isWaitingForRun } from '../runs/task-rows.js';
import type { KnownRun } from './batch-state.js';
import { RecentEntries } from './recent-entries.js';

/** At least so many active runs are remembered. */
const HALF = 20_000;
/** Batches that read after one that was mistaken: whatever made it so may be there still. */
export const READING_AFTER_MISTAKE = 8;

export interface AssumedRun {
  /** As the version that its last decision made is: whether it is at that still has to be seen. */
  readonly run: KnownRun;
  /** The one that the last of the units makes. */
  version: number;
}

/** By the keys of the runs. */
export type AssumedRuns = ReadonlyMap<string, Readonly<AssumedRun>>;

export class Assumptions {
  private readonly runs: RecentEntries<Readonly<KnownRun>>;
  private reading = 0;

  constructor(half = HALF) {
    this.runs = new RecentEntries(half);
  }

  /** The runs that the batch decides on; null when there is something that has to be read. */
  of(units: readonly CommitUnit[]): AssumedRuns | null {
    if (this.reading > 0) {
      this.reading--;
      return null;
    }
    const begun = new Set<string>();
    const assumed = new Map<string, AssumedRun>();
    const isKnown = (runKey: string) => begun.has(runKey) || assumed.has(runKey);
    const isGuardKnown = (guard: StoreGuard): boolean => {
      if (guard.kind === 'run-id-free') return true;
      if (guard.kind !== 'run-active' || guard.version === undefined || guard.next === undefined) return false;
      if (begun.has(guard.runKey)) return true;
      const known = assumed.get(guard.runKey);
      if (known) {
        if (known.version !== guard.version) return false;
        known.version = guard.next;
        return true;
      }
      const run = this.runs.get(guard.runKey);
      if (run?.version !== guard.version) return false;
      assumed.set(guard.runKey, { run: { ...run }, version: guard.next });
      return true;
    };
    for (const { guards, writes } of units) {
      if (!guards.every(isGuardKnown)) return null;
      for (const write of writes) {
        if (write.kind === 'create-run') begun.add(write.run.key);
        if (!isWriteKnown(write, isKnown)) return null;
      }
    }
    return assumed;
  }

  /** What was assumed is not so. */
  mistaken(): void {
    this.reading = READING_AFTER_MISTAKE;
  }

  /** These were committed so. */
  learn(runs: Iterable<KnownRun>): void {
    for (const run of runs) {
      if (run.active) this.runs.set(run.runKey, { ...run, begun: false });
      else this.runs.delete(run.runKey);
    }
  }
}

/** Whether what it depends on is told by the runs that are known. */
function isWriteKnown(write: StoreWrite, isKnown: (runKey: string) => boolean): boolean {
  switch (write.kind) {
    case 'create-run':
      // The place of a message in its queue is by the database's clock, which is read.
      return !('copyOf' in write.input) && write.run.settings.message?.queue === undefined;
    case 'put-task':
      return isKnown(write.runKey) && !isWaitingForRun(write.task);
    case 'record-step':
    case 'delete-task':
    case 'park-tasks':
    case 'delete-tasks':
    case 'keep-event':
    case 'drop-event':
    case 'note-failure-function':
    case 'record-attempt':
    case 'end-run':
      return isKnown(write.runKey);
    case 'add-dead-letter':
      return isKnown(write.entry.runKey);
    case 'put-flow-control':
    case 'set-flow-window':
    case 'count-messages':
    case 'count-of-day':
    case 'add-audit':
      return true;
    default:
      return false;
  }
}
