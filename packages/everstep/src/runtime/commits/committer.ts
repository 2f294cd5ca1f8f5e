/**
 * Group commit: decisions that are taken in one turn of the event loop become
 * durable in one transaction, so a hundred concurrent runs share an fsync.
 * A batch is bounded: where more units wait, accounts take turns (`commits/commit-turns.ts`).
 *
 * A store that gains by it has several batches under way at once. Units that
 * name something in common are written in their order all the same: the later
 * one waits until the batch of the earlier one is durable.
 * Keeps invariant 1.
 */
import { withEntry } from '../../audit/audited-request.js';
import { conflictKeysOf, instanceOf, weightOf } from '../../engine/writes/unit-facts.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import type { Clock } from '../../ports/clock.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { ConcurrentBatches, Store } from '../../ports/stores/store.js';
import { StoreRefusesWritesError, StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import { CommitTurns, type Waiting } from './commit-turns.js';

interface Pending extends Waiting {
  readonly unit: CommitUnit;
  /** Empty where batches are written one after the other. */
  readonly names: readonly string[];
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
  readonly onLost: (() => void) | undefined;
}

/** Told of units that have become durable, while it wants to be. */
export interface DurableWatcher {
  readonly isWanted: boolean;
  committed(units: readonly CommitUnit[]): void;
}

const NOBODY: DurableWatcher = { isWanted: false, committed: () => {} };
const NO_NAMES: readonly string[] = [];
const ONE_BY_ONE: ConcurrentBatches = { most: 1, minUnits: 1 };
/** More are written in several batches, so that those of one account do not keep others waiting. */
const BATCH = { maxUnits: 256, maxBytes: 16 * 1024 * 1024 };
/** The weight of the latest batch in how many units batches have had lately. */
const WEIGHT_OF_LATEST = 1 / 8;

/** Receives the error of each batch, or of a unit by itself, that could not be written. */
export type FailureListener = (error: unknown) => void;

export class Committer {
  private readonly store: Pick<Store, 'commit' | 'concurrentBatches'>;
  private readonly clock: Clock;
  private readonly watcher: DurableWatcher;
  private readonly onFailure: FailureListener;
  private readonly concurrentBatches: ConcurrentBatches;
  private readonly turns: CommitTurns;
  private pending: Pending[] = [];
  private scheduled = false;
  /** The first batch waits for more units; this takes its timer back. */
  private stopGathering: (() => void) | null = null;
  private recentUnits = 0;
  private readonly underWay = new Set<Promise<void>>();
  /** What the batches under way name. */
  private readonly named = new Set<string>();

  constructor(
    store: Pick<Store, 'commit' | 'concurrentBatches'>,
    clock: Clock,
    watcher = NOBODY,
    onFailure: FailureListener = () => {},
    owners: InstanceOwners = ONE_OWNER,
  ) {
    this.store = store;
    this.clock = clock;
    this.watcher = watcher;
    this.onFailure = onFailure;
    this.concurrentBatches = store.concurrentBatches ?? ONE_BY_ONE;
    this.turns = new CommitTurns(owners, BATCH);
  }

  /**
   * Resolves when the unit is durable, or was refused by a guard; rejects when nothing of its batch happened, or
   * nothing of one before it: what was decided meanwhile may build on that. `onLost` is called at that very moment.
   * The unit carries the audit entry of the request that leads to it, if there is one. `instanceId`: of the unit, where the caller
   * knows it.
   */
  submit(submitted: CommitUnit, onLost?: () => void, instanceId = instanceOf(submitted)): Promise<CommitResult> {
    const { unit, settle } = withEntry(submitted);
    return new Promise((resolve, reject) => {
      const names = this.concurrentBatches.most > 1 ? conflictKeysOf(unit) : NO_NAMES;
      const settled = (result: CommitResult) => {
        settle(result.kind === 'applied');
        resolve(result);
      };
      const failed = (error: unknown) => {
        settle(false);
        reject(error);
      };
      this.pending.push({ unit, names, instanceId, bytes: weightOf(unit), resolve: settled, reject: failed, onLost });
      this.writeSoon();
    });
  }

  /** Whether nothing waits to be written or is being written. */
  get idle(): boolean {
    return this.underWay.size === 0 && !this.scheduled && this.pending.length === 0;
  }

  /** Resolves when everything that was submitted before is written. */
  async settled(): Promise<void> {
    while (!this.idle) {
      if (this.stopGathering) this.writeAtEndOfTurn();
      await new Promise<void>((resolve) => this.clock.endOfTurn(resolve));
      await Promise.all(this.underWay);
    }
  }

  /**
   * At the end of the turn, in which more may come. So a batch that had to wait waits one turn more: what came in
   * meanwhile, and has not been read yet, shares its commit.
   */
  private writeSoon(): void {
    const { most, minUnits } = this.concurrentBatches;
    if (this.scheduled || this.underWay.size >= most || this.pending.length === 0) return;
    if (this.pending.length < minUnits && (this.underWay.size > 0 || this.isGathering())) return;
    this.writeAtEndOfTurn();
  }

  /** Whether the first batch waits for more units. */
  private isGathering(): boolean {
    if (this.stopGathering) return true;
    const gatherMs = this.concurrentBatches.gatherMs?.(this.recentUnits) ?? 0;
    if (gatherMs <= 0) return false;
    this.stopGathering = this.clock.setTimer(this.clock.now() + gatherMs, () => {
      this.stopGathering = null;
      if (!this.scheduled && this.underWay.size === 0 && this.pending.length > 0) this.writeAtEndOfTurn();
    });
    return true;
  }

  private writeAtEndOfTurn(): void {
    this.stopGathering?.();
    this.stopGathering = null;
    this.scheduled = true;
    this.clock.endOfTurn(() => {
      this.scheduled = false;
      const batch = this.take();
      if (batch.length === 0) return;
      this.recentUnits += (batch.length - this.recentUnits) * WEIGHT_OF_LATEST;
      const writing = this.write(batch).then(() => {
        for (const { names } of batch) for (const name of names) this.named.delete(name);
        this.underWay.delete(writing);
        this.writeSoon();
      });
      this.underWay.add(writing);
      this.writeSoon();
    });
  }

  /** What may be written now: what waits for nothing that is under way, nor for anything that itself has to wait. */
  private take(): readonly Pending[] {
    const waitedFor = new Set<string>();
    const batch = this.turns.take(this.pending, ({ names }) => {
      if (!names.some((name) => this.named.has(name) || waitedFor.has(name))) return true;
      for (const name of names) waitedFor.add(name);
      return false;
    });
    for (const { names } of batch) for (const name of names) this.named.add(name);
    this.pending = batch.size === this.pending.length ? [] : this.pending.filter((item) => !batch.has(item));
    return [...batch];
  }

  /** Never rejects. */
  private async write(batch: readonly Pending[]): Promise<void> {
    try {
      const results = await this.store.commit(batch.map((item) => item.unit));
      // First: what ends is known until it is acted on.
      if (this.watcher.isWanted)
        this.watcher.committed(batch.flatMap(({ unit }, index) => (results[index]?.kind === 'applied' ? [unit] : [])));
      for (const [index, item] of batch.entries()) {
        const result = results[index];
        if (result) item.resolve(result);
        else item.reject(new Error('the store gave no result for a unit'));
      }
    } catch (error) {
      this.onFailure(error);
      if (isOutcomeUnknown(error)) this.lose(batch, error);
      else await this.writeSingly(batch, error);
    }
  }

  /** Rejects everything in `batch`, and everything that waits: it may build on that. */
  private lose(batch: readonly Pending[], cause: unknown): void {
    const waiting = this.pending;
    this.pending = [];
    for (const item of [...batch, ...waiting]) {
      item.onLost?.();
      item.reject(cause);
    }
  }

  /**
   * Writes each unit of a failed batch by itself, because one unit may be the cause: then the others are not lost with it.
   * A store may write the units of a batch in several transactions, of which one has failed. So a unit may have been written
   * already. Its guards then refuse it, and it counts as lost: what is owed is read again.
   */
  private async writeSingly(batch: readonly Pending[], cause: unknown): Promise<void> {
    const lostRuns = new Set<string>();
    let lost = batch.length === 1;
    let away = false;
    for (const item of batch) {
      const runKey = runOf(item.unit);
      try {
        // What was decided on a state that was lost must not be written.
        if (away || batch.length === 1 || (runKey !== null && lostRuns.has(runKey))) throw cause;
        const [result] = await this.store.commit([item.unit]);
        // A refusal may come of the unit's own first writing, of which only the answer was lost: nobody can tell.
        if (result?.kind !== 'applied') throw cause;
        if (this.watcher.isWanted) this.watcher.committed([item.unit]);
        item.resolve(result);
      } catch (error) {
        lost = true;
        // Before the owners of the unit act on it: no delivery may start once the store refuses writes.
        if (error !== cause) this.onFailure(error);
        // The others would only wait for it to come back, one after the other.
        away ||= batch.length > 1 && error instanceof StoreUnavailableError && error !== cause;
        if (runKey !== null) lostRuns.add(runKey);
        item.onLost?.();
        item.reject(error);
      }
    }
    if (lost) this.lose([], cause);
  }
}

/**
 * The connection was lost, perhaps at COMMIT: the batch may have been written. Units whose guards would not refuse them would
 * be written twice. Other errors come from a store that has rolled back.
 */
const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && !(error instanceof StoreRefusesWritesError);

/** The active run that the unit was decided on. */
function runOf({ guards }: CommitUnit): string | null {
  for (const guard of guards) if (guard.kind === 'run-active') return guard.runKey;
  return null;
}
