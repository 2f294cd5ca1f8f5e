/**
 * The store: the durable state of the server. Its interface is narrow: each method expresses one intent, and its parameter is one
 * readonly object. Every implementation must pass stores/conformance.
 *
 * All writes use `commit`: a batch of units in one transaction, durable before the promise resolves. A unit is
 * atomic: if one of its guards fails, none of its writes happen and its result names the guard. Other units of the
 * batch are not affected. Later units see the writes of earlier ones.
 *
 * Texts are well-formed Unicode without U+0000. Not every store supports other texts, so they are rejected at the API. The output
 * of JSON.stringify always meets these conditions.
 * Keeps invariant 5.
 */
import type { GroupCounts } from '../../engine/dead-letters/group-triage.js';
import type { AccountStore } from './account-store.js';
import type { AlertStore } from './alerts/alert-store.js';
import type { AuditStore } from './audit-store.js';
import type { CommitStore } from './commit-store.js';
import type { ControlStore } from './control-store.js';
import type { DeadLetterGroupStore } from './dead-letter-groups.js';
import type { DeadLetterStore } from './dead-letter-store.js';
import type { EventStore } from './event-store.js';
import type { HistoryStore } from './history-store.js';
import type { InsightStore } from './insights/insight-store.js';
import type { RepairStore } from './repair-store.js';
import type { RunStore } from './run-store.js';
import type { ScheduleStore } from './schedule-store.js';
import type { SearchIndexStore } from './search-store.js';
import type { TaskStore } from './task-store.js';
import type { UpkeepStore } from './upkeep-store.js';

export type { CommitResult, CommitUnit, RunReference, StoreGuard, StoreWrite } from '../../engine/writes.js';
export type {
  AccountStore,
  ApiKeyRecord,
  AuditEntry,
  QueueInstance,
  TokenRecord,
  UsageRecord,
  UserRecord,
} from './account-store.js';
export * from './commit-store.js';
export type * from './control-store.js';
export type * from './dead-letter-store.js';
export type * from './event-store.js';
export type * from './filters.js';
export type * from './history-store.js';
export type * from './insights/insight-store.js';
export type * from './page.js';
export type * from './run-records.js';
export type * from './run-store.js';
export type * from './schedule-store.js';
export type * from './task-store.js';
export type * from './upkeep-store.js';

/** Sums over the whole store. */
export interface StoreMeasure {
  /** Number of active runs and messages of all instances. */
  readonly activeRuns: number;
  /** Number of entries in the DLQ of all instances, except old entries that are not grouped yet. */
  readonly deadLetters: number;
  /** Numbers of groups with entries. */
  readonly errorGroups: GroupCounts;
  /** Size of the database in bytes. */
  readonly bytes: number;
}

/** A whole store, for the code that opens it and wires the parts together. Other code declares the parts that it uses. */
export interface Store
  extends CommitStore,
    RunStore,
    HistoryStore,
    TaskStore,
    DeadLetterStore,
    EventStore,
    ControlStore,
    ScheduleStore,
    UpkeepStore {
  deadLetterGroups: DeadLetterGroupStore;
  accounts: AccountStore;
  audit: AuditStore;
  insights: InsightStore;
  alerts: AlertStore;
  searchIndexes: SearchIndexStore;
  repairs: RepairStore;
  /** Returns the latest time that the store has recorded. A clock must not start before it. */
  latestTime(): Promise<number>;
  /** Returns sums over the whole store at `now` (Unix ms), for metrics: cheap enough for every scrape. */
  measure(now: number): Promise<StoreMeasure>;
  close(): Promise<void>;
}
