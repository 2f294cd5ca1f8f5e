/** The audit log. Entries are added in the transaction of the change that they record, and never changed. */
import type { AccountId, AuditEntry } from '../../../ports/stores/account-store.js';
import { integer } from '../../records/columns.js';
import { inIntegerList } from '../sql/dialect.js';
import { type Procedure, row, rows, send } from '../sql/procedure.js';
import { byDialect, raw, sql } from '../sql/sql.js';
import { json, NUMBER, optional, TEXT, table } from '../sql/table.js';

/**
 * In PostgreSQL, transactions that add entries share a lock, so they do not wait for each other. A reader that needs the
 * entries in order takes the lock exclusively: then every entry that has a number is visible, and no entry with a lower number
 * appears later. The key is "EVAU" and the schema, because other schemas may be in the same database.
 */
const LOCK = `${0x45564155}, hashtext(current_schema())`;
const NO_LOCK = raw('SELECT 1');
const SHARE_AUDIT_LOG = byDialect({ sqlite: NO_LOCK, postgres: raw(`SELECT pg_advisory_xact_lock_shared(${LOCK})`) });
export const LOCK_AUDIT_LOG = byDialect({ sqlite: NO_LOCK, postgres: raw(`SELECT pg_advisory_xact_lock(${LOCK})`) });

export const AUDIT_LOG = table<AuditEntry>('audit_log', {
  auditId: TEXT,
  at: NUMBER,
  actor: TEXT,
  action: TEXT,
  subject: TEXT,
  address: TEXT,
  accountIds: json(),
  details: json(),
  request: optional(json()),
});

/** Adds an entry. The transaction fails if there is an entry with this id. */
export type AddAudit = (entry: AuditEntry) => Procedure<void>;

/** Adds an entry. Must be the last step of a transaction, so that the lock is held only briefly. */
export function* addAudit(entry: AuditEntry): Procedure<void> {
  yield* send(SHARE_AUDIT_LOG);
  yield* send(AUDIT_LOG.insert(entry));
  for (const accountId of new Set(entry.accountIds)) {
    yield* send(sql`
      INSERT INTO audit_reader (account_id, entry_seq) SELECT ${accountId}, seq FROM audit_log WHERE audit_id = ${entry.auditId}`);
  }
}

/**
 * Returns entries that any of these accounts may read, or all entries if `accountIds` is null, the most recently added first.
 * Waits for entries that are being added, so a page after an entry misses none. Reads at most `limit` index rows of each account.
 * Returns no entries if there is no entry `after`.
 */
export function* listAudit(
  accountIds: readonly AccountId[] | null,
  after: string | null,
  limit: number,
): Procedure<readonly AuditEntry[]> {
  yield* rows(LOCK_AUDIT_LOG);
  const before = after === null ? Number.MAX_SAFE_INTEGER : yield* seqOf(after);
  if (before === null) return [];
  if (accountIds === null) {
    const allRows = yield* rows(sql`SELECT * FROM audit_log WHERE seq < ${before} ORDER BY seq DESC LIMIT ${limit}`);
    return allRows.map(AUDIT_LOG.read);
  }
  const seqs = new Set<number>();
  for (const accountId of new Set(accountIds)) {
    const readerRows = yield* rows(sql`
      SELECT entry_seq FROM audit_reader WHERE account_id = ${accountId} AND entry_seq < ${before}
      ORDER BY entry_seq DESC LIMIT ${limit}`);
    for (const readerRow of readerRows) seqs.add(integer(readerRow, 'entry_seq'));
  }
  const newestSeqs = [...seqs].sort((a, b) => b - a).slice(0, limit);
  const foundRows = yield* rows(sql`SELECT * FROM audit_log WHERE seq ${inIntegerList(newestSeqs)}`);
  return foundRows.toSorted((a, b) => integer(b, 'seq') - integer(a, 'seq')).map(AUDIT_LOG.read);
}

function* seqOf(auditId: string): Procedure<number | null> {
  const entry = yield* row(sql`SELECT seq FROM audit_log WHERE audit_id = ${auditId}`);
  return entry && integer(entry, 'seq');
}
