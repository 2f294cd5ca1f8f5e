/** Groups of dead letters in the store. The unit that adds or removes an entry updates the counters of its group. */
import type { ErrorSource } from '@everstep/sdk/protocol';
import type { FailureGroup, GroupKey, GroupState } from '../../engine/dead-letters/dead-letter-groups.js';
import type { GroupCounts, GroupMark, TriagedGroup, TriageRefusal } from '../../engine/dead-letters/group-triage.js';
import type { FailedBy } from '../../engine/failures/error-details.js';
import type { FailedAttempt } from '../../engine/runs/run.js';
import type { AuditEntry } from './accounts/records.js';
import type { Listing, Position } from './page.js';

/** Failure of the newest entry of a group. */
export interface LatestFailure extends Pick<FailedBy, 'stepName' | 'message'> {
  /** Location in the code that threw the error; null if it is unknown. */
  readonly source: ErrorSource | null;
}

/** A group of dead letters. Times are Unix ms. */
export interface DeadLetterGroupRecord extends TriagedGroup {
  readonly instanceId: string;
  readonly fingerprint: string;
  readonly kind: FailureGroup['kind'];
  readonly stepName: string | null;
  readonly responseStatus: number | null;
  readonly message: string;
  readonly lastSeenAt: number;
  /** Current number of entries. */
  readonly entries: number;
  /** Number of entries that were ever added. */
  readonly total: number;
  readonly acknowledgedBy: string | null;
  /** Time when the group was resolved; null if it was not, or if an entry was added afterward. */
  readonly resolvedAt: number | null;
  /** Id of the newest entry; null if there is none. */
  readonly exampleDlqId: string | null;
  /** Failure of the newest entry; null if there is none. */
  readonly latest: LatestFailure | null;
  /** Workflows of the entries, those with the most entries first. */
  readonly workflows: readonly { readonly workflowUrl: string; readonly entries: number }[];
  /** Numbers of entries that were added in each of the last 24 hours, except hours without any. `hour` counts from 1970 (UTC). */
  readonly hours: readonly { readonly hour: number; readonly count: number }[];
}

export interface DeadLetterGroupFilter {
  readonly kind: FailureGroup['kind'];
  readonly states?: readonly GroupState[];
  /** Selects groups that currently have an entry of any of these workflows. */
  readonly workflowUrls?: readonly string[];
  /** Selects groups that were last seen at or after `fromDate` and first seen at or before `toDate`, Unix ms. */
  readonly fromDate?: number;
  readonly toDate?: number;
  /** Whether groups without entries are included. */
  readonly withEmpty?: boolean;
}

export interface DeadLetterGroupPage {
  readonly instanceId: string;
  readonly filter: DeadLetterGroupFilter;
  /** Current time, Unix ms. States depend on it, so it must be the same for all pages of a listing. */
  readonly now: number;
  readonly after: Position | null;
  readonly limit: number;
}

export interface DeadLetterGroupsQuery {
  readonly instanceId: string;
  readonly kind: FailureGroup['kind'];
  readonly now: number;
}

/** All groups of one kind in an instance that have entries. */
export interface DeadLetterGroupTotals extends GroupCounts {
  readonly groups: number;
  /** Number of entries of these groups. */
  readonly entries: number;
}

/** Result of a mark. Nothing has changed unless it is `done`. */
export type MarkOutcome = 'done' | 'not-found' | TriageRefusal;

/** An entry that has no group by the current rules, with the properties that determine its group. */
export interface UngroupedEntry {
  readonly instanceId: string;
  readonly dlqId: string;
  /** Fingerprint by earlier rules; null if it has no group. */
  readonly fingerprint: string | null;
  readonly kind: FailureGroup['kind'];
  readonly workflowUrl: string;
  readonly responseStatus: number | null;
  readonly error: string;
  /** The attempt that failed the run; null if none is stored. */
  readonly attempt: Pick<FailedAttempt, 'name' | 'cause' | 'message'> | null;
  /**
   * Failure of the run; null if an earlier version stored the entry. `responseBody` then contains the response, if it is
   * short.
   */
  readonly failedBy: FailedBy | null;
  readonly responseBody: Uint8Array | null;
}

/** An entry with its new group. `fingerprint` is that of its previous group. */
export interface RegroupedEntry extends Pick<UngroupedEntry, 'instanceId' | 'dlqId' | 'fingerprint'> {
  readonly group: FailureGroup;
}

/** Operations for background work on groups of dead letters. */
export interface GroupUpkeepStore {
  /** Lists entries that have no group by the current rules, oldest first. */
  ungrouped(query: { readonly limit: number }): Promise<readonly UngroupedEntry[]>;
  /**
   * Puts entries into groups, durably. Skips entries that were removed or grouped in the meantime. A group formed by earlier rules
   * is removed when its last entry moves. If all of its entries moved to the same group, that group takes over its state.
   */
  group(query: { readonly entries: readonly RegroupedEntry[] }): Promise<void>;
  /**
   * Recounts the entries of up to `limit` groups after `after`, because a process of a version without groups may have removed
   * entries without updating the counters. Does nothing if that is impossible. Returns the position to continue from, or null at
   * the end.
   */
  recount(query: { readonly after: GroupKey | null; readonly limit: number }): Promise<GroupKey | null>;
  /** Removes expired rows, at most `limit` of each kind, and returns their total number. */
  tidy(query: { readonly now: number; readonly limit: number }): Promise<number>;
}

/** The store of groups of dead letters. */
export interface DeadLetterGroupStore extends GroupUpkeepStore {
  /** Lists groups: regressed groups first, then new ones, then known ones; within a state, the most recently seen first. */
  list(page: DeadLetterGroupPage): Promise<Listing<DeadLetterGroupRecord>>;
  /**
   * Lists groups that need attention at `now` (Unix ms): regressed groups first, then new ones, then those whose snooze is over;
   * within these, the most recently seen first.
   */
  needingAttention(query: DeadLetterGroupsQuery & { readonly limit: number }): Promise<readonly DeadLetterGroupRecord[]>;
  /** Returns the totals of all groups at `now`, Unix ms. */
  totals(query: DeadLetterGroupsQuery): Promise<DeadLetterGroupTotals>;
  /** Finds a group; null if there is none. `now` (Unix ms) is the end of the returned hours. */
  find(query: {
    readonly instanceId: string;
    readonly fingerprint: string;
    readonly now: number;
  }): Promise<DeadLetterGroupRecord | null>;
  /**
   * Applies the mark to the current state of the group and writes its audit entry, in one transaction. Nothing is written
   * unless the outcome is `done`.
   */
  mark(query: {
    readonly instanceId: string;
    readonly fingerprint: string;
    readonly mark: GroupMark;
    readonly audit: AuditEntry;
  }): Promise<MarkOutcome>;
}
