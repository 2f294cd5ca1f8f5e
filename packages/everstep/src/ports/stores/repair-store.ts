/**
 * Repairs in the store: bulk jobs over dead letters, and the entries that each of them has selected. A repair is written only if
 * it still has the version that was read, so if several processes decide on it, only one succeeds. The outcome of an entry is
 * written in the unit that produces it (`set-repair-item`), guarded by that version (`repair-at`).
 */
import type { CanaryGroup, Repair, RepairCounts, RepairItemState, RepairPhase } from '../../engine/dead-letters/repair.js';
import type { Overrides } from '../../engine/runs/settings.js';
import type { AuditEntry } from './accounts/records.js';
import type { DeadLetterFilter } from './filters.js';
import type { Listing, Position } from './page.js';

/** A repair as it is stored. */
export interface RepairRecord {
  readonly repair: Repair;
  readonly filter: DeadLetterFilter;
  readonly overrides: Overrides;
  /** Progress of freezing the entries; null when all entries are frozen. */
  readonly freezing: FreezeProgress | null;
  /** Time of the next action, Unix ms; null if there is none. */
  readonly wakeAt: number | null;
  /** Number of times the repair was written after its creation. */
  readonly version: number;
}

/** Progress of freezing: the last frozen position, and the position after the last entry to freeze. */
export interface FreezeProgress {
  readonly after: Position | null;
  readonly horizon: Position;
}

/** A dead letter with the properties that a plan needs. */
export interface RepairableEntry {
  readonly dlqId: string;
  /** Key of the failed run. */
  readonly runKey: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  /** Time when the run failed, Unix ms. */
  readonly failedAt: number;
  /** Number of steps in its journal. */
  readonly steps: number;
  /** Fingerprint of its group; null if it has none yet. */
  readonly fingerprint: string | null;
}

/** An entry that is added to a repair. */
export interface NewRepairItem extends Omit<RepairableEntry, 'failedAt' | 'steps'> {
  /** Index in the repair, from 0. */
  readonly n: number;
  /** Index among the entries of its cohort, from 0; null for entries that are too far back to be in the canary. */
  readonly rank: number | null;
}

/** An entry of a repair as it is stored. */
export interface RepairItemRecord extends Omit<NewRepairItem, 'rank'> {
  readonly state: RepairItemState;
  readonly canary: boolean;
  readonly newRunKey: string | null;
  readonly newWorkflowRunId: string | null;
  readonly newDlqId: string | null;
  readonly error: string | null;
  /** Time when the entry entered its state, Unix ms; null while it is pending. */
  readonly at: number | null;
}

/** A cohort: entries of one workflow with the same failure group. */
export interface RepairCohort {
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

/** The process that drives a repair, if several share the store. No other process drives it before `until` (Unix ms). */
export interface RepairDriver {
  readonly nodeId: string;
  readonly until: number;
}

/** A planned deletion of a dead letter. It does not happen if the repair is aborted first. */
export interface ScheduledDeletion {
  readonly dlqId: string;
  readonly repairId: string;
  /** Earliest time of the deletion, Unix ms. */
  readonly at: number;
}

export interface RepairId {
  readonly instanceId: string;
  readonly repairId: string;
}

/** The entries of repairs. */
export interface RepairItemStore {
  /** Returns the entries that exist, in the order of the ids in the query. */
  describe(query: { readonly instanceId: string; readonly dlqIds: readonly string[] }): Promise<readonly RepairableEntry[]>;
  /**
   * Returns the scheduled deletions of these entries by bulk deletes that can still be undone. If there are several for an entry,
   * returns the earliest.
   */
  scheduledDeletions(query: {
    readonly instanceId: string;
    readonly dlqIds: readonly string[];
  }): Promise<readonly ScheduledDeletion[]>;
  /** Returns the number of entries of each cohort. */
  cohorts(query: RepairId): Promise<readonly RepairCohort[]>;
  /**
   * Returns pending entries in order: only those of the canary, or all. The canary takes one entry of each cohort before a
   * second entry of any cohort.
   */
  pending(query: RepairId & { readonly canaryOnly: boolean; readonly limit: number }): Promise<readonly RepairItemRecord[]>;
  /** Returns the entries of the canary by group, in the order of their fingerprints. */
  canaryGroups(query: RepairId): Promise<readonly CanaryGroup[]>;
  counts(query: RepairId): Promise<{ readonly all: RepairCounts; readonly canary: RepairCounts }>;
  /** Examines `limit` started entries after index `after`. `next` is the index to continue after; null at the end. */
  endedItems(query: RepairId & { readonly after: number; readonly limit: number }): Promise<{
    readonly ended: readonly EndedItem[];
    /** Number of examined entries. */
    readonly examined: number;
    readonly next: number | null;
  }>;
  /** Writes the outcomes of entries that are still started, and returns their indexes. */
  settle(query: RepairId & { readonly items: readonly EndedItem[]; readonly at: number }): Promise<readonly number[]>;
  /** Removes entries, at most `limit`. Returns their number. */
  removeItems(query: RepairId & { readonly limit: number }): Promise<number>;
  /** Lists entries by index, after index `after`. */
  items(
    query: RepairId & { readonly states?: readonly RepairItemState[]; readonly after: number; readonly limit: number },
  ): Promise<{ readonly items: readonly RepairItemRecord[]; readonly next: number | null }>;
}

/** The store of repairs. */
export interface RepairStore extends RepairItemStore {
  /**
   * Creates a repair at version 0. Returns false without a write if `maxOpen` is given, and the instance already has this many
   * repairs that have not ended.
   */
  create(query: {
    readonly record: RepairRecord;
    readonly driver: RepairDriver | null;
    readonly maxOpen?: number;
  }): Promise<boolean>;
  find(query: RepairId): Promise<RepairRecord | null>;
  /** Lists repairs, newest first. */
  list(query: {
    readonly instanceId: string;
    readonly phases?: readonly RepairPhase[];
    readonly after: Position | null;
    readonly limit: number;
  }): Promise<Listing<RepairRecord>>;
  /**
   * Writes a decision that was made on the version of `record`, and increments the version. Returns false without a write if the
   * repair has another version. Also writes the items and the audit entry, if given, in the same transaction. If `canary` is
   * given, marks this number of pending entries for the canary: the first entry of each cohort before the second ones.
   */
  put(query: {
    readonly record: RepairRecord;
    readonly driver: RepairDriver | null;
    readonly items?: readonly NewRepairItem[];
    readonly canary?: number;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
  /**
   * Claims repairs that are due at or before `before` (Unix ms) and that no other process drives: those that are driven by
   * `driver` already keep their lease, which is renewed when less than half of it remains. Returns the earliest repair of each
   * instance before the second one of any instance.
   */
  claimDue(query: {
    readonly before: number;
    readonly limit: number;
    readonly limitPerInstance: number;
    /** Repairs that are not returned. */
    readonly except: readonly RepairId[];
    readonly driver: RepairDriver | null;
  }): Promise<readonly RepairRecord[]>;
  /** Renews the leases of those of the repairs that `driver` still drives, when less than half remains at `now` (Unix ms). */
  renewLeases(query: {
    readonly repairIds: readonly RepairId[];
    readonly now: number;
    readonly driver: RepairDriver;
  }): Promise<void>;
  /** Returns the earliest time after `after` when a process can claim a repair, Unix ms; null if there is none. */
  nextAt(query: { readonly nodeId: string | null; readonly after: number }): Promise<number | null>;

  /**
   * Removes ended repairs with their entries, a limited number of rows per call: those that ended before `before` (Unix ms; null
   * selects none), and those planned before `plannedBefore` that never started. Returns false if nothing is left to remove.
   */
  removeBefore(query: {
    readonly instanceId: string;
    readonly before: number | null;
    readonly plannedBefore: number;
    readonly limit: number;
  }): Promise<boolean>;
}
