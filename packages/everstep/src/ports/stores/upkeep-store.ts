/** Background work on the data of the store. */
import type { RetentionState } from '../../engine/runs/run.js';

/**
 * Selects runs that may be removed: those that ended before a time, and those beyond a number of newest ones. Selects none if
 * neither is set.
 */
export interface RemovalQuery {
  readonly instanceId: string;
  readonly state: RetentionState;
  /** Runs that ended before this time (Unix ms) are selected; null if the age of runs does not matter. */
  readonly endedBefore: number | null;
  /** Runs beyond this number of newest ones are selected; null if the number of runs does not matter. */
  readonly keepNewest: number | null;
  /** Maximum number of runs in this transaction. */
  readonly limit: number;
}

/** Removes data that is no longer needed. */
export interface UpkeepStore {
  /**
   * Removes runs that have ended, oldest first, with all their data, in short transactions. Returns their number,
   * which can be less than the limit if they are large; 0 only if none may be removed. The state `deadLetter` removes DLQ entries
   * with their runs, except those whose failure must still be reported. The other states skip runs that have an entry and runs
   * from which an active run was created. A run that a waiting invocation still needs is never removed.
   */
  removeEndedRuns(query: RemovalQuery): Promise<number>;
  /**
   * Deletes some steps that were staged for runs that will not be created: a unit abandoned them, or the process that staged
   * them no longer exists. Returns false if none are left.
   */
  removeStagedSteps(): Promise<boolean>;
  /**
   * Removes rows of a deleted queue instance, whatever their state, in one short transaction. Returns their number; 0 only if none
   * are left. Billing data is not removed.
   */
  removeInstanceRows(query: { readonly instanceId: string; readonly limit: number }): Promise<number>;
  /** Releases freed disk space in small steps. Returns false if there is no more to release. */
  releaseSpace(): Promise<boolean>;
}
