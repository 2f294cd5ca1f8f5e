/** Groups of dead letters, as a store keeps them: in the unit that adds or takes an entry, its group is counted. */
import type { FailureGroup, GroupPlace, GroupState, GroupTimes } from '../engine/dead-letter-groups.js';
import type { FailedAttempt } from '../engine/run.js';
import type { AuditEntry } from './account-store.js';
import type { Listing, Position } from './store.js';

/** Times are Unix ms. */
export interface DeadLetterGroupRecord extends GroupTimes {
  readonly instanceId: string;
  readonly fingerprint: string;
  readonly kind: FailureGroup['kind'];
  readonly stepName: string | null;
  readonly responseStatus: number | null;
  readonly message: string;
  readonly lastSeenAt: number;
  /** How many there are now, and how many ever came. */
  readonly entries: number;
  readonly total: number;
  readonly acknowledgedBy: string | null;
  /** Null from the moment at which an entry came again. */
  readonly resolvedAt: number | null;
  /** The newest entry. */
  readonly exampleDlqId: string | null;
  /** Those with most entries first. */
  readonly workflows: readonly { readonly workflowUrl: string; readonly entries: number }[];
  /** Of the last 24 hours (since 1970, UTC) those in which any came. */
  readonly hours: readonly { readonly hour: number; readonly count: number }[];
}

export interface DeadLetterGroupFilter {
  readonly kind: FailureGroup['kind'];
  readonly states?: readonly GroupState[];
  /** Groups that have an entry of any of these now. */
  readonly workflowUrls?: readonly string[];
  /** Unix ms, inclusive: last seen at or after, first seen at or before. */
  readonly fromDate?: number;
  readonly toDate?: number;
  /** Those that have no entry now, too. */
  readonly withEmpty?: boolean;
}

export interface DeadLetterGroupPage {
  readonly instanceId: string;
  readonly filter: DeadLetterGroupFilter;
  /** Unix ms: states follow from it, so it is the same for all pages of a listing. */
  readonly now: number;
  readonly after: Position | null;
  readonly limit: number;
}

/** `resolve` acknowledges it as well, where nobody has. `by` says who. */
export interface GroupMark {
  readonly kind: 'acknowledge' | 'resolve';
  /** Unix ms. */
  readonly at: number;
  readonly by: string;
}

/** An entry that has no group yet, with what its group follows from. */
export interface UngroupedEntry {
  readonly instanceId: string;
  readonly dlqId: string;
  readonly kind: FailureGroup['kind'];
  readonly workflowUrl: string;
  readonly responseStatus: number | null;
  readonly error: string;
  /** The attempt with which the run failed; null when none is kept. */
  readonly attempt: Pick<FailedAttempt, 'name' | 'cause' | 'message'> | null;
}

export interface DeadLetterGroupStore {
  /** Regressed ones, then new ones, then known ones; within them those that were seen last first. */
  list(page: DeadLetterGroupPage): Promise<Listing<DeadLetterGroupRecord>>;
  /** Null when there is none. `now` (Unix ms) ends the hours that are told. */
  find(query: {
    readonly instanceId: string;
    readonly fingerprint: string;
    readonly now: number;
  }): Promise<DeadLetterGroupRecord | null>;
  /** With its audit entry, in one transaction; false, and nothing happens, when there is no such group. */
  mark(query: {
    readonly instanceId: string;
    readonly fingerprint: string;
    readonly mark: GroupMark;
    readonly audit: AuditEntry;
  }): Promise<boolean>;
  /** Entries without a group, oldest first. */
  ungrouped(query: { readonly limit: number }): Promise<readonly UngroupedEntry[]>;
  /** Puts entries into groups, durably; those that have left or were grouped meanwhile are left alone. */
  group(query: {
    readonly entries: readonly { readonly instanceId: string; readonly dlqId: string; readonly group: FailureGroup }[];
  }): Promise<void>;
  /**
   * Counts the entries of at most so many groups behind `after` anew, where a process of a version before there were groups
   * may have taken some without counting; nothing where there is none. Returns where to go on, or null at the end.
   */
  recount(query: { readonly after: GroupPlace | null; readonly limit: number }): Promise<GroupPlace | null>;
  /** Forgets what need not be kept any longer, at most so many rows of each kind; returns how many in all. */
  tidy(query: { readonly now: number; readonly limit: number }): Promise<number>;
}
