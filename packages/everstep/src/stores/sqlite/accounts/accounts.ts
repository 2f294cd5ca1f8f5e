/** The accounts of the embedded store. */
import type { AccountStore } from '../../../ports/stores/account-store.js';
import { StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { createAccounts } from '../../shared/accounts/accounts.js';
import { listDayCounts } from '../../shared/accounts/day-counts.js';
import { createUsage } from '../../shared/accounts/usage.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { own } from '../../shared/sql/procedure.js';
import type { SqlSession } from '../connection/sql-session.js';
import type { StoreParts } from '../connection/store-parts.js';

export function createSqliteAccounts({ sums, usage, days, stored }: StoreParts, store: SqlSession): AccountStore {
  /** Resolves when the tables contain everything that was counted. */
  const settled = async (): Promise<void> => {
    if (sums.isEmpty) return;
    try {
      await store.write(() => own(() => sums.settle()), { durable: false });
    } catch (error) {
      // A store that rejects writes can be read; the counts of its last commits are missing.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  };
  const { usage: usageOf, usageByDay } = createUsage(store);
  return createAccounts(store, {
    addAudit: addSealedAudit,
    noteInstance: (instanceId, price) => own(() => usage.instanceChanged(instanceId, price)),
    noteDeletion: (instanceId) => own(() => usage.instanceChanged(instanceId, undefined)),
    async totalsOf({ accountId }) {
      await settled();
      return stored.ofAccount(accountId);
    },
    async usage(query) {
      await settled();
      return usageOf(query);
    },
    async usageByDay(query) {
      await settled();
      return usageByDay(query);
    },
    countOfDay: (counts) =>
      store.write(() =>
        own(() => {
          for (const count of counts) days.add(count);
        }),
      ),
    async countsByDay({ instanceId, fromDay }) {
      await settled();
      return store.read(listDayCounts(instanceId, fromDay));
    },
  });
}
