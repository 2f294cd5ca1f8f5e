/** The accounts of the PostgreSQL store. */
import type { AccountStore } from '../../../ports/stores/account-store.js';
import { createAccounts } from '../../shared/accounts/accounts.js';
import { listDayCounts } from '../../shared/accounts/day-counts.js';
import { createUsage } from '../../shared/accounts/usage.js';
import { addAudit } from '../../shared/audit/audit-log.js';
import { send } from '../../shared/sql/procedure.js';
import { sql } from '../../shared/sql/sql.js';
import { ExclusiveWork } from '../cluster/exclusive-work.js';
import type { Database } from '../connection/connection.js';
import type { SqlSession } from '../connection/sql-session.js';
import { readInstanceTotals } from '../storage/stored-bytes.js';
import { countDays, OldDays } from './day-counts.js';

/** Changes of different accounts that this process makes at once. Each uses a connection besides that of its transaction. */
const MAX_CONCURRENT_CHANGES = 2;

export function createPostgresAccounts(database: Database, sqlStore: SqlSession): AccountStore {
  const oldDays = new OldDays(database);
  const exclusiveWork = new ExclusiveWork(database, MAX_CONCURRENT_CHANGES);
  return createAccounts(sqlStore, {
    addAudit,
    // The first price also applies to messages that were counted before the instance had a price.
    *recordInstance(instanceId, price) {
      if (price !== undefined)
        yield* send(sql`
          UPDATE queue_instance SET first_price = coalesce(first_price, ${price}) WHERE instance_id = ${instanceId}`);
    },
    // The rows that store the latest time of the instance are removed, so it is stored in a row that belongs to no instance.
    *recordDeletion(_instanceId, at) {
      yield* send(sql`
        INSERT INTO clock_mark (shard, latest_time) VALUES (0, ${at}) ON CONFLICT (shard) DO UPDATE
          SET latest_time = excluded.latest_time WHERE clock_mark.latest_time < excluded.latest_time`);
    },
    runExclusively: (work, accountIds) => exclusiveWork.runForIds('accounts', accountIds, work),
    totalsOf: ({ accountId }) => readInstanceTotals(database, accountId),
    ...createUsage(sqlStore),
    async countOfDay(counts) {
      if (counts.length === 0) return;
      await database.transaction(async (session) => countDays(session, counts));
      await oldDays.recordCounts(counts);
    },
    countsByDay: ({ instanceId, fromDay }) => sqlStore.read(listDayCounts(instanceId, fromDay)),
  });
}
