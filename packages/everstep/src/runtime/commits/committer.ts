/**
 * Group commit: the decisions of one turn of the event loop become durable in one transaction, so a hundred concurrent runs
 * share an fsync. Batches are limited: if more units are waiting, accounts take turns (`commits/batch-selector.ts`).
 *
 * A store that benefits from it receives several batches at the same time. Units with a common conflict key still keep their
 * order: the later one waits until the batch of the earlier one is durable.
 * Keeps invariant 1.
 */
import { addRequestEntry } from '../../audit/audited-request.js';
import { conflictKeysOf, instanceOf, weightOf } from '../../engine/writes/unit-facts.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import type { Clock } from '../../ports/clock.js';
import { PartialCommitError, type UnitOutcome } from '../../ports/stores/commit-store.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { BatchConcurrency, Store } from '../../ports/stores/store.js';
import { ServerUnavailableError, StoreRefusesWritesError, StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import { BatchSelector, type WaitingUnit } from './batch-selector.js';

interface PendingUnit extends WaitingUnit {
  readonly unit: CommitUnit;
  /** Conflict keys; empty if batches are written one after another. */
  readonly keys: readonly string[];
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
  readonly onLost: (() => void) | undefined;
}

/** Receives the units that became durable while `isWanted` is true. */
export interface DurableWatcher {
  readonly isWanted: boolean;
  onCommitted(units: readonly CommitUnit[]): void;
}

const NO_KEYS: readonly string[] = [];
const ONE_BY_ONE: BatchConcurrency = { max: 1, minUnits: 1 };
/** More units are written in several batches, so that the units of one account do not delay those of others. */
const BATCH_LIMITS = { maxUnits: 256, maxBytes: 2 * 1024 * 1024 };
/** Weight of the latest batch in the average number of units per batch. */
const LATEST_BATCH_WEIGHT = 1 / 8;

/** Receives the error of each batch or single unit that could not be written. */
export type FailureListener = (error: unknown) => void;

export class Committer {
  private readonly store: Pick<Store, 'commit' | 'concurrentBatches'>;
  private readonly clock: Clock;
  private readonly watchers: readonly DurableWatcher[];
  private readonly onFailure: FailureListener;
  private readonly concurrentBatches: BatchConcurrency;
  private readonly batchSelector: BatchSelector;
  private pendingUnits: PendingUnit[] = [];
  private isScheduled = false;
  /** Cancels the timer while the first batch waits for more units. */
  private stopGathering: (() => void) | null = null;
  /** Moving average of the number of units per batch. */
  private averageUnits = 0;
  private readonly inProgress = new Set<Promise<void>>();
  /** Conflict keys of the batches in progress. */
  private readonly heldKeys = new Set<string>();

  constructor(
    store: Pick<Store, 'commit' | 'concurrentBatches'>,
    clock: Clock,
    watchers: readonly DurableWatcher[] = [],
    onFailure: FailureListener = () => {},
    owners: InstanceOwners = ONE_OWNER,
  ) {
    this.store = store;
    this.clock = clock;
    this.watchers = watchers;
    this.onFailure = onFailure;
    this.concurrentBatches = store.concurrentBatches ?? ONE_BY_ONE;
    this.batchSelector = new BatchSelector(owners, BATCH_LIMITS);
  }

  /**
   * Resolves when the unit is durable, or when a guard has rejected it. Rejects if its batch or an earlier one was not written,
   * because later decisions can depend on an earlier unit. `onLost` is called at that moment. The audit entry of the current
   * request, if there is one, is added to the unit. A caller that knows the instance of the unit passes `instanceId`.
   */
  submit(submittedUnit: CommitUnit, onLost?: () => void, instanceId = instanceOf(submittedUnit)): Promise<CommitResult> {
    const { unit, settle } = addRequestEntry(submittedUnit);
    return new Promise((resolve, reject) => {
      const keys = this.concurrentBatches.max > 1 ? conflictKeysOf(unit) : NO_KEYS;
      const resolveUnit = (result: CommitResult) => {
        settle(result.kind === 'applied');
        resolve(result);
      };
      const rejectUnit = (error: unknown) => {
        settle(false);
        reject(error);
      };
      this.pendingUnits.push({ unit, keys, instanceId, bytes: weightOf(unit), resolve: resolveUnit, reject: rejectUnit, onLost });
      this.writeSoon();
    });
  }

  /** Whether no unit is waiting or being written. */
  get isIdle(): boolean {
    return this.inProgress.size === 0 && !this.isScheduled && this.pendingUnits.length === 0;
  }

  /** Resolves when everything submitted before is written. */
  async settled(): Promise<void> {
    while (!this.isIdle) {
      if (this.stopGathering) this.writeAtEndOfTurn();
      await new Promise<void>((resolve) => this.clock.endOfTurn(resolve));
      await Promise.all(this.inProgress);
    }
  }

  /**
   * Writes at the end of the turn, because more units may be submitted in it. A batch that had to wait therefore waits one more
   * turn: requests that have arrived but are not read yet share its commit.
   */
  private writeSoon(): void {
    const { max, minUnits } = this.concurrentBatches;
    if (this.isScheduled || this.inProgress.size >= max || this.pendingUnits.length === 0) return;
    if (this.pendingUnits.length < minUnits && (this.inProgress.size > 0 || this.isGathering())) return;
    this.writeAtEndOfTurn();
  }

  /** Whether the first batch waits for more units. */
  private isGathering(): boolean {
    if (this.stopGathering) return true;
    const gatherMs = this.concurrentBatches.gatherMs?.(this.averageUnits) ?? 0;
    if (gatherMs <= 0) return false;
    this.stopGathering = this.clock.setTimer(this.clock.now() + gatherMs, () => {
      this.stopGathering = null;
      if (!this.isScheduled && this.inProgress.size === 0 && this.pendingUnits.length > 0) this.writeAtEndOfTurn();
    });
    return true;
  }

  private writeAtEndOfTurn(): void {
    this.stopGathering?.();
    this.stopGathering = null;
    this.isScheduled = true;
    this.clock.endOfTurn(() => {
      this.isScheduled = false;
      const batch = this.nextBatch();
      if (batch.length === 0) return;
      this.averageUnits += (batch.length - this.averageUnits) * LATEST_BATCH_WEIGHT;
      const writing = this.write(batch).then(() => {
        for (const { keys } of batch) for (const key of keys) this.heldKeys.delete(key);
        this.inProgress.delete(writing);
        this.writeSoon();
      });
      this.inProgress.add(writing);
      this.writeSoon();
    });
  }

  /** Takes the units that wait neither for a batch in progress nor for another waiting unit. */
  private nextBatch(): readonly PendingUnit[] {
    const waitedForKeys = new Set<string>();
    const batch = this.batchSelector.select(this.pendingUnits, ({ keys }) => {
      if (!keys.some((key) => this.heldKeys.has(key) || waitedForKeys.has(key))) return true;
      for (const key of keys) waitedForKeys.add(key);
      return false;
    });
    for (const { keys } of batch) for (const key of keys) this.heldKeys.add(key);
    this.pendingUnits =
      batch.size === this.pendingUnits.length ? [] : this.pendingUnits.filter((pendingUnit) => !batch.has(pendingUnit));
    return [...batch];
  }

  /** Writes the batch. Never rejects. */
  private async write(batch: readonly PendingUnit[]): Promise<void> {
    try {
      this.settle(batch, await this.store.commit(batch.map((pendingUnit) => pendingUnit.unit)));
    } catch (error) {
      if (!(error instanceof PartialCommitError)) return this.handleFailure(batch, error);
      for (const [cause, failedUnits] of this.settle(batch, error.outcomes)) await this.handleFailure(failedUnits, cause);
    }
  }

  /** Settles the units that have a result. Returns the others by the reason of their failure. */
  private settle(batch: readonly PendingUnit[], outcomes: readonly UnitOutcome[]): ReadonlyMap<unknown, readonly PendingUnit[]> {
    // The watchers come first: when the results are acted on, ended runs are removed from memory.
    this.notifyWatchers(() => batch.flatMap(({ unit }, index) => (outcomes[index]?.kind === 'applied' ? [unit] : [])));
    const failedUnits = new Map<unknown, PendingUnit[]>();
    for (const [index, pendingUnit] of batch.entries()) {
      const outcome = outcomes[index];
      if (!outcome) pendingUnit.reject(new Error('the store returned no result for a unit'));
      else if (outcome.kind !== 'failed') pendingUnit.resolve(outcome);
      else failedUnits.set(outcome.error, [...(failedUnits.get(outcome.error) ?? []), pendingUnit]);
    }
    return failedUnits;
  }

  /** Rejects the units of a failed batch, or writes them separately if the store has rolled it back. */
  private async handleFailure(batch: readonly PendingUnit[], error: unknown): Promise<void> {
    this.onFailure(error);
    if (isOutcomeUnknown(error)) this.lose(batch, error);
    else await this.writeSingly(batch, error);
  }

  /** Notifies the watchers of applied units. */
  private notifyWatchers(appliedUnits: () => readonly CommitUnit[]): void {
    const interestedWatchers = this.watchers.filter(({ isWanted }) => isWanted);
    if (interestedWatchers.length === 0) return;
    const units = appliedUnits();
    for (const watcher of interestedWatchers) watcher.onCommitted(units);
  }

  /** Rejects the units of `batch`, and the waiting units that can depend on them. */
  private lose(batch: readonly PendingUnit[], cause: unknown): void {
    rejectUnits([...batch, ...this.takeDependents(batch, isConfined(cause))], cause);
  }

  /**
   * Removes and returns the waiting units that can depend on lost units: all, or those with a common conflict key if the failure
   * is confined to the lost units.
   */
  private takeDependents(lostUnits: readonly PendingUnit[], isFailureConfined: boolean): readonly PendingUnit[] {
    const waitingUnits = this.pendingUnits;
    this.pendingUnits = [];
    if (!isFailureConfined) return waitingUnits;
    const lostKeys = new Set(lostUnits.flatMap(keysOf));
    const dependents: PendingUnit[] = [];
    for (const pendingUnit of waitingUnits) {
      const keys = keysOf(pendingUnit);
      if (keys.some((key) => lostKeys.has(key))) {
        dependents.push(pendingUnit);
        for (const key of keys) lostKeys.add(key);
      } else this.pendingUnits.push(pendingUnit);
    }
    return dependents;
  }

  /**
   * Writes each unit of a failed batch separately, so that a single faulty unit does not cause the loss of the others. If the
   * store wrote the batch in several transactions, a unit may already be written. Then its guards reject it and it counts as
   * lost: pending work is read again.
   */
  private async writeSingly(batch: readonly PendingUnit[], cause: unknown): Promise<void> {
    const lostRuns = new Set<string>();
    const lostUnits: PendingUnit[] = [];
    let areFailuresConfined = true;
    let isUnavailable = false;
    for (const pendingUnit of batch) {
      const runKey = runKeyOf(pendingUnit.unit);
      try {
        // A decision on a lost state must not be written.
        if (isUnavailable || batch.length === 1 || (runKey !== null && lostRuns.has(runKey))) throw cause;
        const [result] = await this.store.commit([pendingUnit.unit]);
        // The unit may already be written, if only the response was lost. Then its own guards reject it.
        if (result?.kind !== 'applied') throw cause;
        this.notifyWatchers(() => [pendingUnit.unit]);
        pendingUnit.resolve(result);
      } catch (error) {
        lostUnits.push(pendingUnit);
        areFailuresConfined &&= isConfined(error);
        // Reported before the rejection is acted on: no delivery may start after the store rejects writes.
        if (error !== cause) this.onFailure(error);
        // The remaining units would only wait for the store one after another.
        isUnavailable ||= batch.length > 1 && error instanceof StoreUnavailableError && error !== cause;
        if (runKey !== null) lostRuns.add(runKey);
        pendingUnit.onLost?.();
        pendingUnit.reject(error);
      }
    }
    if (lostUnits.length > 0) rejectUnits(this.takeDependents(lostUnits, areFailuresConfined), cause);
  }
}

function rejectUnits(units: readonly PendingUnit[], cause: unknown): void {
  for (const { onLost, reject } of units) {
    onLost?.();
    reject(cause);
  }
}

/**
 * Returns whether the batch may have been written, because the connection was lost, possibly at COMMIT. Units without a guard
 * that rejects them would be written twice. After all other errors the store has rolled back.
 */
const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && !(error instanceof StoreRefusesWritesError);

/**
 * Returns whether only the units of the batch failed: one of several servers is unavailable, or a value is too long to be encoded,
 * which would fail again. After other errors, the state of the store is uncertain.
 */
const isConfined = (error: unknown): boolean => error instanceof ServerUnavailableError || error instanceof RangeError;

/** Returns the conflict keys of a unit, which are not computed in advance if batches are written one after another. */
const keysOf = ({ keys, unit }: PendingUnit): readonly string[] => (keys.length > 0 ? keys : conflictKeysOf(unit));

/** Returns the key of the active run on which the unit was decided; null if there is none. */
function runKeyOf({ guards }: CommitUnit): string | null {
  for (const guard of guards) if (guard.kind === 'run-active') return guard.runKey;
  return null;
}
