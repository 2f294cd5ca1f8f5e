/** Verifies a part of the audit log against its hash chain. */
import type { ChainLink } from '../ports/stores/audit-store.js';
import { hashOf } from './chain.js';

export interface ChainFault {
  readonly seq: number;
  /** Id of the entry; null if the entry is missing. */
  readonly auditId: string | null;
  /**
   * `changed`: the hash does not match the entry, or an earlier entry and its hash are missing. `removed`: the chain
   * has a hash, but the entry is missing. `inserted`: the chain has no hash for the entry.
   */
  readonly kind: 'changed' | 'removed' | 'inserted';
}

export interface ChainVerification {
  readonly faults: readonly ChainFault[];
  /** The hash that precedes the next link. */
  readonly hash: string;
}

/**
 * Verifies the links. `initialHash` is the hash before the first link. After a fault, verification continues with the
 * stored hash.
 */
export function verifyLinks(initialHash: string, links: readonly ChainLink[]): ChainVerification {
  const faults: ChainFault[] = [];
  let previousHash = initialHash;
  for (const { seq, hash, entry } of links) {
    const fault = (kind: ChainFault['kind']) => faults.push({ seq, auditId: entry?.auditId ?? null, kind });
    if (hash === null) fault('inserted');
    else if (entry === null) fault('removed');
    else if (hashOf(previousHash, entry) !== hash) fault('changed');
    previousHash = hash ?? previousHash;
  }
  return { faults, hash: previousHash };
}
