/** Holds a part of the audit log against its hash chain. */
import type { ChainLink } from '../ports/audit-store.js';
import { hashOf } from './chain.js';

export interface ChainFault {
  readonly seq: number;
  /** Null: the entry is gone. */
  readonly auditId: string | null;
  /**
   * `changed`: the entry does not have the hash of the chain, or an entry before it and its hash are gone. `removed`: the chain
   * has a hash of an entry that is gone. `inserted`: the chain has no hash of the entry.
   */
  readonly kind: 'changed' | 'removed' | 'inserted';
}

export interface Verified {
  readonly faults: readonly ChainFault[];
  /** The hash before the next link. */
  readonly hash: string;
}

/** `previous` is the hash before the first of the links. What follows a fault is held against the hash that the chain has. */
export function verifyLinks(previous: string, links: readonly ChainLink[]): Verified {
  const faults: ChainFault[] = [];
  let before = previous;
  for (const { seq, hash, entry } of links) {
    const fault = (kind: ChainFault['kind']) => faults.push({ seq, auditId: entry?.auditId ?? null, kind });
    if (hash === null) fault('inserted');
    else if (entry === null) fault('removed');
    else if (hashOf(before, entry) !== hash) fault('changed');
    before = hash ?? before;
  }
  return { faults, hash: before };
}
