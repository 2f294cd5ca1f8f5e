/** Changes of accounts and of what they own: one durable transaction each, with the entry of the audit log in it. */
import type { AuditEntry } from '../../../ports/stores/account-store.js';
import { AuditLog } from '../audit/audit-log.js';
import { type Connection, transact } from '../connection/connection.js';
import { storeErrorOf } from '../connection/errors.js';

/** Does `work` in a transaction. The entry is written when `work` did what was asked, as `happened` judges its result. */
export type AccountChange = <Result>(
  work: () => Result,
  audit?: AuditEntry,
  happened?: (result: Result) => boolean,
) => Promise<Result>;

/** Runs `work` in one transaction of the store. Throws StoreRefusesWritesError when the store does not take writes. */
export function write<Result>(connection: Connection, work: () => Result): Result {
  try {
    return transact(connection, work);
  } catch (error) {
    throw storeErrorOf(error, connection);
  }
}

export function createAccountChange(connection: Connection, log = new AuditLog(connection)): AccountChange {
  return async (work, audit, happened = () => true) => {
    const result = write(connection, () => {
      const outcome = work();
      if (audit && happened(outcome)) log.add(audit);
      return outcome;
    });
    await connection.durable();
    return result;
  };
}

/** Throws when no user and no team has this id: what is given to one that was deleted a moment ago nobody would see again. */
export function createAccountCheck(connection: Connection): (accountId: string) => void {
  const select = connection.prepare(
    'SELECT user_id FROM account_user WHERE user_id = ? UNION ALL SELECT team_id FROM team WHERE team_id = ?',
  );
  return (accountId) => {
    if (!select.get(accountId, accountId)) throw new Error(`there is no account ${accountId}`);
  };
}
