/** The accounts of the embedded store. */
import type { AccountStore } from '../../../ports/stores/account-store.js';
import { createAccounts } from '../../shared/accounts/accounts.js';
import { listDayCounts } from '../../shared/accounts/day-counts.js';
import { createUsage } from '../../shared/accounts/usage.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { own } from '../../shared/sql/procedure.js';
import type { SqlSession } from '../connection/sql-session.js';
import type { StoreParts } from '../connection/store-parts.js';

export function createSqliteAccounts({ usage, days, stored }: StoreParts, store: SqlSession): AccountStore {
  return createAccounts(store, {
    addAudit: addSealedAudit,
    noteInstance: (instanceId, price) => own(() => usage.instanceChanged(instanceId, price)),
    noteDeletion: (instanceId) => own(() => usage.instanceChanged(instanceId, undefined)),
    totalsOf: async ({ accountId }) => stored.ofAccount(accountId),
    ...createUsage(store),
    countOfDay: (counts) => store.write(() => own(() => days.write(counts))),
    countsOfDays: ({ instanceId, fromDay }) => store.read(listDayCounts(instanceId, fromDay)),
  });
}
