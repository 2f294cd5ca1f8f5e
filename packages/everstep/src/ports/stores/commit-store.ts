/** Writes to the store. */
import type { CommitResult, CommitUnit } from '../../engine/writes.js';

/** Describes how the store benefits from several concurrent batches with disjoint lock sets. */
export interface BatchConcurrency {
  readonly max: number;
  /** Minimum number of units for an additional batch. Fewer units wait and share the next one. */
  readonly minUnits: number;
  /**
   * Returns how long the first batch should currently wait for more units, in ms, if recent batches had `recentUnits`
   * units on average. If it is absent or returns 0, the batch does not wait.
   */
  gatherMs?(recentUnits: number): number;
}

/** Outcome of a unit: its result, or the error of its transaction, which may or may not have been committed. */
export type UnitOutcome = CommitResult | { readonly kind: 'failed'; readonly error: unknown };

/** Thrown if a batch was written in several transactions and some of them failed. Its message is that of the first failure. */
export class PartialCommitError extends Error {
  override readonly name = 'PartialCommitError';
  /** Outcome of each unit, in the order of the units. */
  readonly outcomes: readonly UnitOutcome[];
  constructor(outcomes: readonly UnitOutcome[], cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.outcomes = outcomes;
  }
}

/** Number of bytes of a probe write. */
export const PROBE_BYTES = 64 * 1024;

/** The servers of a store that distributes its queue instances over several servers. If one is down, only its instances stop. */
export interface StoreServers {
  /** Returns the host and port of the instance's server if it is or was down; otherwise null, because the server is unknown. */
  serverOf(instanceId: string): string | null;
  /** Resolves when the server accepts writes: immediately, unless it is down. Never rejects. */
  whenAvailable(server: string): Promise<void>;
}

/** Commits units of writes. */
export interface CommitStore {
  /**
   * Commits a batch. Returns results in the order of the units. Rejects if the batch could not be made durable; it then has no
   * effect. Rejects with PartialCommitError if parts of it have an effect.
   */
  commit(units: readonly CommitUnit[]): Promise<readonly CommitResult[]>;
  /**
   * Writes PROBE_BYTES durably and removes them again. So many bytes do not fit into space that is already allocated. Rejects with
   * StoreUnavailableError while commits would fail.
   */
  probeWrites(): Promise<void>;
  /** Benefit of concurrent batches; absent if the store does not benefit from more than one batch at a time. */
  readonly concurrentBatches?: BatchConcurrency;
  /** Servers of the instances; absent if all instances are on one server. */
  readonly servers?: StoreServers;
}
