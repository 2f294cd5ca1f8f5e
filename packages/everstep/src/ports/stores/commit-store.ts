/** Writes to the store. */
import type { CommitResult, CommitUnit } from '../../engine/writes.js';

/** Describes how the store benefits from several concurrent batches with disjoint lock sets. */
export interface ConcurrentBatches {
  readonly most: number;
  /** Minimum number of units for an additional batch. Fewer units wait and share the next one. */
  readonly minUnits: number;
  /**
   * Returns how long the first batch should currently wait for more units, in ms, if recent batches had `recentUnits`
   * units on average. Absent or 0: no wait.
   */
  gatherMs?(recentUnits: number): number;
}

/** Number of bytes of a probe write. */
export const PROBE_BYTES = 64 * 1024;

/** Commits units of writes. */
export interface CommitStore {
  /**
   * Commits a batch. Returns results in the order of the units. Rejects if the batch could not be made durable; it then has no
   * effect.
   */
  commit(units: readonly CommitUnit[]): Promise<readonly CommitResult[]>;
  /**
   * Writes PROBE_BYTES durably and removes them again. This is more than fits into space that was allocated before. Rejects
   * with StoreUnavailableError while commits would fail.
   */
  probeWrites(): Promise<void>;
  /** How concurrent batches help; absent if the store does not benefit from more than one batch at a time. */
  readonly concurrentBatches?: ConcurrentBatches;
}
