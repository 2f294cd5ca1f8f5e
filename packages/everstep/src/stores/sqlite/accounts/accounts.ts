/** The accounts of the embedded store. */
import type { AccountStore } from '../../../ports/stores/account-store.js';
import { createAccounts } from '../../shared/accounts/accounts.js';
import { listDayCounts } from '../../shared/accounts/day-counts.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { own } from '../../shared/sql/procedure.js';
import type { StoreParts } from '../connection/store-parts.js';

export function createSqliteAccounts({ sql, usage, days, stored }: StoreParts): AccountStore {
  return createAccounts(sql, {
    addAudit: addSealedAudit,
    noteInstance: (instanceId, price) => own(() => usage.instanceChanged(instanceId, price)),
    noteDeletion: (instanceId) => own(() => usage.instanceChanged(instanceId, undefined)),
    totalsOf: async ({ accountId }) => stored.ofAccount(accountId),
    usage: async ({ instanceId, fromMonth }) => usage.list(instanceId, fromMonth),
    usageOfDays: async ({ instanceId, fromDay }) => usage.listDays(instanceId, fromDay),
    countOfDay: (counts) => sql.write(() => own(() => days.write(counts))),
    countsOfDays: ({ instanceId, fromDay }) => sql.read(listDayCounts(instanceId, fromDay)),
  });
}
