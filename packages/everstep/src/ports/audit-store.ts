/**
 * What the store keeps of the audit log as a whole: its hash chain, its retention, and how far it was pushed. That entries
 * are added, with the changes that they record, is a matter of the other ports.
 */
import type { AuditNote } from '../engine/writes.js';

/** Entries are numbered in the order in which they were added; the numbers may have gaps. */
export interface ChainPosition {
  /** 0: before the first entry. */
  readonly seq: number;
  /** SHA-256, hex. */
  readonly hash: string;
}

/** An entry that is part of the chain. */
export interface ChainedEntry extends ChainPosition {
  readonly entry: AuditNote;
}

/** What is stored under one number; in a log that only the service writes there is both. */
export interface ChainLink {
  readonly seq: number;
  readonly hash: string | null;
  readonly entry: AuditNote | null;
}

export interface AuditStore {
  /** Adds up to `limit` entries to the chain that are not part of it; returns how many. Others that do so at this time wait. */
  seal(query: { readonly limit: number }): Promise<number>;
  /** Entries of the chain after a number, oldest first. `from` and `to` bound their times, Unix ms, both included. */
  chained(query: {
    readonly after: number;
    readonly limit: number;
    readonly from: number | null;
    readonly to: number | null;
  }): Promise<readonly ChainedEntry[]>;
  /** The numbers after `after` that the chain or the log has, up to the end of the chain, in their order. */
  links(query: { readonly after: number; readonly limit: number }): Promise<readonly ChainLink[]>;
  /** The last entry that was removed because of its age; the chain continues from there. */
  anchor(): Promise<ChainPosition>;
  /** The last entry of the chain, or the anchor. */
  head(): Promise<ChainPosition>;
  /**
   * Removes up to `limit` of the oldest entries of the chain that are older than `before` (Unix ms), and moves the anchor.
   * Entries behind one that is younger stay. Returns how many were removed.
   */
  removeBefore(query: { readonly before: number; readonly limit: number }): Promise<number>;
  /** Takes the right to push until a time (Unix ms), and returns the number pushed last; null: somebody else has it. */
  claimPush(query: { readonly now: number; readonly until: number }): Promise<number | null>;
  /** Notes that everything up to a number was pushed, and keeps the right until a time. */
  movePush(query: { readonly seq: number; readonly until: number }): Promise<void>;
}
