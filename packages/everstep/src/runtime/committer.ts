/**
 * Group commit: decisions that are taken in one turn of the event loop become
 * durable in one transaction, so a hundred concurrent runs share an fsync.
 */
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Clock } from '../ports/clock.js';
import type { Store } from '../ports/store.js';

interface Pending {
  readonly unit: CommitUnit;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
  readonly onLost: (() => void) | undefined;
}

export class Committer {
  private readonly store: Store;
  private readonly clock: Clock;
  private pending: Pending[] = [];
  private scheduled = false;
  private writing: Promise<void> = Promise.resolve();
  private underWay = false;

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /**
   * Resolves when the unit is durable, or was refused by a guard; rejects when nothing of its batch happened, or
   * nothing of one before it: what was decided meanwhile may build on that. `onLost` is called at that very moment.
   */
  submit(unit: CommitUnit, onLost?: () => void): Promise<CommitResult> {
    return new Promise((resolve, reject) => {
      this.pending.push({ unit, resolve, reject, onLost });
      if (this.scheduled) return;
      this.scheduled = true;
      this.clock.endOfTurn(() => {
        // Batches go to the store one after the other: order is part of what they mean.
        this.writing = this.underWay ? this.writing.then(() => this.joined()).then(() => this.flush()) : this.flush();
      });
    });
  }

  /** Whether nothing waits to be written or is being written. */
  get idle(): boolean {
    return !this.underWay && !this.scheduled && this.pending.length === 0;
  }

  /** Resolves when everything that was submitted before is written. */
  async settled(): Promise<void> {
    while (this.scheduled || this.pending.length > 0) {
      await new Promise<void>((resolve) => this.clock.endOfTurn(resolve));
      await this.writing;
    }
    await this.writing;
  }

  /** A batch that had to wait waits one turn more: what came in meanwhile, and has not been read yet, shares its commit. */
  private joined(): Promise<void> {
    return new Promise((resolve) => this.clock.endOfTurn(resolve));
  }

  private async flush(): Promise<void> {
    this.underWay = true;
    await this.write();
    this.underWay = false;
  }

  private async write(): Promise<void> {
    const batch = this.pending;
    this.pending = [];
    this.scheduled = false;
    if (batch.length === 0) return;
    try {
      const results = await this.store.commit(batch.map((item) => item.unit));
      for (const [index, item] of batch.entries()) {
        const result = results[index];
        if (result) item.resolve(result);
        else item.reject(new Error('the store gave no result for a unit'));
      }
    } catch (error) {
      await this.writeSingly(batch, error);
    }
  }

  /**
   * A batch was lost, perhaps because of one unit in it: each is tried by itself, so that the others are not lost with
   * it. If it had happened all the same and only the answer was lost, then it refuses to be recorded again and counts as
   * lost: what is owed is read again.
   */
  private async writeSingly(batch: readonly Pending[], cause: unknown): Promise<void> {
    const lostRuns = new Set<string>();
    let lost = batch.length === 1;
    for (const item of batch) {
      const runKey = runOf(item.unit);
      try {
        // What was decided on a state that was lost must not be written.
        if (batch.length === 1 || (runKey !== null && lostRuns.has(runKey))) throw cause;
        const [result] = await this.store.commit([item.unit]);
        // A refusal may come of the unit's own first writing, of which only the answer was lost: nobody can tell.
        if (result?.kind !== 'applied') throw cause;
        item.resolve(result);
      } catch (error) {
        lost = true;
        if (runKey !== null) lostRuns.add(runKey);
        item.onLost?.();
        item.reject(error);
      }
    }
    if (!lost) return;
    const waiting = this.pending;
    this.pending = [];
    for (const item of waiting) {
      item.onLost?.();
      item.reject(cause);
    }
  }
}

/** The active run that the unit was decided on. */
function runOf({ guards }: CommitUnit): string | null {
  for (const guard of guards) if (guard.kind === 'run-active') return guard.runKey;
  return null;
}
