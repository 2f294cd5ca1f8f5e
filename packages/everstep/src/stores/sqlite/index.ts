/** The embedded store: one SQLite file, written by this process alone, durable at every commit. */
import type { Store } from '../../ports/stores/store.js';
import { createAlertStore } from '../shared/alerts/alerts.js';
import { addSealedAudit, createAuditStore } from '../shared/audit/audit-chain.js';
import type { CheckResult } from '../shared/consistency/checks.js';
import { createControls } from '../shared/control/controls.js';
import { createInsights } from '../shared/insights/insights.js';
import { createSearchIndexes } from '../shared/search/search-indexes.js';
import { createSqliteAccounts } from './accounts/accounts.js';
import { BatchWriter } from './commit/batch-writer.js';
import { type Connection, type ConnectionOptions, openConnection } from './connection/connection.js';
import { ProbeWrite } from './connection/probe-write.js';
import { SqlSession } from './connection/sql-session.js';
import { createStoreParts } from './connection/store-parts.js';
import { Transaction } from './connection/transaction.js';
import { FlowControlRecords } from './control/flow-control-records.js';
import { QueueRecords } from './control/queue-records.js';
import { ScheduleRecords } from './control/schedule-records.js';
import { createSqliteDeadLetterGroups } from './dead-letters/dead-letter-groups.js';
import { DeadLetterWriter } from './dead-letters/dead-letter-writer.js';
import { createInstanceRemoval } from './instance-removal/instance-rows.js';
import { DeadLetterListing } from './listing/dead-letter-listing.js';
import type { PrefixLimits } from './listing/facets/members.js';
import { RunListing } from './listing/run-listing.js';
import { createSqliteRepairs } from './repairs/repairs.js';
import { EventRecords } from './runs/event-records.js';
import { HistoryReader } from './runs/history-reader.js';
import { RelatedRuns } from './runs/related-runs.js';
import { Retention } from './runs/retention.js';
import { RunReader } from './runs/run-reader.js';
import { TriggerRecords } from './runs/trigger-records.js';
import { checkConsistency } from './storage/consistency.js';
import { createMeasure } from './storage/measure.js';
import type { CopyRequest } from './storage/online-copy.js';

export { StoreOpenError } from './connection/connection.js';
export type { CopyRequest } from './storage/online-copy.js';

export interface SqliteStoreOptions extends ConnectionOptions {
  /** Path of the file, which is created if it does not exist. Its directory must exist. `:memory:` writes nothing to the disk. */
  readonly file: string;
  /**
   * Called once if the disk failed to store commits. Nothing is acknowledged from then on, but reads may return data that is not
   * on the disk: the process should end immediately and restart from the state on the disk.
   */
  readonly onDiskFailure?: (error: Error) => void;
}

/** A store on the server's own disk, which the server therefore backs up itself. */
export interface EmbeddedStore extends Store {
  /** Copies the store into another file while writes continue. The copy contains the state at the moment when it completes. */
  copyTo(request: CopyRequest): Promise<void>;
  /** Checks the invariants over the whole store. Blocks the process while it reads everything. */
  checkConsistency(): readonly CheckResult[];
}

/**
 * Opens a store. Rejects with StoreOpenError if the file is in use, too new, not a store, or has lost commits, and with
 * StoreUnavailableError if the file cannot be written for now.
 */
export async function openSqliteStore({ file, ...options }: SqliteStoreOptions): Promise<EmbeddedStore> {
  const connection = openConnection(file, options);
  try {
    return createSqliteStore(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Creates a store on an open connection, which `close` closes. */
export function createSqliteStore(connection: Connection, prefixLimits?: PrefixLimits): EmbeddedStore {
  const parts = createStoreParts(connection, prefixLimits);
  const transaction = new Transaction(parts);
  const store = new SqlSession(parts, transaction);
  const [flowControls, queues, schedules] = [new FlowControlRecords(parts), new QueueRecords(parts), new ScheduleRecords(parts)];
  const events = new EventRecords(parts);
  const deadLetterWriter = new DeadLetterWriter(parts);
  const retention = new Retention(parts, transaction, deadLetterWriter);
  const records = { triggers: new TriggerRecords(parts), flowControls, queues, schedules, events };
  const batches = new BatchWriter(parts, transaction, deadLetterWriter, records);
  // Journals that an earlier process staged are abandoned, because it did not create their runs.
  if (parts.stagedJournals.hasAny) transaction.run(() => parts.stagedJournals.abandonAll());
  const probe = new ProbeWrite(connection);
  const reader = new RunReader(parts, events);
  const runs = new RunListing(parts, reader);
  const histories = new HistoryReader(parts, reader, events);
  const [relatedRuns, deadLetters] = [new RelatedRuns(parts), new DeadLetterListing(parts, reader)];
  return {
    commit: async (units) => {
      const results = batches.commit(units);
      await connection.waitUntilDurable(units.length === 1);
      return results;
    },
    probeWrites: () => probe.write(),
    loadRun: async ({ runKey }) => reader.loadRun(runKey),
    loadPayload: async ({ runKey }) => reader.loadPayload(runKey),
    payloadHead: async ({ runKey }) => reader.payloadHead(runKey),
    loadResult: async ({ runKey }) => reader.result(runKey),
    loadJournal: async ({ runKey, from, maxBytes }) => reader.loadJournal(runKey, from, maxBytes),
    dueTasks: async (query) => {
      const tasks = reader.dueTasks(query);
      // The server acts on tasks, so the returned tasks must be on the disk.
      if (tasks.length > 0) await connection.waitUntilDurable();
      return tasks;
    },
    dueInstances: async ({ from, before }) => reader.dueInstances(from, before),
    nextDueAt: async ({ after }) => reader.nextDueAt(after),
    findRun: async (query) =>
      'runKey' in query ? reader.recordOf(query.runKey) : runs.find(query.instanceId, query.workflowRunId, query.createdAt),
    filterEndedRuns: async ({ runKeys }) => runKeys.filter((runKey) => reader.recordOf(runKey)?.status !== 'active'),
    runHistory: async (query) => histories.history(query),
    journalSize: async ({ runKey }) => histories.size(runKey),
    listSteps: async (query) => histories.steps(query),
    listTasks: async (query) => histories.tasks(query),
    firstTasks: async ({ runKeys, limit }) => histories.firstTasks(runKeys, limit),
    listAttempts: async (query) => histories.attempts(query),
    findStep: async ({ runKey, stepId, maxOutBytes }) => histories.step(runKey, stepId, maxOutBytes),
    listRuns: async (page) => runs.list(page),
    listSearchableRuns: async (page) => runs.listSearchable(page),
    listDeadLetters: async (page) => deadLetters.list(page),
    listDeadLetterIds: async (page) => deadLetters.listIds(page),
    deadLetterHorizon: async () => deadLetters.horizon(),
    runHorizon: async () => runs.horizon(),
    findDeadLetter: async ({ instanceId, dlqId }) => deadLetters.find(instanceId, dlqId),
    loadDeadLetterBodies: async ({ instanceId, dlqIds }) => deadLetters.bodies(instanceId, dlqIds),
    listWaiters: async (query) => events.waiters(query),
    listDescendants: async ({ runKey, limit }) => relatedRuns.descendantsOf(runKey, limit),
    countRetriesBeforeFailure: async ({ runKey, at }) => reader.retriesBeforeFailure(runKey, at),
    findInvoker: async ({ childRunKey }) => reader.invokerOf(childRunKey),
    hasWebhook: async ({ runKey, eventId }) => events.hasWebhook(runKey, eventId),
    ...createControls(store),
    countQueued: async ({ instanceId, name }) => queues.countMessages(instanceId, name),
    retriedInQueue: async ({ instanceId, name }) => queues.retriedKeys(instanceId, name),
    instancesWithDueSchedules: async ({ before }) => schedules.instancesWithDueSchedules(before),
    removeEndedRuns: (query) => retention.remove(query),
    removeStagedSteps: async () => transaction.run(() => parts.stagedJournals.removeSome()),
    removeInstanceRows: createInstanceRemoval(parts, transaction, deadLetterWriter),
    releaseSpace: async () => connection.releaseSpace(),
    deadLetterGroups: createSqliteDeadLetterGroups(parts, store),
    accounts: createSqliteAccounts(parts, store),
    audit: createAuditStore(store),
    insights: createInsights(store),
    alerts: createAlertStore(store),
    searchIndexes: createSearchIndexes(store, addSealedAudit),
    repairs: createSqliteRepairs(parts, store),
    copyTo: (request) => connection.copyTo(request),
    checkConsistency: () => checkConsistency(connection),
    latestTime: async () => parts.counters.get('latest_time'),
    measure: createMeasure(parts, transaction),
    close: async () => connection.close(),
  };
}
