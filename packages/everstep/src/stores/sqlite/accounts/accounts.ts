/** The accounts of the embedded store. */
import type { AccountStore } from '../../../ports/stores/account-store.js';
import { createAccounts } from '../../shared/accounts/accounts.js';
import { listDayCounts } from '../../shared/accounts/day-counts.js';
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
    usage: async ({ instanceId, fromMonth }) => usage.list(instanceId, fromMonth),
    usageOfDays: async ({ instanceId, fromDay }) => usage.listDays(instanceId, fromDay),
    countOfDay: (counts) => store.write(() => own(() => days.write(counts))),
    countsOfDays: ({ instanceId, fromDay }) => store.read(listDayCounts(instanceId, fromDay)),
  });
}
