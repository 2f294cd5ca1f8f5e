/** Changes of accounts: each is one durable transaction that contains its audit entry. */
import type { AuditEntry } from '../../../ports/stores/account-store.js';
import type { AddAudit } from '../audit/audit-log.js';
import { FOR_KEY_SHARE } from '../sql/dialect.js';
import { type Procedure, row, type SqlStore } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';

/** Executes the procedure in a transaction, and adds the entry if the procedure made the change. */
export type AccountChange = <Result>(
  procedure: () => Procedure<Result>,
  audit?: AuditEntry,
  isChanged?: (result: Result) => boolean,
) => Promise<Result>;

/** Returns whether the procedure made the change. Otherwise its result is false, null or a word such as `not-found`. */
const isDone = (result: unknown): boolean =>
  typeof result === 'string' ? result === 'done' || result === 'deleted' : result !== false && result !== null;

export function createAccountChange(store: SqlStore, addAudit: AddAudit): AccountChange {
  return (procedure, audit, isChanged = isDone) =>
    store.write(function* () {
      const result = yield* procedure();
      if (audit && isChanged(result)) yield* addAudit(audit);
      return result;
    });
}

/**
 * Fails if no user and no team has this id: an object of a deleted account would be invisible. A deletion of the account waits
 * until the transaction ends.
 */
export function* requireAccount(accountId: string): Procedure<void> {
  const user = yield* row(sql`SELECT user_id FROM account_user WHERE user_id = ${accountId} ${FOR_KEY_SHARE}`);
  const account = user ?? (yield* row(sql`SELECT team_id FROM team WHERE team_id = ${accountId} ${FOR_KEY_SHARE}`));
  if (!account) throw new Error(`there is no account ${accountId}`);
}
