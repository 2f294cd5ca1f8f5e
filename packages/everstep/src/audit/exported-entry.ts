/** An audit log entry as exported and pushed: a line of JSON. */
import type { ChainedEntry } from '../ports/stores/audit-store.js';

export const NDJSON_TYPE = 'application/x-ndjson';

/**
 * Returns the entry as a line. Its hash can be computed from this line and the hash of the previous line; see
 * `docs/operations/audit.md`.
 */
export function exportLine({ seq, hash, entry }: ChainedEntry): string {
  const { auditId, at, actor, action, subject, address, accountIds, details, request } = entry;
  const requestFields = request && {
    operation: request.operation,
    credential: request.credential,
    user_agent: request.userAgent,
    queue_id: request.instanceId,
    outcome: request.outcome,
  };
  const fields = { seq, hash, id: auditId, at, actor, action, subject, address, account_ids: accountIds, details };
  return `${JSON.stringify({ ...fields, request: requestFields ?? null })}\n`;
}

/** Returns the entries as NDJSON. */
export const exportLines = (entries: readonly ChainedEntry[]): Buffer => Buffer.from(entries.map(exportLine).join(''));
