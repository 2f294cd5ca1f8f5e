/** The audit log: entries are added, in the transaction of the change that they tell of, and read. Nothing else is possible. */
import type { AccountId, AuditEntry } from '../../../ports/stores/account-store.js';
import { type Database, statement, type TransactionSession } from '../connection/connection.js';
import { entryOf } from './entry-rows.js';

/**
 * Transactions that add entries share a lock, so they do not wait for each other. Who reads them in their order has it alone:
 * then every entry that has a number is there to be read, and none with a lower number comes later. "EVAU"; the schema is the
 * second half, as others may use the same database.
 */
const LOCK = `${0x45564155}, hashtext(current_schema())`;
const WITH_OTHERS = statement(`SELECT pg_advisory_xact_lock_shared(${LOCK})`);
export const ALONE = statement(`SELECT pg_advisory_xact_lock(${LOCK})`);
const INSERT = statement(`
  WITH entry AS (
    INSERT INTO audit_log (audit_id, at, actor, action, subject, address, account_ids, details, request)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $10) RETURNING seq)
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

const SELECT_ALL = statement(`
  SELECT * FROM audit_log WHERE $1::text IS NULL OR seq < (SELECT seq FROM audit_log WHERE audit_id = $1)
  ORDER BY seq DESC LIMIT $2`);

/** The last thing that a transaction does. Sends it; the transaction fails when there is an entry with this id. */
export function addAudit(session: TransactionSession, entry: AuditEntry): void {
  const { auditId, at, actor, action, subject, address, accountIds, details } = entry;
  const texts = [JSON.stringify(accountIds), JSON.stringify(details)];
  session.send(WITH_OTHERS);
  const request = entry.request === undefined ? null : JSON.stringify(entry.request);
  session.send(INSERT, [auditId, at, actor, action, subject, address, ...texts, accountIds, request]);
}

/**
 * Entries that one of these accounts may read (null: all entries), in the order of their numbers, newest first. Waits until
 * entries that are being added are there to be read: so a page that begins behind an entry misses none.
 */
export async function listAudit(
  database: Database,
  accountIds: readonly AccountId[] | null,
  after: string | null,
  limit: number,
): Promise<readonly AuditEntry[]> {
  return database.transaction(async (session) => {
    await session.query(ALONE);
    const rows = await (accountIds === null
      ? session.query(SELECT_ALL, [after, limit])
      : session.query(SELECT, [accountIds, after, limit]));
    return rows.map(entryOf);
  });
}
