/** The audit log: entries are added, in the transaction of the change that they tell of, and read. Nothing else is possible. */
import type { AccountId, AuditEntry } from '../../ports/account-store.js';
import { integer, json, type Row, text } from './columns.js';
import { type Session, statement, type TransactionSession } from './connection.js';

/**
 * Entries get their numbers one after the other, each when the one before is there to be read: so a page that goes on
 * behind an entry loses none. "EVAU"; the schema is the second half, as others may use the same database.
 */
const IN_TURN = statement(`SELECT pg_advisory_xact_lock(${0x45564155}, hashtext(current_schema()))`);
const INSERT = statement(`
  WITH entry AS (
    INSERT INTO audit_log (audit_id, at, actor, action, subject, address, account_ids, details)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING seq)
  INSERT INTO audit_reader (account_id, entry_seq)
  SELECT DISTINCT w.account_id, entry.seq FROM entry, unnest($9::text[]) AS w (account_id)`);
/** At most a page of each account is read. Nothing when there is no entry to go on behind. */
const SELECT = statement(`
  SELECT l.* FROM audit_log l
  WHERE l.seq IN (
    SELECT r.entry_seq FROM (SELECT DISTINCT unnest($1::text[]) COLLATE "C" AS account_id) a
    CROSS JOIN LATERAL (
      SELECT entry_seq FROM audit_reader
      WHERE account_id = a.account_id
        AND ($2::text IS NULL OR entry_seq < (SELECT seq FROM audit_log WHERE audit_id = $2))
      ORDER BY entry_seq DESC LIMIT $3) r)
  ORDER BY l.seq DESC LIMIT $3`);

const entryOf = (row: Row): AuditEntry => ({
  auditId: text(row, 'audit_id'),
  at: integer(row, 'at'),
  actor: text(row, 'actor'),
  action: text(row, 'action'),
  subject: text(row, 'subject'),
  details: json<AuditEntry['details']>(row, 'details'),
  address: text(row, 'address'),
  accountIds: json<AuditEntry['accountIds']>(row, 'account_ids'),
});

/** The last thing that a transaction does. Sends it; the transaction fails when there is an entry with this id. */
export function addAudit(session: TransactionSession, entry: AuditEntry): void {
  const { auditId, at, actor, action, subject, address, accountIds, details } = entry;
  const texts = [JSON.stringify(accountIds), JSON.stringify(details)];
  session.send(IN_TURN);
  session.send(INSERT, [auditId, at, actor, action, subject, address, ...texts, accountIds]);
}

/** Entries that one of these accounts may read, in the order in which they were added, newest first. */
export async function listAudit(
  session: Session,
  accountIds: readonly AccountId[],
  after: string | null,
  limit: number,
): Promise<readonly AuditEntry[]> {
  return (await session.query(SELECT, [accountIds, after, limit])).map(entryOf);
}
