/**
 * The audit log as a whole: its hash chain, its retention, and the last entry that was pushed to the webhook. Other ports add
 * entries, together with the changes that they record.
 */
import type { AuditNote } from '../../engine/writes.js';

/** Position in the chain. Entries are numbered in the order in which they were added; the numbers can have gaps. */
export interface ChainPosition {
  /** Number of the entry; 0 is before the first entry. */
  readonly seq: number;
  /** SHA-256 of the chain up to this entry, in hexadecimal. */
  readonly hash: string;
}

/** An entry that is part of the chain. */
export interface ChainedEntry extends ChainPosition {
  readonly entry: AuditNote;
}

/** The stored hash and entry with one number. Both are present unless another program has changed the log. */
export interface ChainLink {
  readonly seq: number;
  readonly hash: string | null;
  readonly entry: AuditNote | null;
}

/** The store of the audit log. */
export interface AuditStore {
  /** Extends the chain by up to `limit` entries that are not part of it yet, and returns their number. Concurrent callers wait. */
  seal(query: { readonly limit: number }): Promise<number>;
  /** Lists entries of the chain after the number `after`, oldest first. `from` and `to` limit their times, Unix ms, inclusive. */
  chained(query: {
    readonly after: number;
    readonly limit: number;
    readonly from: number | null;
    readonly to: number | null;
  }): Promise<readonly ChainedEntry[]>;
  /** Lists the numbers after `after` that the chain or the log contains, up to the end of the chain, in order. */
  links(query: { readonly after: number; readonly limit: number }): Promise<readonly ChainLink[]>;
  /** Returns the last entry that was removed because of its age. The chain continues from it. */
  anchor(): Promise<ChainPosition>;
  /** Returns the last entry of the chain, or the anchor. */
  head(): Promise<ChainPosition>;
  /**
   * Removes up to `limit` of the oldest entries of the chain that are older than `before` (Unix ms), and moves the
   * anchor. Entries after a newer one stay. Returns the number of removed entries.
   */
  removeBefore(query: { readonly before: number; readonly limit: number }): Promise<number>;
  /**
   * Claims the right to push until `until` (Unix ms), and returns the number of the entry that was pushed last; null if another
   * process has the right.
   */
  claimPush(query: { readonly now: number; readonly until: number }): Promise<number | null>;
  /** Records that all entries up to the number `seq` were pushed, and extends the claim until `until` (Unix ms). */
  movePush(query: { readonly seq: number; readonly until: number }): Promise<void>;
}
