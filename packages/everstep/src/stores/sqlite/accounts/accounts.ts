/** The accounts of the embedded store. */
import type { AccountStore } from '../../../ports/stores/account-store.js';
import { StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { createAccounts } from '../../shared/accounts/accounts.js';
import { listDayCounts } from '../../shared/accounts/day-counts.js';
import { createUsage } from '../../shared/accounts/usage.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { localWork } from '../../shared/sql/procedure.js';
import type { SqlSession } from '../connection/sql-session.js';
import type { StoreParts } from '../connection/store-parts.js';

export function createSqliteAccounts({ sums, usage, dayCounts, storedBytes }: StoreParts, store: SqlSession): AccountStore {
  /** Adds all unsettled sums to their tables. */
  const settleSums = async (): Promise<void> => {
    if (sums.isEmpty) return;
    try {
      await store.write(() => localWork(() => sums.settle()), { durable: false });
    } catch (error) {
      // A store that rejects writes can still be read, without the counts of its last commits.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  };
  const { usage: usageOf, usageByDay } = createUsage(store);
  return createAccounts(store, {
    addAudit: addSealedAudit,
    recordInstance: (instanceId, price) => localWork(() => usage.updateBill(instanceId, price)),
    recordDeletion: (instanceId) => localWork(() => usage.updateBill(instanceId, undefined)),
    async totalsOf({ accountId }) {
      await settleSums();
      return storedBytes.totalsOfAccount(accountId);
    },
    async usage(query) {
      await settleSums();
      return usageOf(query);
    },
    async usageByDay(query) {
      await settleSums();
      return usageByDay(query);
    },
    countOfDay: (counts) =>
      store.write(() =>
        localWork(() => {
          for (const count of counts) dayCounts.add(count);
        }),
      ),
    async countsByDay({ instanceId, fromDay }) {
      await settleSums();
      return store.read(listDayCounts(instanceId, fromDay));
    },
  });
}
