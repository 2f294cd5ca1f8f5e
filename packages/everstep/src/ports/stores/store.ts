/**
 * The store: the durable state of the service. It is a narrow interface of intents, and each method takes one
 * readonly object. Every implementation must pass stores/conformance.
 *
 * All writes use `commit`: a batch of units in one transaction, durable before the promise resolves. A unit is
 * atomic: if one of its guards fails, none of its writes happen and its result names the guard. Other units of the
 * batch are not affected. Later units see the writes of earlier ones.
 *
 * Texts are well-formed Unicode without U+0000. Not every store supports other texts, so they are rejected at the
 * API. JSON text always qualifies.
 * Keeps invariant 5.
 */
import type {
  DeadLetter,
  DestinationHold,
  FailureFunctionState,
  FlowControlState,
  InstanceSettings,
  Queue,
  RecordedStep,
  RetentionState,
  Run,
  RunIdentity,
  RunPayload,
  RunSettings,
  RunStatus,
  Schedule,
  Task,
  UrlGroup,
} from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit, RunReference } from '../../engine/writes.js';
import type { AccountStore } from './account-store.js';
import type { AuditStore } from './audit-store.js';
import type { DeadLetterGroupStore } from './dead-letter-groups.js';
import type { HistoryStore } from './history-store.js';
import type { RepairStore } from './repair-store.js';
import type { SearchIndexStore } from './search-store.js';

// ---------------------------------------------------------------- writes

export type { CommitResult, CommitUnit, RunReference, StoreGuard, StoreWrite } from '../../engine/writes.js';

// ---------------------------------------------------------------- reads

export type {
  HistoryQuery,
  HistoryStore,
  InvokedRun,
  JournalSize,
  ListedStep,
  ListedTask,
  Part,
  PartBounds,
  PayloadHead,
  RunHistory,
} from './history-store.js';

/** Identifies a task. */
export interface TaskReference {
  readonly runKey: string;
  readonly slot: number;
  readonly dueAt: number;
}

/**
 * A due task. It includes the properties that gates need, so that a hundred thousand waiting tasks can be counted
 * without loading them.
 */
export interface DueTask extends TaskReference {
  readonly kind: Task['kind'];
  readonly instanceId: string;
  readonly workflowUrl: string;
  /** The flow control key of its delivery; null if there is none, or if the task is not a delivery. */
  readonly flowControlKey: string | null;
  /** The queue of a plain message. */
  readonly queue?: string;
  /** Version of the run; a cached state with a lower version is stale. */
  readonly runVersion: number;
}

/** A task that waits for an event. */
export interface WaiterRecord {
  readonly runKey: string;
  readonly slot: number;
  readonly workflowRunId: string;
  /** Unix ms. */
  readonly workflowCreatedAt: number;
  readonly workflowUrl: string;
  readonly dialect: RunIdentity['dialect'];
  readonly stepName: string;
  /** Unix ms. */
  readonly deadlineAt: number;
  /** Unix ms at which the wait started. */
  readonly since: number;
}

/** A task that waits for an event, with that event. */
export interface EventWaiterRecord extends WaiterRecord {
  readonly eventId: string;
}

/** A run as the logs show it. */
export interface RunRecord extends RunIdentity {
  readonly settings: RunSettings;
  readonly status: RunStatus;
  readonly completedAt: number | null;
  /** JSON text, if the run succeeded with a value. Also null if the result was omitted. */
  readonly result: string | null;
  /** Size in bytes of a result over `LIMITS.maxInlineBytes`, which `loadResult` reads. */
  readonly resultLeftOut?: number;
  /** Error text, if the run failed. */
  readonly error: string | null;
  /** Its current DLQ entry. */
  readonly dlqId: string | null;
  /** The run that its DLQ entry was resumed or restarted as. */
  readonly became: (RunReference & { readonly kind: 'resume' | 'restart' }) | null;
}

/** A run in a listing, with its position. */
export interface ListedRun extends RunRecord {
  readonly position: Position;
}

/** The searchable properties of a run. */
export interface SearchableRun {
  readonly runKey: string;
  readonly workflowRunId: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly workflowUrl: string;
  readonly labels: readonly string[];
  /** Error text, if the run failed. */
  readonly error: string | null;
  /** Its position in the listing. */
  readonly position: Position;
}

/** Filters of runs. All given filters must match. */
export interface RunFilter {
  /** Workflow runs or plain messages. Absent: workflow runs. They are never listed together. */
  readonly kind?: 'workflow' | 'message';
  /** For workflow runs; messages have keys. */
  readonly workflowRunId?: string;
  readonly workflowUrls?: readonly string[];
  /** A prefix of the URL, used by bulk cancel. */
  readonly workflowUrlPrefix?: string;
  /** Unix ms, exact. */
  readonly createdAt?: number;
  readonly statuses?: readonly RunStatus[];
  /** Creation time of the run: Unix ms, inclusive. */
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly labels?: readonly string[];
  readonly flowControlKeys?: readonly string[];
  readonly callerIps?: readonly string[];
  readonly runKeys?: readonly string[];
  /** Host names in URLs, with the port if there is one. */
  readonly hosts?: readonly string[];
  /** Paths in URLs, without the query. */
  readonly paths?: readonly string[];
  /** This filter and the following ones apply to messages only and match no workflow run. */
  readonly queues?: readonly string[];
  readonly urlGroups?: readonly string[];
  readonly scheduleIds?: readonly string[];
}

/** Filters of dead letters. All given filters must match. */
export interface DeadLetterFilter {
  /** Workflow runs or plain messages. Absent: both. */
  readonly kind?: 'workflow' | 'message';
  readonly dlqIds?: readonly string[];
  readonly workflowRunId?: string;
  readonly workflowRunIdPrefix?: string;
  readonly workflowUrls?: readonly string[];
  /** Creation time of the run: Unix ms, exact. */
  readonly workflowCreatedAt?: number;
  /** Creation time of the entry, that is, the time at which the run failed: Unix ms, inclusive. */
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly labels?: readonly string[];
  readonly failureFunctionStates?: readonly FailureFunctionState[];
  readonly callerIps?: readonly string[];
  readonly flowControlKeys?: readonly string[];
  /** Status of the last response. Entries of versions without messages do not match. */
  readonly responseStatuses?: readonly number[];
  /** Fingerprints of groups. */
  readonly fingerprints?: readonly string[];
  /** For messages only. */
  readonly queues?: readonly string[];
  readonly urlGroups?: readonly string[];
  readonly scheduleIds?: readonly string[];
}

/** A position in a listing, in a format of the store: a short printable string. */
export type Position = string;

/** A page of a listing. */
export interface Page<Filter> {
  readonly instanceId: string;
  readonly filter: Filter;
  readonly order: 'newest-first' | 'oldest-first';
  /** Continue after this position; null starts a listing. */
  readonly after: Position | null;
  /** Entries that were added after this position was taken are skipped; null: none are. */
  readonly horizon: Position | null;
  readonly limit: number;
}

/** The items of one page. */
export interface Listing<Item> {
  readonly items: readonly Item[];
  /** Start of the next page; null exactly when there are no more items. */
  readonly next: Position | null;
}

/** A dead letter with properties of its run, without the bodies. */
export interface DeadLetterRecord extends Omit<DeadLetter, 'responseBody'> {
  /** Fingerprint of its group; null if it is not grouped yet, like entries of versions without groups. */
  readonly fingerprint: string | null;
  readonly run: RunRecord;
  readonly payload: Omit<RunPayload, 'body'>;
  readonly bodyBytes: number;
  readonly responseBytes: number;
  /** Its position in a listing of dead letters. */
  readonly position: Position;
}

export interface DeadLetterBodies {
  /** Body of the payload of its run. */
  readonly body: Uint8Array;
  readonly responseBody: Uint8Array;
}

export type WholeDeadLetter = DeadLetterRecord & DeadLetterBodies;

/**
 * A schedule in a listing. `bodyLeftOut`: size in bytes of a payload that is too long for the list; the body is empty
 * then.
 */
export interface ListedSchedule extends Schedule {
  readonly bodyLeftOut?: number;
}

/**
 * Runs that may be removed: those that ended before a time, and those beyond a number of newest ones. Without a
 * limit, none.
 */
export interface RemovalQuery {
  readonly instanceId: string;
  readonly state: RetentionState;
  /** Unix ms: only runs that ended before; null: no such limit. */
  readonly endedBefore: number | null;
  /** Number of newest runs to keep; null: no such limit. */
  readonly keepNewest: number | null;
  /** Maximum number of runs in this transaction. */
  readonly limit: number;
}

/** Describes how the store benefits from several concurrent batches with disjoint lock sets. */
export interface ConcurrentBatches {
  readonly most: number;
  /** Minimum number of units for an additional batch. Fewer units wait and share the next one. */
  readonly minUnits: number;
  /**
   * Returns how long the first batch should currently wait for more units, in ms, if recent batches had `recentUnits`
   * units on average. Absent or 0: no wait.
   */
  gatherMs?(recentUnits: number): number;
}

/** Number of bytes of a probe write. */
export const PROBE_BYTES = 64 * 1024;

export interface Store extends HistoryStore {
  /** Returns results in the order of the units. Rejects if the batch could not be made durable; it then has no effect. */
  commit(units: readonly CommitUnit[]): Promise<readonly CommitResult[]>;
  /**
   * Writes PROBE_BYTES durably and removes them again, which is more than fits into space that was allocated before.
   * Rejects with StoreUnavailableError while commits would fail.
   */
  probeWrites(): Promise<void>;
  /** Absent: the store does not benefit from more than one batch at a time. */
  readonly concurrentBatches?: ConcurrentBatches;

  loadRun(query: { readonly runKey: string }): Promise<Run | null>;
  loadPayload(query: { readonly runKey: string }): Promise<RunPayload | null>;
  /**
   * Journal rows from index `from` on, in recorded order. It returns all of them: for deliveries, never for API
   * responses.
   */
  loadJournal(query: { readonly runKey: string; readonly from: number }): Promise<readonly RecordedStep[]>;
  /**
   * Tasks due at or before `before`, after `after`: by due time, then by creation of their runs, then by slot. An
   * unknown run key sorts after all smaller ones. With `instanceId`, only tasks of this instance, at a cost that does
   * not depend on the due tasks of others.
   */
  dueTasks(query: {
    readonly before: number;
    readonly after: TaskReference | null;
    readonly limit: number;
    readonly instanceId?: string;
  }): Promise<readonly DueTask[]>;
  /**
   * Instances that have tasks due from `from` to `before`, both Unix ms and inclusive. If several nodes share the
   * store, only unclaimed tasks count. The cost is one lookup for each instance with open tasks, however many tasks
   * it has.
   */
  dueInstances(query: { readonly from: number; readonly before: number }): Promise<readonly string[]>;
  /** The earliest due time after `after`; null if no task is due later. */
  nextDueAt(query: { readonly after: number }): Promise<number | null>;

  /** The run with this id: the one created at `createdAt`, or the latest. */
  findRun(query: {
    readonly instanceId: string;
    readonly workflowRunId: string;
    readonly createdAt?: number;
  }): Promise<RunRecord | null>;
  /** The run with this key, as the logs show it. */
  runRecord(query: { readonly runKey: string }): Promise<RunRecord | null>;
  /** Returns those of these runs that have ended or were removed. */
  endedAmong(query: { readonly runKeys: readonly string[] }): Promise<readonly string[]>;
  listRuns(query: Page<RunFilter>): Promise<Listing<ListedRun>>;
  /** Like `listRuns`, but with only the searchable properties. Cheap enough to examine a thousand runs at once. */
  listSearchableRuns(query: Page<RunFilter>): Promise<Listing<SearchableRun>>;
  listDeadLetters(query: Page<DeadLetterFilter>): Promise<Listing<DeadLetterRecord>>;
  /** Only ids, for bulk operations. */
  listDeadLetterIds(query: Page<DeadLetterFilter>): Promise<Listing<string>>;
  /** The position after the newest existing entry. */
  deadLetterHorizon(query: { readonly instanceId: string }): Promise<Position>;
  runHorizon(query: { readonly instanceId: string }): Promise<Position>;
  findDeadLetter(query: { readonly instanceId: string; readonly dlqId: string }): Promise<DeadLetterRecord | null>;
  /** Returns the bodies of those entries that exist, by id. */
  loadDeadLetterBodies(query: {
    readonly instanceId: string;
    readonly dlqIds: readonly string[];
  }): Promise<ReadonlyMap<string, DeadLetterBodies>>;
  /** Tasks that wait for the event, the oldest wait first; at most `limit` after `after`. Parked tasks are not included. */
  listWaiters(query: {
    readonly instanceId: string;
    readonly eventId: string;
    readonly after: WaiterRecord | null;
    readonly limit: number;
  }): Promise<readonly WaiterRecord[]>;
  /**
   * Tasks of the instance that wait for any event, by event id and then as above. A task that waits for several
   * events is listed with each.
   */
  listAllWaiters(query: {
    readonly instanceId: string;
    readonly after: Pick<EventWaiterRecord, 'eventId' | 'since' | 'runKey' | 'slot'> | null;
    readonly limit: number;
  }): Promise<readonly EventWaiterRecord[]>;
  /**
   * Runs that were created only from this one, by creation: invoked by it, forked from it, or recovered from its dead
   * letter. At most `limit`.
   */
  descendantsOf(query: { readonly runKey: string; readonly limit: number }): Promise<readonly RunRecord[]>;
  /**
   * Number of retries of the delivery whose failure ended the run at `at`, Unix ms. 0 if no attempt ended it, for
   * example because the response was invalid.
   */
  retriesBeforeFailure(query: { readonly runKey: string; readonly at: number }): Promise<number>;
  /** The task of an active run that waits for this run to end. */
  invokerOf(query: { readonly childRunKey: string }): Promise<Pick<TaskReference, 'runKey' | 'slot'> | null>;
  /** Returns whether a CreateWebhook step of the run created this event id. */
  hasWebhook(query: { readonly runKey: string; readonly eventId: string }): Promise<boolean>;
  /** By key. */
  listFlowControls(query: { readonly instanceId: string }): Promise<readonly FlowControlState[]>;
  findFlowControl(query: { readonly instanceId: string; readonly key: string }): Promise<FlowControlState | null>;
  /** By name. */
  listQueues(query: { readonly instanceId: string }): Promise<readonly Queue[]>;
  findQueue(query: { readonly instanceId: string; readonly name: string }): Promise<Queue | null>;
  /** Number of messages of the queue that have not ended. */
  countQueued(query: { readonly instanceId: string; readonly name: string }): Promise<number>;
  /**
   * Keys of active messages of the queue that failed before and are being retried. They keep their position in the
   * queue.
   */
  retriedInQueue(query: { readonly instanceId: string; readonly name: string }): Promise<readonly string[]>;
  /** By name. */
  listUrlGroups(query: { readonly instanceId: string }): Promise<readonly UrlGroup[]>;
  findUrlGroup(query: { readonly instanceId: string; readonly name: string }): Promise<UrlGroup | null>;
  /** Number of such objects of the instance. */
  countObjects(query: { readonly instanceId: string; readonly thing: 'queue' | 'url-group' | 'flow-control' }): Promise<number>;
  /** By creation, oldest first; payloads over `maxListedBodyBytes` are omitted. */
  listSchedules(query: {
    readonly instanceId: string;
    readonly after: Position | null;
    readonly limit: number;
  }): Promise<Listing<ListedSchedule>>;
  /** Number of schedules, without reading them and their payloads. */
  countSchedules(query: { readonly instanceId: string }): Promise<number>;
  findSchedule(query: { readonly instanceId: string; readonly scheduleId: string }): Promise<Schedule | null>;
  /** Schedules whose next tick is at or before `before`, earliest first. */
  dueSchedules(query: {
    readonly before: number;
    readonly limit: number;
    /** Only this instance. */
    readonly instanceId?: string;
  }): Promise<readonly Schedule[]>;
  /** Instances with due schedules. The cost is one lookup for each instance with schedules, however many it has. */
  instancesWithDueSchedules(query: { readonly before: number }): Promise<readonly string[]>;
  /** The earliest next tick of all schedules; null if there is none. */
  nextScheduleAt(): Promise<number | null>;
  listHolds(query: { readonly instanceId: string }): Promise<readonly DestinationHold[]>;
  /** The settings of the instance; null if it has set none. */
  instanceSettings(query: { readonly instanceId: string }): Promise<InstanceSettings | null>;
  /**
   * Removes runs that have ended, oldest first, with all their data, in short transactions. Returns their number,
   * which can be less than the limit if they are large; 0 only if none may be removed. `deadLetter` removes DLQ
   * entries with their runs, except those whose failure must still be reported. The other states skip runs that have
   * an entry and runs from which an active run was created. A run that a waiting invocation still needs is never
   * removed.
   */
  removeEndedRuns(query: RemovalQuery): Promise<number>;
  /**
   * Deletes some steps that were staged for runs that will not be created, because a unit abandoned them or the
   * process that staged them no longer exists. Returns false if none are left.
   */
  removeStagedSteps(): Promise<boolean>;
  /**
   * Removes rows of a deleted queue instance, whatever their state, in one short transaction. Returns their number, 0
   * only if none are left. Billing data is kept.
   */
  removeInstanceRows(query: { readonly instanceId: string; readonly limit: number }): Promise<number>;
  /** Releases freed disk space in small steps. Returns false if there is no more to release. */
  releaseSpace(): Promise<boolean>;

  deadLetterGroups: DeadLetterGroupStore;
  accounts: AccountStore;
  audit: AuditStore;
  searchIndexes: SearchIndexStore;
  repairs: RepairStore;
  /** The latest time that the store has recorded. A clock must not start before it. */
  latestTime(): Promise<number>;
  close(): Promise<void>;
}

// ---------------------------------------------------------------- accounts

export type {
  AccountStore,
  ApiKeyRecord,
  AuditEntry,
  QueueInstance,
  TokenRecord,
  UsageRecord,
  UserRecord,
} from './account-store.js';
