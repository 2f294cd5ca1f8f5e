/** Changes of accounts and of what they own: one durable transaction each, with the entry of the audit log in it. */
import type { AuditEntry } from '../../../ports/stores/account-store.js';
import { addAudit } from '../audit/audit-log.js';
import { type Database, statement, type TransactionSession } from '../connection/connection.js';

/** Does `work` in a transaction. The entry is written when `work` did what was asked, as `happened` judges its result. */
export type AccountChange = <Result>(
  work: (session: TransactionSession) => Promise<Result>,
  audit?: AuditEntry,
  happened?: (result: Result) => boolean,
) => Promise<Result>;

export function createAccountChange(database: Database): AccountChange {
  return (work, audit, happened = () => true) =>
    database.transaction(async (session) => {
      const outcome = await work(session);
      if (audit && happened(outcome)) addAudit(session, audit);
      return outcome;
    });
}

const LOCK_ACCOUNT = statement(`
  WITH owner AS (SELECT user_id FROM account_user WHERE user_id = $1 FOR KEY SHARE),
    crew AS (SELECT team_id FROM team WHERE team_id = $1 FOR KEY SHARE)
  SELECT user_id FROM owner UNION ALL SELECT team_id FROM crew`);

/**
 * Rejects when no user and no team has this id: what is given to one that was deleted a moment ago nobody would see again.
 * Whoever wants to delete it waits until the transaction ends.
 */
export async function requireAccount(session: TransactionSession, accountId: string): Promise<void> {
  const rows = await session.query(LOCK_ACCOUNT, [accountId]);
  if (rows.length === 0) throw new Error(`there is no account ${accountId}`);
}
