/**
 * What the store keeps of repairs: bulk jobs over dead letters, and the entries that each of them froze. A repair is
 * written on the version that was read alone, so of several processes that decide on it one is taken; what becomes of
 * an entry is written in the unit that does it (`set-repair-item`), guarded by that version (`repair-at`).
 */
import type { Repair, RepairCounts, RepairItemState, RepairPhase } from '../engine/repair.js';
import type { Overrides } from '../engine/start.js';
import type { AuditEntry } from './account-store.js';
import type { DeadLetterFilter, Listing, Position } from './store.js';

export interface RepairRecord {
  readonly repair: Repair;
  readonly filter: DeadLetterFilter;
  readonly overrides: Overrides;
  /** How far the freezing is; null when it is done. */
  readonly freezing: Freezing | null;
  /** Unix ms at which there is something to do; null when there is not. */
  readonly wakeAt: number | null;
  /** How often it was written. */
  readonly version: number;
}

export interface Freezing {
  readonly after: Position | null;
  readonly horizon: Position;
}

/** A dead letter as a plan sees it. */
export interface RepairableEntry {
  readonly dlqId: string;
  /** Of the run that failed. */
  readonly runKey: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  /** Unix ms. */
  readonly failedAt: number;
  /** Length of its journal. */
  readonly steps: number;
  /** Of its group; null while it has none. */
  readonly fingerprint: string | null;
}

export interface NewRepairItem extends Omit<RepairableEntry, 'failedAt' | 'steps'> {
  /** Its place in the repair, from 0. */
  readonly n: number;
  /** Its place among those of its lane, from 0; null for those that are too far behind to be tried first. */
  readonly rank: number | null;
}

export interface RepairItemRecord extends Omit<NewRepairItem, 'rank'> {
  readonly state: RepairItemState;
  readonly canary: boolean;
  readonly newRunKey: string | null;
  readonly newWorkflowRunId: string | null;
  readonly newDlqId: string | null;
  readonly error: string | null;
  /** Unix ms at which it came into its state; null while it is pending. */
  readonly at: number | null;
}

/** Entries of one workflow that failed alike. */
export interface RepairLane {
  readonly workflowUrl: string;
  readonly fingerprint: string | null;
  readonly count: number;
}

/** A started entry whose new run has ended. */
export interface EndedItem {
  readonly n: number;
  readonly canary: boolean;
  readonly state: Exclude<RepairItemState, 'pending' | 'started'>;
  readonly newDlqId: string | null;
  readonly error: string | null;
}

/** Who drives a repair where several processes share the store: no other one does before `until` (Unix ms). */
export interface RepairDriver {
  readonly nodeId: string;
  readonly until: number;
}

/** That a dead letter will be deleted, unless the repair is aborted before. */
export interface ComingDeletion {
  readonly dlqId: string;
  readonly repairId: string;
  /** Unix ms: not before. */
  readonly at: number;
}

export interface RepairId {
  readonly instanceId: string;
  readonly repairId: string;
}

export interface RepairStore {
  /** At version 0. */
  create(query: { readonly record: RepairRecord; readonly driver: RepairDriver | null }): Promise<void>;
  find(query: RepairId): Promise<RepairRecord | null>;
  /** Newest first. */
  list(query: {
    readonly instanceId: string;
    readonly phases?: readonly RepairPhase[];
    readonly after: Position | null;
    readonly limit: number;
  }): Promise<Listing<RepairRecord>>;
  /**
   * Writes what was decided on the version of `record`, and moves it on by one. False, and nothing is written, when it is at
   * another one. With items and with an entry of the audit log: also those, in the same transaction. With a canary: so many of the pending ones are to be tried
   * first, the first ones of each lane before the second ones.
   */
  put(query: {
    readonly record: RepairRecord;
    readonly driver: RepairDriver | null;
    readonly items?: readonly NewRepairItem[];
    readonly canary?: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  /**
   * Repairs whose time has come (at or before `before`, Unix ms), earliest first, that no other process drives; from then on
   * this one does.
   */
  due(query: {
    readonly before: number;
    readonly limit: number;
    readonly driver: RepairDriver | null;
  }): Promise<readonly RepairRecord[]>;
  /** Unix ms at which `due` may give the next one; null when there is none. */
  nextAt(query: { readonly nodeId: string | null }): Promise<number | null>;

  /** Of these entries those that are there, in the order of their ids in the query. */
  describe(query: { readonly instanceId: string; readonly dlqIds: readonly string[] }): Promise<readonly RepairableEntry[]>;
  /** Which of these entries a delete covers whose undo window runs; of several deletes the earliest. */
  comingDeletions(query: { readonly instanceId: string; readonly dlqIds: readonly string[] }): Promise<readonly ComingDeletion[]>;
  /** How many items each lane has. */
  lanes(query: RepairId): Promise<readonly RepairLane[]>;
  /** In their order; of the canary, or the others as well. */
  pending(query: RepairId & { readonly canaryOnly: boolean; readonly limit: number }): Promise<readonly RepairItemRecord[]>;
  counts(query: RepairId): Promise<{ readonly all: RepairCounts; readonly canary: RepairCounts }>;
  /** Looks at `limit` started items behind place `after`; `next` is where to go on, null at the end. */
  endedItems(query: RepairId & { readonly after: number; readonly limit: number }): Promise<{
    readonly ended: readonly EndedItem[];
    /** How many were looked at. */
    readonly looked: number;
    readonly next: number | null;
  }>;
  /** Writes how these ended, those that are still started; gives the places of these. */
  settle(query: RepairId & { readonly items: readonly EndedItem[]; readonly at: number }): Promise<readonly number[]>;
  /** By place, behind place `after`. */
  items(
    query: RepairId & { readonly states?: readonly RepairItemState[]; readonly after: number; readonly limit: number },
  ): Promise<{ readonly items: readonly RepairItemRecord[]; readonly next: number | null }>;

  /**
   * Removes items, and then the repairs, of those that were over before `before` (Unix ms; null: none of these), and of those
   * that were planned before `plannedBefore` and never started; a bounded number of rows. False when there is nothing more
   * to remove.
   */
  removeBefore(query: {
    readonly instanceId: string;
    readonly before: number | null;
    readonly plannedBefore: number;
    readonly limit: number;
  }): Promise<boolean>;
}
