/** The store in a PostgreSQL database, which several processes may use at once. */
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/store.js';
import { createAccounts } from './accounts.js';
import { Database } from './connection.js';
import { placeOfUrl } from './errors.js';
import { findFlowControl, listFlowControls } from './flow-control-records.js';
import { listHolds } from './hold-records.js';
import { findInstanceSettings } from './instance-records.js';
import { migrate } from './migrate.js';
import { countSchedules, dueSchedules, findSchedule, listSchedules, nextScheduleAt } from './schedule-records.js';
import { createSearchIndexes } from './search-indexes.js';

export { StoreOpenError, type StoreOpenErrorCode } from './errors.js';

export interface PostgresStoreOptions {
  /** Such as `postgres://user:password@host:5432/database`. Never logged. */
  readonly url: string;
  readonly log: Log;
  /** At most so many connections; absent: 10. */
  readonly maxConnections?: number;
}

const notBuilt = (): never => {
  throw new Error('not built yet');
};

/** Rejects with StoreOpenError when the database cannot be reached, was written by a newer version, or is too old. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const database = new Database(options);
  try {
    const facts = await migrate(database, options.url);
    if (!facts.fsync) {
      options.log.warn(
        { store: placeOfUrl(options.url) },
        'the database runs with fsync off: what was acknowledged may be lost when its machine fails',
      );
    }
  } catch (error) {
    await database.close();
    throw error;
  }
  return createPostgresStore(database);
}

/** A store on an open database with the latest schema, which it closes in the end. */
export function createPostgresStore(database: Database): Store {
  return {
    commit: async () => notBuilt(),
    loadRun: async () => notBuilt(),
    loadPayload: async () => notBuilt(),
    loadJournal: async () => notBuilt(),
    dueTasks: async () => notBuilt(),
    nextDueAt: async () => notBuilt(),
    findRun: async () => notBuilt(),
    runRecord: async () => notBuilt(),
    runHistory: async () => notBuilt(),
    listRuns: async () => notBuilt(),
    listDeadLetters: async () => notBuilt(),
    listDeadLetterIds: async () => notBuilt(),
    deadLetterHorizon: async () => notBuilt(),
    runHorizon: async () => notBuilt(),
    findDeadLetter: async () => notBuilt(),
    listWaiters: async () => notBuilt(),
    invokerOf: async () => notBuilt(),
    hasWebhook: async () => notBuilt(),
    listFlowControls: ({ instanceId }) => listFlowControls(database, instanceId),
    findFlowControl: ({ instanceId, key }) => findFlowControl(database, instanceId, key),
    listSchedules: ({ instanceId }) => listSchedules(database, instanceId),
    countSchedules: ({ instanceId }) => countSchedules(database, instanceId),
    findSchedule: ({ instanceId, scheduleId }) => findSchedule(database, instanceId, scheduleId),
    dueSchedules: ({ before, limit }) => dueSchedules(database, before, limit),
    nextScheduleAt: () => nextScheduleAt(database),
    listHolds: ({ instanceId }) => listHolds(database, instanceId),
    instanceSettings: ({ instanceId }) => findInstanceSettings(database, instanceId),
    removeEndedRuns: async () => notBuilt(),
    // Space is the server's: its autovacuum uses it again.
    releaseSpace: async () => false,
    accounts: createAccounts(database),
    searchIndexes: createSearchIndexes(database),
    latestTime: async () => notBuilt(),
    close: () => database.close(),
  };
}
