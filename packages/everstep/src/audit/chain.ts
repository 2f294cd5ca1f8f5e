/**
 * The hash chain of the audit log: the hash of an entry covers the entry and the previous hash. The chain reveals entries that
 * were changed, removed or inserted outside the server.
 */
import { createHash } from 'node:crypto';
import type { AuditNote } from '../engine/writes.js';
import type { ChainLink } from '../ports/stores/audit-store.js';

/** Hash that replaces the previous hash for the first entry. */
export const GENESIS = '0'.repeat(64);

/** Returns the SHA-256 hash, in hexadecimal, of a JSON list: the previous hash, and the fields of the entry in this order. */
export function hashOf(previousHash: string, entry: AuditNote): string {
  const { auditId, at, actor, action, subject, address, accountIds, details, request } = entry;
  const requestFields = request && [
    request.operation,
    request.credential,
    request.userAgent,
    request.instanceId,
    request.outcome,
  ];
  const fields = [previousHash, auditId, at, actor, action, subject, address, accountIds, details, requestFields ?? null];
  return createHash('sha256').update(JSON.stringify(fields)).digest('hex');
}

/** Joins hashes and entries by sequence number, in order. Returns at most `limit`, so that the next page misses nothing. */
export function linksOf(
  hashes: ReadonlyMap<number, string>,
  entries: ReadonlyMap<number, AuditNote>,
  limit: number,
): readonly ChainLink[] {
  const seqs = [...new Set([...hashes.keys(), ...entries.keys()])].sort((a, b) => a - b);
  return seqs.slice(0, limit).map((seq) => ({ seq, hash: hashes.get(seq) ?? null, entry: entries.get(seq) ?? null }));
}
