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
  FailedAttempt,
  FailureFunctionState,
  RecordedStep,
  Run,
  RunIdentity,
  RunPayload,
  RunSettings,
  RunStatus,
  Task,
} from '../engine/run.js';
import type { CommitResult, CommitUnit, RunReference } from '../engine/writes.js';

// ---------------------------------------------------------------- writes

export type { CommitResult, CommitUnit, RunReference, StoreGuard, StoreWrite } from '../engine/writes.js';

// ---------------------------------------------------------------- reads

export interface TaskReference {
  readonly runKey: string;
  readonly slot: number;
  readonly dueAt: number;
}

/** A run as the logs show it. */
export interface RunRecord extends RunIdentity {
  readonly settings: RunSettings;
  readonly status: RunStatus;
  readonly completedAt: number | null;
  /** JSON text, when it succeeded with a value. */
  readonly result: string | null;
  /** In words, when it failed. */
  readonly error: string | null;
  /** The DLQ entry that it has now. */
  readonly dlqId: string | null;
  /** What became of its DLQ entry. */
  readonly became: (RunReference & { readonly kind: 'resume' | 'restart' }) | null;
}

/** A run with all that its log shows. */
export interface RunHistory {
  readonly run: RunRecord;
  /** In recorded order. */
  readonly steps: readonly RecordedStep[];
  /** Open tasks, by slot. */
  readonly tasks: readonly Task[];
  /** Failed attempts, oldest first. */
  readonly attempts: readonly FailedAttempt[];
}

export interface RunFilter {
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
}

export interface DeadLetterFilter {
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

/** A dead letter with what its run adds to it. */
export interface DeadLetterRecord extends DeadLetter {
  readonly run: RunRecord;
  readonly payload: RunPayload;
}

export interface FlowControlRecord {
  readonly flowControlKey: string;
  readonly waitListSize: number;
}

export interface Store {
  /** Results are in the order of the units. Rejects when the batch could not be made durable: nothing of it happened. */
  commit(units: readonly CommitUnit[]): Promise<readonly CommitResult[]>;

  loadRun(query: { readonly runKey: string }): Promise<Run | null>;
  loadPayload(query: { readonly runKey: string }): Promise<RunPayload | null>;
  /** Journal rows from index `from` on, in recorded order. */
  loadJournal(query: { readonly runKey: string; readonly from: number }): Promise<readonly RecordedStep[]>;
  /**
   * Tasks of active runs due at or before `before`, behind `after`: by due time, then in the order in which
   * their runs were created, then by slot. A run key that no run has is behind all smaller ones.
   */
  dueTasks(query: {
    readonly before: number;
    readonly after: TaskReference | null;
    readonly limit: number;
  }): Promise<readonly TaskReference[]>;
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
  runHistory(query: { readonly runKey: string }): Promise<RunHistory | null>;
  listRuns(query: Page<RunFilter>): Promise<Listing<RunRecord>>;
  listDeadLetters(query: Page<DeadLetterFilter>): Promise<Listing<DeadLetterRecord>>;
  /** Ids alone, for bulk operations. */
  listDeadLetterIds(query: Page<DeadLetterFilter>): Promise<Listing<string>>;
  /** The place behind the newest entry there is now. */
  deadLetterHorizon(query: { readonly instanceId: string }): Promise<Position>;
  runHorizon(query: { readonly instanceId: string }): Promise<Position>;
  findDeadLetter(query: { readonly instanceId: string; readonly dlqId: string }): Promise<DeadLetterRecord | null>;
  /** In the order of the keys. */
  listFlowControls(query: { readonly instanceId: string }): Promise<readonly FlowControlRecord[]>;

  accounts: AccountStore;
  /** The latest time that the store has recorded: a clock that starts must not be behind it. */
  latestTime(): Promise<number>;
  close(): Promise<void>;
}

// ---------------------------------------------------------------- accounts

export interface QueueInstance {
  readonly instanceId: string;
  readonly region: string;
  readonly name: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly currentSigningKey: string;
  readonly nextSigningKey: string;
}

export interface TokenRecord {
  /** The `jti` of the JWT. */
  readonly tokenId: string;
  readonly instanceId: string;
  readonly access: 'read-write' | 'read-only';
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

export interface UserRecord {
  readonly userId: string;
  readonly email: string;
  readonly createdAt: number;
}

export interface ApiKeyRecord {
  readonly apiKeyId: string;
  readonly userId: string;
  readonly name: string;
  /** SHA-256 of the key, hex. The key itself is never stored. */
  readonly keyHash: string;
  readonly createdAt: number;
}

/** Accounts change rarely; each method is one durable transaction. */
export interface AccountStore {
  /** A secret of the installation by name, created with `value` if it does not exist; returns what is kept. */
  secret(query: { readonly name: string; readonly value: string }): Promise<string>;
  createInstance(instance: QueueInstance): Promise<void>;
  findInstance(query: { readonly instanceId: string }): Promise<QueueInstance | null>;
  listInstances(): Promise<readonly QueueInstance[]>;
  setSigningKeys(query: { readonly instanceId: string; readonly current: string; readonly next: string }): Promise<void>;
  createToken(token: TokenRecord): Promise<void>;
  findToken(query: { readonly tokenId: string }): Promise<TokenRecord | null>;
  listTokens(query: { readonly instanceId: string }): Promise<readonly TokenRecord[]>;
  revokeToken(query: { readonly tokenId: string; readonly at: number }): Promise<void>;
  createUser(query: { readonly user: UserRecord; readonly apiKey: ApiKeyRecord }): Promise<void>;
  listUsers(): Promise<readonly UserRecord[]>;
}
