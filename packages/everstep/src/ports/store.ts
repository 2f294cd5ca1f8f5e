/**
 * The store: what the service keeps. A narrow interface of intents; each
 * method takes one readonly object. Every implementation must pass
 * stores/conformance.
 *
 * Writes go through `commit` alone: a batch of units in one transaction, made
 * durable before the promise resolves. A unit is all or nothing: if one of
 * its guards does not hold, none of its writes happen and its result says
 * which guard; other units of the batch are not touched by that. Later units
 * see what earlier ones wrote.
 *
 * Texts are well-formed Unicode without U+0000: not every store can keep
 * others, so they are kept out where they come in. JSON text always is.
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
} from '../engine/run.js';
import type { CommitResult, CommitUnit, RunReference } from '../engine/writes.js';
import type { AccountStore } from './account-store.js';
import type { AuditStore } from './audit-store.js';
import type { DeadLetterGroupStore } from './dead-letter-groups.js';
import type { HistoryStore } from './history-store.js';
import type { RepairStore } from './repair-store.js';
import type { SearchIndexStore } from './search-store.js';

// ---------------------------------------------------------------- writes

export type { CommitResult, CommitUnit, RunReference, StoreGuard, StoreWrite } from '../engine/writes.js';

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

export interface TaskReference {
  readonly runKey: string;
  readonly slot: number;
  readonly dueAt: number;
}

/** A due task. What waits at a gate is told with it, so that a hundred thousand of them need not be loaded to be counted. */
export interface DueTask extends TaskReference {
  readonly kind: Task['kind'];
  readonly instanceId: string;
  readonly workflowUrl: string;
  /** The key that holds its delivery; null for none, and for what is no delivery. */
  readonly flowControlKey: string | null;
  /** Of a plain message in a queue. */
  readonly queue?: string;
  /** Of its run, as `Run` tells it: a state in memory that is older is not the run's any more. */
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
  /** Unix ms at which it began to wait. */
  readonly since: number;
}

/** The same with the event that is waited for. */
export interface EventWaiterRecord extends WaiterRecord {
  readonly eventId: string;
}

/** A run as the logs show it. */
export interface RunRecord extends RunIdentity {
  readonly settings: RunSettings;
  readonly status: RunStatus;
  readonly completedAt: number | null;
  /** JSON text, when it succeeded with a value. Null also when that is left out. */
  readonly result: string | null;
  /** Bytes of a result over `LIMITS.maxInlineBytes`, which `loadResult` reads. */
  readonly resultLeftOut?: number;
  /** In words, when it failed. */
  readonly error: string | null;
  /** The DLQ entry that it has now. */
  readonly dlqId: string | null;
  /** What became of its DLQ entry. */
  readonly became: (RunReference & { readonly kind: 'resume' | 'restart' }) | null;
}

/** A run in a listing, with its position there. */
export interface ListedRun extends RunRecord {
  readonly position: Position;
}

/** What of a run people look for. */
export interface RunTexts {
  readonly runKey: string;
  readonly workflowRunId: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly workflowUrl: string;
  readonly labels: readonly string[];
  /** In words, when it failed. */
  readonly error: string | null;
  /** Its place in the listing. */
  readonly position: Position;
}

export interface RunFilter {
  /** Runs of workflows, or plain messages; of workflows when absent. They are never listed together. */
  readonly kind?: 'workflow' | 'message';
  /** Of workflows; messages have keys. */
  readonly workflowRunId?: string;
  readonly workflowUrls?: readonly string[];
  /** A prefix of the URL; used by bulk cancel. */
  readonly workflowUrlPrefix?: string;
  /** Unix ms, exact. */
  readonly createdAt?: number;
  readonly statuses?: readonly RunStatus[];
  /** Unix ms, inclusive, of the creation of the run. */
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly labels?: readonly string[];
  readonly flowControlKeys?: readonly string[];
  readonly callerIps?: readonly string[];
  readonly runKeys?: readonly string[];
  /** Host names in URLs, with the port where there is one. */
  readonly hosts?: readonly string[];
  /** Paths in URLs, without the query. */
  readonly paths?: readonly string[];
  /** Of messages alone, as what follows: of workflows none is found by them. */
  readonly queues?: readonly string[];
  readonly urlGroups?: readonly string[];
  readonly scheduleIds?: readonly string[];
}

export interface DeadLetterFilter {
  /** Those of workflows, or those of plain messages; both when absent. */
  readonly kind?: 'workflow' | 'message';
  readonly dlqIds?: readonly string[];
  readonly workflowRunId?: string;
  readonly workflowRunIdPrefix?: string;
  readonly workflowUrls?: readonly string[];
  /** Unix ms, exact, of the creation of the run. */
  readonly workflowCreatedAt?: number;
  /** Unix ms, inclusive, of the creation of the entry, that is when the run failed. */
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly labels?: readonly string[];
  readonly failureFunctionStates?: readonly FailureFunctionState[];
  readonly callerIps?: readonly string[];
  readonly flowControlKeys?: readonly string[];
  /** What the last attempt was answered with. Entries of versions before messages are not found by it. */
  readonly responseStatuses?: readonly number[];
  /** Groups of those that failed alike. */
  readonly fingerprints?: readonly string[];
  /** Of messages alone. */
  readonly queues?: readonly string[];
  readonly urlGroups?: readonly string[];
  readonly scheduleIds?: readonly string[];
}

/** A place in a listing, in the store's own terms: a short printable string. */
export type Position = string;

export interface Page<Filter> {
  readonly instanceId: string;
  readonly filter: Filter;
  readonly order: 'newest-first' | 'oldest-first';
  /** Continue behind this place; null starts. */
  readonly after: Position | null;
  /** Entries that arrived after this place was taken are left out; null for no such bound. */
  readonly horizon: Position | null;
  readonly limit: number;
}

export interface Listing<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins; null exactly when there is no further item. */
  readonly next: Position | null;
}

/** A dead letter with what its run adds to it, without the bodies. */
export interface DeadLetterRecord extends Omit<DeadLetter, 'responseBody'> {
  /** Its group; null while it is not grouped yet, as those of versions before there were groups. */
  readonly fingerprint: string | null;
  readonly run: RunRecord;
  readonly payload: Omit<RunPayload, 'body'>;
  readonly bodyBytes: number;
  readonly responseBytes: number;
  /** In a listing of dead letters. */
  readonly position: Position;
}

export interface DeadLetterBodies {
  /** Of the payload of its run. */
  readonly body: Uint8Array;
  readonly responseBody: Uint8Array;
}

export type WholeDeadLetter = DeadLetterRecord & DeadLetterBodies;

/** `bodyLeftOut`: how many bytes the payload has that was too long for the list; it is empty then. */
export interface ListedSchedule extends Schedule {
  readonly bodyLeftOut?: number;
}

/** Runs that may go: those that ended before, and those beyond the newest so many. Without a bound none may. */
export interface RemovalQuery {
  readonly instanceId: string;
  readonly state: RetentionState;
  /** Unix ms: ended before; null for no such bound. */
  readonly endedBefore: number | null;
  /** How many of the newest stay; null for no such bound. */
  readonly keepNewest: number | null;
  /** At most so many in this one transaction. */
  readonly limit: number;
}

/** What is gained by having several batches under way that name nothing in common. */
export interface BatchesSideBySide {
  readonly most: number;
  /** Units that a further batch is worth: fewer had better wait and share the next one. */
  readonly leastUnits: number;
  /**
   * How long the first batch had better wait for so many at this moment, in ms, when batches have had `unitsLately` units
   * on average; absent or 0: not at all.
   */
  gatherMs?(unitsLately: number): number;
}

/** Bytes of a probe write. */
export const PROBE_BYTES = 64 * 1024;

export interface Store extends HistoryStore {
  /** Results are in the order of the units. Rejects when the batch could not be made durable: nothing of it happened. */
  commit(units: readonly CommitUnit[]): Promise<readonly CommitResult[]>;
  /**
   * Writes PROBE_BYTES durably and removes them again: more than what fits into space that was allocated before. Rejects
   * with StoreUnavailableError while commits would fail.
   */
  probeWrites(): Promise<void>;
  /** Absent: it gains nothing by more than one batch at a time. */
  readonly sideBySide?: BatchesSideBySide;

  loadRun(query: { readonly runKey: string }): Promise<Run | null>;
  loadPayload(query: { readonly runKey: string }): Promise<RunPayload | null>;
  /** Journal rows from index `from` on, in recorded order. All of them: for deliveries, never for an answer. */
  loadJournal(query: { readonly runKey: string; readonly from: number }): Promise<readonly RecordedStep[]>;
  /**
   * Tasks due at or before `before`, behind `after`: by due time, then in the order in which
   * their runs were created, then by slot. A run key that no run has is behind all smaller ones.
   * With `instanceId` of this instance alone: then the tasks of others cost nothing, however many are due.
   */
  dueTasks(query: {
    readonly before: number;
    readonly after: TaskReference | null;
    readonly limit: number;
    readonly instanceId?: string;
  }): Promise<readonly DueTask[]>;
  /**
   * Instances that have tasks due from `from` to `before`, both Unix ms and inclusive. Where several nodes share the store:
   * tasks that no node has claimed. One look-up for each instance with open tasks, however many these are.
   */
  dueInstances(query: { readonly from: number; readonly before: number }): Promise<readonly string[]>;
  /** The earliest due time behind `after`; null when no task is due later. */
  nextDueAt(query: { readonly after: number }): Promise<number | null>;

  /** The run with this id: that created at `createdAt`, or the latest. */
  findRun(query: {
    readonly instanceId: string;
    readonly workflowRunId: string;
    readonly createdAt?: number;
  }): Promise<RunRecord | null>;
  /** The run with this key, as the logs show it. */
  runRecord(query: { readonly runKey: string }): Promise<RunRecord | null>;
  /** Of these runs, those that have ended or were removed. */
  endedAmong(query: { readonly runKeys: readonly string[] }): Promise<readonly string[]>;
  listRuns(query: Page<RunFilter>): Promise<Listing<ListedRun>>;
  /** The same, of each run only what people look for. Cheap enough to look through a thousand at once. */
  listRunTexts(query: Page<RunFilter>): Promise<Listing<RunTexts>>;
  listDeadLetters(query: Page<DeadLetterFilter>): Promise<Listing<DeadLetterRecord>>;
  /** Ids alone, for bulk operations. */
  listDeadLetterIds(query: Page<DeadLetterFilter>): Promise<Listing<string>>;
  /** The place behind the newest entry there is now. */
  deadLetterHorizon(query: { readonly instanceId: string }): Promise<Position>;
  runHorizon(query: { readonly instanceId: string }): Promise<Position>;
  findDeadLetter(query: { readonly instanceId: string; readonly dlqId: string }): Promise<DeadLetterRecord | null>;
  /** Of those of the entries that are there, by their ids. */
  loadDeadLetterBodies(query: {
    readonly instanceId: string;
    readonly dlqIds: readonly string[];
  }): Promise<ReadonlyMap<string, DeadLetterBodies>>;
  /** Tasks that wait for the event, oldest wait first; at most `limit` behind `after`. Parked ones do not wait. */
  listWaiters(query: {
    readonly instanceId: string;
    readonly eventId: string;
    readonly after: WaiterRecord | null;
    readonly limit: number;
  }): Promise<readonly WaiterRecord[]>;
  /**
   * Tasks of the instance that wait for any event, by event id and then as above; one that waits for several events is told
   * of with each.
   */
  listAllWaiters(query: {
    readonly instanceId: string;
    readonly after: Pick<EventWaiterRecord, 'eventId' | 'since' | 'runKey' | 'slot'> | null;
    readonly limit: number;
  }): Promise<readonly EventWaiterRecord[]>;
  /**
   * Runs that came of this one alone, by creation: invoked by it, forked from it, made of its dead letter. At most `limit`
   * of them.
   */
  descendantsOf(query: { readonly runKey: string; readonly limit: number }): Promise<readonly RunRecord[]>;
  /**
   * How often the delivery was retried whose failure ended the run at `at`, Unix ms. 0 when no attempt ended it: when what it was
   * answered with made no sense, for example.
   */
  retriesBeforeFailure(query: { readonly runKey: string; readonly at: number }): Promise<number>;
  /** The task of an active run that waits for the end of this one. */
  invokerOf(query: { readonly childRunKey: string }): Promise<Pick<TaskReference, 'runKey' | 'slot'> | null>;
  /** Whether a CreateWebhook step of the run made this event id. */
  hasWebhook(query: { readonly runKey: string; readonly eventId: string }): Promise<boolean>;
  /** In the order of the keys. */
  listFlowControls(query: { readonly instanceId: string }): Promise<readonly FlowControlState[]>;
  findFlowControl(query: { readonly instanceId: string; readonly key: string }): Promise<FlowControlState | null>;
  /** In the order of the names. */
  listQueues(query: { readonly instanceId: string }): Promise<readonly Queue[]>;
  findQueue(query: { readonly instanceId: string; readonly name: string }): Promise<Queue | null>;
  /** How many messages of the queue have not ended. */
  countQueued(query: { readonly instanceId: string; readonly name: string }): Promise<number>;
  /** Keys of active messages of the queue that failed before and are tried again: they have kept their place in it. */
  retriedInQueue(query: { readonly instanceId: string; readonly name: string }): Promise<readonly string[]>;
  /** In the order of the names. */
  listUrlGroups(query: { readonly instanceId: string }): Promise<readonly UrlGroup[]>;
  findUrlGroup(query: { readonly instanceId: string; readonly name: string }): Promise<UrlGroup | null>;
  /** How many of these the instance has. */
  countNamed(query: { readonly instanceId: string; readonly thing: 'queue' | 'url-group' | 'flow-control' }): Promise<number>;
  /** By creation, oldest first; payloads over `maxListedBodyBytes` are left out. */
  listSchedules(query: {
    readonly instanceId: string;
    readonly after: Position | null;
    readonly limit: number;
  }): Promise<Listing<ListedSchedule>>;
  /** How many there are, without reading them: each comes with its payload. */
  countSchedules(query: { readonly instanceId: string }): Promise<number>;
  findSchedule(query: { readonly instanceId: string; readonly scheduleId: string }): Promise<Schedule | null>;
  /** Schedules whose next tick is at or before `before`, earliest first. */
  dueSchedules(query: {
    readonly before: number;
    readonly limit: number;
    /** Of this instance alone. */
    readonly instanceId?: string;
  }): Promise<readonly Schedule[]>;
  /** Instances with schedules that are due; one look-up for each instance with schedules, however many these are. */
  instancesWithDueSchedules(query: { readonly before: number }): Promise<readonly string[]>;
  /** The earliest next tick of all; null when there is none. */
  nextScheduleAt(): Promise<number | null>;
  listHolds(query: { readonly instanceId: string }): Promise<readonly DestinationHold[]>;
  /** What the instance has set; null when it has set nothing. */
  instanceSettings(query: { readonly instanceId: string }): Promise<InstanceSettings | null>;
  /**
   * Removes runs that have ended, oldest first, with all that belongs to them, in short transactions; returns how
   * many: less than the limit also when they are large, 0 only when none may go. `deadLetter` removes entries of the
   * DLQ with their runs, but for those whose failure is still to be told; the other states leave alone what has an
   * entry and what an active run was made from. What a waiting invocation still asks for stays in any state.
   */
  removeEndedRuns(query: RemovalQuery): Promise<number>;
  /**
   * Deletes some steps that were staged for runs that will not be created: a unit abandoned them, or the process that
   * staged them is gone. False when none are left.
   */
  removeStagedSteps(): Promise<boolean>;
  /**
   * Removes rows of a queue instance that was deleted, whatever their state, in one short transaction; returns how many, 0 only when
   * none is left. What it was billed for stays.
   */
  removeInstanceRows(query: { readonly instanceId: string; readonly limit: number }): Promise<number>;
  /** Gives freed disk space back, a little at a time; false when there is no more to give. */
  releaseSpace(): Promise<boolean>;

  deadLetterGroups: DeadLetterGroupStore;
  accounts: AccountStore;
  audit: AuditStore;
  searchIndexes: SearchIndexStore;
  repairs: RepairStore;
  /** The latest time that the store has recorded: a clock that starts must not be behind it. */
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
