/** Runs in the store. */
import type { RecordedStep, Run, RunPayload } from '../../engine/runs/run.js';
import type { RunFilter } from './filters.js';
import type { Listing, Page, Position } from './page.js';
import type { ListedRun, RunRecord, SearchableRun } from './run-records.js';
import type { TaskReference } from './task-store.js';

/** Identifies a run by the id that users see. Several runs can have the same id, one after the other. */
export interface RunId {
  readonly instanceId: string;
  readonly workflowRunId: string;
  /** Time when the run was created, Unix ms. */
  readonly createdAt?: number;
}

/** Reads runs. All writes use `CommitStore.commit`. */
export interface RunStore {
  loadRun(query: { readonly runKey: string }): Promise<Run | null>;
  loadPayload(query: { readonly runKey: string }): Promise<RunPayload | null>;
  /**
   * Returns journal rows from index `from` on, in recorded order: for deliveries, never for API responses. With `maxBytes`, a
   * store whose reads keep the process busy returns at least one row, and stops after about that many bytes of results.
   */
  loadJournal(query: {
    readonly runKey: string;
    readonly from: number;
    readonly maxBytes?: number;
  }): Promise<readonly RecordedStep[]>;
  /** Finds the run with this key, or with this id: the one created at `createdAt`, or the active one, or the latest. */
  findRun(query: { readonly runKey: string } | RunId): Promise<RunRecord | null>;
  /** Returns the keys of those of these runs that have ended or were removed. */
  filterEndedRuns(query: { readonly runKeys: readonly string[] }): Promise<readonly string[]>;
  listRuns(query: Page<RunFilter>): Promise<Listing<ListedRun>>;
  /** Like `listRuns`, but with only the searchable properties. Cheap enough to examine a thousand runs at once. */
  listSearchableRuns(query: Page<RunFilter>): Promise<Listing<SearchableRun>>;
  /** Returns the position after the newest existing run. A run that is created later is never before it. */
  runHorizon(query: { readonly instanceId: string }): Promise<Position>;
  /**
   * Lists at most `limit` runs that were created directly from this one, in the order of creation: invoked by it, forked from it,
   * or recovered from its dead letter.
   */
  listDescendants(query: { readonly runKey: string; readonly limit: number }): Promise<readonly RunRecord[]>;
  /**
   * Returns the number of retries of the delivery whose failure ended the run at `at`, Unix ms. 0 if no attempt ended it, for
   * example because the response was invalid.
   */
  countRetriesBeforeFailure(query: { readonly runKey: string; readonly at: number }): Promise<number>;
  /** Returns the task of an active run that waits for this run to end. */
  findInvoker(query: { readonly childRunKey: string }): Promise<Pick<TaskReference, 'runKey' | 'slot'> | null>;
}
