/** The store in a PostgreSQL database, which several processes may use at once. */

import type { Cluster } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { NodeWorkers } from '../../ports/node-workers.js';
import type { SharedDailyRuns } from '../../ports/stores/shared-daily-runs.js';
import type { Store } from '../../ports/stores/store.js';
import { createAlertStore } from '../shared/alerts/alerts.js';
import { createAuditStore } from '../shared/audit/audit-chain.js';
import { addAudit } from '../shared/audit/audit-log.js';
import { createControls } from '../shared/control/controls.js';
import { createInsights } from '../shared/insights/insights.js';
import { createSearchIndexes } from '../shared/search/search-indexes.js';
import { createPostgresAccounts } from './accounts/accounts.js';
import { createSharedDailyRuns } from './accounts/shared-daily-runs.js';
import { readClaimed, readNextUnclaimedAt } from './cluster/claims.js';
import { DEFAULT_LEASE_MS, PostgresCluster, type PostgresClusterOptions } from './cluster/cluster.js';
import { ExclusiveWork } from './cluster/exclusive-work.js';
import { BatchWriter, type Commits } from './commit/batch-writer.js';
import { readLatestTime } from './commit/clock-marks.js';
import type { RunInInstance } from './commit/known-run.js';
import { Database, type DatabaseOptions } from './connection/connection.js';
import { gatherWhenBusy } from './connection/cpu-load.js';
import { locationOfUrl, StoreOpenError } from './connection/errors.js';
import { migrate } from './connection/migrate.js';
import { Primary } from './connection/primary.js';
import { probeWrites } from './connection/probe-write.js';
import { SqlSession } from './connection/sql-session.js';
import { checkTls, tlsNotice } from './connection/tls.js';
import { countQueuedMessages, listRetriedMessages } from './control/queue-records.js';
import { instancesWithDueSchedules } from './control/schedule-records.js';
import { createPostgresDeadLetterGroups } from './dead-letters/dead-letter-groups.js';
import { removeInstanceRows } from './instance-removal/instance-rows.js';
import {
  deadLetterHorizon,
  findDeadLetter,
  listDeadLetterIds,
  listDeadLetters,
  loadDeadLetterBodies,
} from './listing/dead-letter-listing.js';
import { findRun, listRuns, listSearchableRuns, runHorizon } from './listing/run-listing.js';
import { createPostgresRepairs } from './repairs/repairs.js';
import { readDueInstances } from './runs/due-tasks.js';
import { hasWebhook, listWaiters } from './runs/event-reader.js';
import {
  EMPTY_JOURNAL,
  EMPTY_PART,
  findStep,
  listAttempts,
  listSteps,
  listTasks,
  loadHistory,
  readFirstTasks,
  readJournalSize,
} from './runs/history-reader.js';
import { Retention } from './runs/retention.js';
import {
  countRetriesBeforeFailure,
  filterEndedRuns,
  findInvoker,
  findInvokerAnywhere,
  listDescendants,
  loadJournal,
  loadPayload,
  loadPayloadHead,
  loadResult,
  loadRun,
  readDueTasks,
  readNextDueAt,
} from './runs/run-reader.js';
import { RunRecords } from './runs/run-records.js';
import { detectEngine } from './sharding/detection.js';
import { measure } from './storage/measure.js';
import { removeStagedSteps } from './storage/staged-journals.js';

export { StoreOpenError } from './connection/errors.js';

/** How long units are gathered while the CPU is the bottleneck. A commit then takes several times as long. */
const GATHER_MS = 10;
/**
 * The fixed cost of a batch is about that of twenty units. While a batch is in progress, units are therefore gathered until another
 * batch is worth its cost. While the CPU is the bottleneck, they are also gathered before the first batch.
 */
const CONCURRENT_BATCHES = { max: 3, minUnits: 32, gatherMs: gatherWhenBusy(GATHER_MS) };

export interface PostgresStoreOptions {
  /** URL such as `postgres://user:password@host:5432/database`. Never logged. */
  readonly url: string;
  readonly log: Log;
  /** Maximum number of connections (default 10). */
  readonly maxConnections?: number;
  /** Called after each transaction with the round-trip time of its COMMIT. */
  readonly onCommit?: (durationMs: number) => void;
  /**
   * Whether a transaction can contain units of several instances. The default is `by-instance` if the tables are sharded over
   * several servers, and `together` otherwise.
   */
  readonly commits?: Commits;
}

export interface OpenedNode {
  readonly store: Store;
  readonly cluster: Cluster & NodeWorkers;
  /** Counts the runs that plans limit, for all nodes together. */
  readonly sharedDailyRuns: SharedDailyRuns;
  /** The URL without its secrets, for display. */
  readonly location: string;
  /**
   * Sets the clock from which the due times of written tasks come. A task that is due by this clock when it is written belongs to
   * this node. The default is the time of the cluster.
   */
  setClock(now: () => number): void;
  /** Runs `work` while no other process on the same database runs such work; the others wait. */
  runExclusively<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Opens the store for one of several nodes, which must join afterward. Rejects like `openPostgresStore`. */
export async function openPostgresNode(
  options: PostgresStoreOptions & Pick<PostgresClusterOptions, 'facts' | 'leaseMs' | 'onTakeover'>,
): Promise<OpenedNode> {
  checkTls(options.url, locationOfUrl(options.url));
  const primary = new Primary(options);
  const notice = tlsNotice(options.url);
  if (notice !== null)
    options.log.warn({ store: locationOfUrl(options.url), reason: notice }, 'database TLS settings need attention');
  // An idle transaction must not hold its locks for longer than the node holds its lease.
  const database = await openDatabase({ ...options, primary, idleTransactionMs: options.leaseMs ?? DEFAULT_LEASE_MS });
  const cluster = new PostgresCluster(database, { ...options, primary });
  try {
    await cluster.readTime();
  } catch (error) {
    await cluster.leave();
    await database.close();
    throw error;
  }
  const exclusiveWork = new ExclusiveWork(database, 1);
  return {
    cluster,
    store: createPostgresStore(database, cluster, options.commits),
    sharedDailyRuns: createSharedDailyRuns(database),
    location: locationOfUrl(options.url),
    setClock: (now) => cluster.setClock(now),
    runExclusively: (work) => exclusiveWork.run('start', work),
  };
}

/**
 * Opens the store. Rejects with StoreOpenError if the database cannot be reached, was written by a newer version, or is too old,
 * and with StoreUnavailableError if it does not respond later.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  return createPostgresStore(await openDatabase(options), null, options.commits);
}

async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const location = locationOfUrl(options.url);
  checkTls(options.url, location);
  const primary = options.primary ?? new Primary(options);
  await primary.ready();
  if (!primary.isKnown) {
    primary.close();
    throw new StoreOpenError('unreachable', `${location} cannot be used: no server in this URL is reachable and accepts writes.`);
  }
  const database = new Database({ ...options, primary });
  try {
    const { hasFsync } = await migrate(database, options.url);
    database.engine = await detectEngine(database, options.log);
    if (!hasFsync) {
      options.log.warn(
        { store: location },
        'database runs with fsync off, acknowledged changes can be lost when its machine fails',
      );
    }
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/**
 * Creates a store on an open database with the latest schema. Closing the store closes the database. With a cluster, `dueTasks`
 * returns only tasks that this node has claimed.
 */
export function createPostgresStore(
  database: Database,
  cluster: PostgresCluster | null = null,
  commits: Commits = database.engine.isDistributed ? 'by-instance' : 'together',
): Store {
  const batches = new BatchWriter(database, () => cluster?.committing ?? null, commits, {
    onLimitsChanged: (keys) => cluster?.publishLimitChanges(keys),
  });
  cluster?.setBatchWriter(batches);
  const sqlStore = new SqlSession(database);
  const runRecords = new RunRecords(database, batches.instances);
  /** Calls `read` with the instance and key of a run. Returns `fallback` if there is no such run. */
  const withRun = async <Result, Missing>(runKey: string, read: (run: RunInInstance) => Promise<Result>, fallback: Missing) => {
    const instanceId = (await batches.instances.instancesOf([runKey])).get(runKey);
    return instanceId === undefined ? fallback : read({ instanceId, runKey });
  };
  const retention = new Retention(database);
  return {
    commit: (units) => batches.commit(units),
    concurrentBatches: CONCURRENT_BATCHES,
    ...(database.engine.servers ? { servers: database.engine.servers } : {}),
    probeWrites: () => probeWrites(database),
    loadRun: ({ runKey }) => withRun(runKey, (run) => loadRun(database, run), null),
    loadPayload: ({ runKey }) => withRun(runKey, (run) => loadPayload(database, run), null),
    payloadHead: ({ runKey }) => withRun(runKey, (run) => loadPayloadHead(database, run), null),
    loadResult: ({ runKey }) => withRun(runKey, (run) => loadResult(database, run), null),
    loadJournal: ({ runKey, from }) => withRun(runKey, (run) => loadJournal(database, run, from), []),
    dueTasks: async (query) =>
      batches.instances.rememberFrom(
        await (cluster ? readClaimed(database, cluster.nodeId, query) : readDueTasks(database, query)),
      ),
    dueInstances: ({ from, before }) => readDueInstances(database, from, before),
    nextDueAt: ({ after }) => (cluster ? readNextUnclaimedAt(database, after) : readNextDueAt(database, after)),
    async findRun(query) {
      if ('runKey' in query) return runRecords.find(query.runKey);
      const run = await findRun(database, query.instanceId, query.workflowRunId, query.createdAt);
      if (run) batches.instances.remember(run.key, query.instanceId);
      return run;
    },
    async filterEndedRuns({ runKeys }) {
      const instances = await batches.instances.instancesOf(runKeys);
      const runs = [...instances].map(([runKey, instanceId]) => ({ instanceId, runKey }));
      const endedRuns = await filterEndedRuns(database, runs);
      return [...endedRuns.map(({ runKey }) => runKey), ...runKeys.filter((runKey) => !instances.has(runKey))];
    },
    runHistory: (query) => withRun(query.runKey, (run) => loadHistory(database, { ...query, run }), null),
    journalSize: ({ runKey }) => withRun(runKey, (run) => readJournalSize(database, run), EMPTY_JOURNAL),
    listSteps: (query) => withRun(query.runKey, (run) => listSteps(database, { ...query, run }), EMPTY_PART),
    listTasks: (query) => withRun(query.runKey, (run) => listTasks(database, { ...query, run }), EMPTY_PART),
    firstTasks: (query) => readFirstTasks(database, query),
    listAttempts: (query) => withRun(query.runKey, (run) => listAttempts(database, { ...query, run }), EMPTY_PART),
    findStep: ({ runKey, stepId, maxOutBytes }) => withRun(runKey, (run) => findStep(database, run, stepId, maxOutBytes), null),
    listRuns: (page) => listRuns(database, page),
    listSearchableRuns: (page) => listSearchableRuns(database, page),
    listDeadLetters: (page) => listDeadLetters(database, page),
    listDeadLetterIds: (page) => listDeadLetterIds(database, page),
    deadLetterHorizon: ({ instanceId }) => deadLetterHorizon(database, instanceId),
    runHorizon: ({ instanceId }) => runHorizon(database, instanceId),
    findDeadLetter: ({ instanceId, dlqId }) => findDeadLetter(database, instanceId, dlqId),
    loadDeadLetterBodies: ({ instanceId, dlqIds }) => loadDeadLetterBodies(database, instanceId, dlqIds),
    listWaiters: (query) => listWaiters(database, query),
    listDescendants: ({ runKey, limit }) => withRun(runKey, (run) => listDescendants(database, run, limit), []),
    countRetriesBeforeFailure: ({ runKey, at }) => withRun(runKey, (run) => countRetriesBeforeFailure(database, run, at), 0),
    async findInvoker({ childRunKey }) {
      const invoker = await withRun(childRunKey, (run) => findInvoker(database, run), null);
      return invoker ?? findInvokerAnywhere(database, childRunKey);
    },
    hasWebhook: ({ runKey, eventId }) => withRun(runKey, (run) => hasWebhook(database, run, eventId), false),
    ...createControls(sqlStore),
    countQueued: ({ instanceId, name }) => countQueuedMessages(database, instanceId, name),
    retriedInQueue: ({ instanceId, name }) => listRetriedMessages(database, instanceId, name),
    instancesWithDueSchedules: ({ before }) => instancesWithDueSchedules(database, before),
    removeEndedRuns: (query) => retention.remove(query),
    removeStagedSteps: () => removeStagedSteps(database),
    removeInstanceRows: (query) => removeInstanceRows(database, query),
    // The database server manages the space: its autovacuum makes it reusable.
    releaseSpace: async () => false,
    deadLetterGroups: createPostgresDeadLetterGroups(database, sqlStore),
    accounts: createPostgresAccounts(database, sqlStore),
    audit: createAuditStore(sqlStore),
    insights: createInsights(sqlStore),
    alerts: createAlertStore(sqlStore),
    searchIndexes: createSearchIndexes(sqlStore, addAudit),
    repairs: createPostgresRepairs(sqlStore),
    latestTime: () => readLatestTime(database),
    measure: (now) => measure(database, now),
    async close() {
      await cluster?.leave();
      await batches.idle();
      await database.close();
    },
  };
}
