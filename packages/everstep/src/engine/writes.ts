/** The writes of a decision: intents, not rows. A unit is atomic: if one of its guards fails, none of its writes happen. */
import type { FailureGroup } from './dead-letters/dead-letter-groups.js';
import type { RepairItemState } from './dead-letters/repair.js';
import type {
  DeadLetter,
  DestinationHold,
  FailedAttempt,
  FailureFunctionState,
  FlowControl,
  FlowControlState,
  InstanceSettings,
  KeptEvent,
  Queue,
  RecordedStep,
  Run,
  RunOutcome,
  RunPayload,
  Schedule,
  Task,
  UrlGroup,
} from './runs/run.js';

/** A condition that must hold when a unit is written. */
export type StoreGuard =
  /** No active run has this id in this instance. */
  | { readonly kind: 'run-id-free'; readonly instanceId: string; readonly workflowRunId: string }
  /**
   * The run exists and is active. With `version`, it must also be at that version, so no other decision was made
   * since. With `next`, the unit moves it to that version.
   */
  | { readonly kind: 'run-active'; readonly runKey: string; readonly version?: number; readonly next?: number }
  /** The task is open with this message. For runs that have ended, where `run-active` does not apply. */
  | { readonly kind: 'task-open'; readonly runKey: string; readonly slot: number; readonly messageId: string }
  /** The schedule exists and its next tick is this one; null: it has none. */
  | { readonly kind: 'schedule-due'; readonly instanceId: string; readonly scheduleId: string; readonly nextAt: number | null }
  /** The object has not changed in any field since it was read; null: it did not exist, and still does not. */
  | { readonly kind: 'queue-unchanged'; readonly instanceId: string; readonly name: string; readonly was: Queue | null }
  | { readonly kind: 'url-group-unchanged'; readonly instanceId: string; readonly name: string; readonly was: UrlGroup | null }
  | {
      readonly kind: 'schedule-unchanged';
      readonly instanceId: string;
      readonly scheduleId: string;
      readonly was: Schedule | null;
    }
  /** The instance has fewer schedules than this. */
  | { readonly kind: 'schedules-below'; readonly instanceId: string; readonly most: number }
  /** All these entries exist in this instance. */
  | { readonly kind: 'dead-letters-present'; readonly instanceId: string; readonly dlqIds: readonly string[] }
  /** The repair is at this version, so no other decision was made since. */
  | { readonly kind: 'repair-at'; readonly instanceId: string; readonly repairId: string; readonly version: number }
  /** The run exists in any state: it was not removed. */
  | { readonly kind: 'run-present'; readonly runKey: string }
  /** There is no unexpired trigger with this deduplication id. */
  | { readonly kind: 'not-duplicate'; readonly instanceId: string; readonly deduplicationId: string; readonly now: number };

/**
 * A counter per day: runs started by requests, and requests rejected by the plan or the budget, by kind. `tick-`: a
 * tick of a schedule that started no run. `step-`: a step that failed its run or invoked no run.
 */
export type DayCountKind =
  | 'run'
  | 'budget-exceeded'
  | 'daily-limit-reached'
  | 'rate-limited'
  | 'body-too-large'
  | 'too-many-schedules'
  | 'storage-quota-exceeded'
  | 'too-many-active-runs'
  | 'too-many-queues'
  | 'too-many-url-groups'
  | 'too-many-flow-control-keys'
  | 'tick-budget-exceeded'
  | 'tick-daily-limit-reached'
  | 'tick-body-too-large'
  | 'tick-storage-quota-exceeded'
  | 'tick-too-many-active-runs'
  | 'step-body-too-large'
  | 'step-budget-exceeded'
  | 'step-daily-limit-reached'
  | 'step-storage-quota-exceeded'
  | 'step-too-many-active-runs'
  /** Counter of the installation, with an empty instance id: login attempts for unknown e-mail addresses. */
  | 'unknown-login';

/** Adds to a counter of a day. */
export interface CountOfDay {
  readonly kind: 'count-of-day';
  readonly instanceId: string;
  readonly what: DayCountKind;
  readonly count: number;
  /** Unix ms. */
  readonly at: number;
}

/** The request that caused an entry of the audit log. */
export interface AuditRequest {
  /** The `operationId` of the API, or the name of a command of the control socket. */
  readonly operation: string;
  /** Credential of the caller, without any secret: `api-key key_1`, `session ses_1`, `token tok_1 (name)`, `none`. */
  readonly credential: string;
  /** Start of the header `User-Agent`; empty if it is missing. */
  readonly userAgent: string;
  /** Queue instance that the request concerns; null: none. */
  readonly instanceId: string | null;
  readonly outcome: 'done' | 'refused';
}

/** An entry of the audit log. Entries are only added; those older than the retention period are removed. */
export interface AuditNote {
  readonly auditId: string;
  /** Unix ms. */
  readonly at: number;
  /** E-mail of the user, the token, `anonymous`, or `operator` for actions of the installation itself. */
  readonly actor: string;
  /** Such as `queue.move-to-team`. */
  readonly action: string;
  /** Id of the changed object. */
  readonly subject: string;
  /** The change, in a few words or values. Never a payload or a secret. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  /** Network address of the client. */
  readonly address: string;
  /** Accounts whose members may read it. */
  readonly accountIds: readonly string[];
  /** Absent if no request caused the entry. */
  readonly request?: AuditRequest;
}

/** One change in the store. */
export type StoreWrite =
  | ControlWrite
  /** Sets the outcome of a repair entry. An entry that is no longer pending does not change. */
  | {
      readonly kind: 'set-repair-item';
      readonly instanceId: string;
      readonly repairId: string;
      /** Index of the entry in the repair. */
      readonly n: number;
      readonly state: RepairItemState;
      /** The run created from it. */
      readonly newRun: { readonly runKey: string; readonly workflowRunId: string } | null;
      readonly error: string | null;
      /** Unix ms. */
      readonly at: number;
    }
  /**
   * Counts billed messages of the instance in the calendar month (UTC) of `at`. The account that owns the instance at
   * the time of the write is billed.
   */
  | { readonly kind: 'count-messages'; readonly instanceId: string; readonly messages: number; readonly at: number }
  /** Counts for the day (UTC) of `at`. */
  | CountOfDay
  /** Inserts the run row and its input. Tasks and journal rows are separate writes. */
  | { readonly kind: 'create-run'; readonly run: Run; readonly input: RunPayload | { readonly copyOf: string } }
  /**
   * Copies journal rows of one run to another, byte for byte. With `length`, only rows with a lower index that are
   * not in `without`.
   */
  | {
      readonly kind: 'copy-journal';
      readonly fromRunKey: string;
      readonly toRunKey: string;
      readonly length?: number;
      readonly without?: readonly number[];
    }
  /**
   * Copies a slice of a journal for a run that is not created yet: rows from index `from`, below `below` and not in
   * `without`. They are not visible before. `at` is the creation time of that run in Unix ms.
   */
  | {
      readonly kind: 'stage-journal';
      readonly fromRunKey: string;
      readonly toRunKey: string;
      readonly from: number;
      readonly below: number;
      readonly without: readonly number[];
      readonly at: number;
    }
  /**
   * Gives the run, created earlier in the same unit, the journal that was staged for it. It is an error if the staged
   * journal has a different number of steps or was abandoned.
   */
  | { readonly kind: 'adopt-journal'; readonly runKey: string; readonly instanceId: string; readonly steps: number }
  /** Abandons a staged journal, because the run will not be created. `removeStagedSteps` deletes it later. */
  | { readonly kind: 'abandon-journal'; readonly runKey: string; readonly instanceId: string }
  /** Adds an entry to the audit log, in the unit that makes the change. */
  | { readonly kind: 'add-audit'; readonly entry: AuditNote }
  /** Appends to the journal. If a row with that index or step id exists, it is an error and the batch is rejected. */
  | { readonly kind: 'record-step'; readonly runKey: string; readonly step: RecordedStep }
  /**
   * Inserts the task, or replaces the one in its slot. If an invocation is stored to wait for a run that has already
   * ended, it is due from its `createdAt`, because that end did not find it.
   */
  | { readonly kind: 'put-task'; readonly runKey: string; readonly task: Task }
  | { readonly kind: 'delete-task'; readonly runKey: string; readonly slot: number }
  /** Makes all tasks of the run not due (the run failed; a resume may need them). */
  | { readonly kind: 'park-tasks'; readonly runKey: string }
  | { readonly kind: 'delete-tasks'; readonly runKey: string }
  | { readonly kind: 'keep-event'; readonly runKey: string; readonly event: KeptEvent }
  | { readonly kind: 'drop-event'; readonly runKey: string; readonly eventKey: string }
  | { readonly kind: 'note-failure-function'; readonly runKey: string }
  /** Makes the task that waits for this invoked run due from `at`, if it is open and its run is active. */
  | { readonly kind: 'wake-invoker'; readonly childRunKey: string; readonly at: number }
  | {
      readonly kind: 'set-failure-function-state';
      readonly instanceId: string;
      readonly dlqId: string;
      /** Null: there is no failure callback and no failure function. */
      readonly state: FailureFunctionState | null;
    }
  | { readonly kind: 'record-attempt'; readonly runKey: string; readonly attempt: FailedAttempt }
  | { readonly kind: 'end-run'; readonly runKey: string; readonly outcome: RunOutcome; readonly completedAt: number }
  /** `group` null: created by a version without groups; it is grouped later. */
  | { readonly kind: 'add-dead-letter'; readonly entry: DeadLetter; readonly group: FailureGroup | null }
  /**
   * Removes the entry from the DLQ, together with the callback task of its run. `became` links the old run to the new
   * one, created at that time (Unix ms); null: the entry was deleted. A group whose last entry is recovered is
   * resolved.
   */
  | {
      readonly kind: 'take-dead-letter';
      readonly instanceId: string;
      readonly dlqId: string;
      readonly became: { readonly kind: 'resume' | 'restart'; readonly runKey: string; readonly at: number } | null;
    }
  | {
      readonly kind: 'remember-deduplication';
      readonly instanceId: string;
      readonly deduplicationId: string;
      readonly runKey: string;
      readonly expiresAt: number;
    }
  /**
   * Registers the key, or replaces its limits. The latest configuration wins, except that a key without limits keeps
   * its current ones and a pinned limit does not change.
   */
  | {
      readonly kind: 'put-flow-control';
      readonly instanceId: string;
      readonly flowControl: FlowControl;
      readonly at: number;
    };

/** Writes to objects other than runs: keys, queues, groups, schedules, destinations, settings. */
export type ControlWrite =
  /** Registers the queue that a message specifies. A new queue has a parallelism of one. */
  | { readonly kind: 'register-queue'; readonly instanceId: string; readonly name: string; readonly at: number }
  | { readonly kind: 'put-queue'; readonly instanceId: string; readonly queue: Queue }
  | { readonly kind: 'delete-queue'; readonly instanceId: string; readonly name: string }
  | { readonly kind: 'put-url-group'; readonly instanceId: string; readonly group: UrlGroup }
  | { readonly kind: 'delete-url-group'; readonly instanceId: string; readonly name: string }
  /** Sets the state of a key that a person specified, and registers the key if it is new. It also changes pinned limits. */
  | { readonly kind: 'set-flow-control'; readonly instanceId: string; readonly state: FlowControlState; readonly at: number }
  /**
   * Number of granted starts in a rate window. It is written before the deliveries start, so that a crash cannot
   * grant them twice.
   */
  | {
      readonly kind: 'set-flow-window';
      readonly instanceId: string;
      readonly key: string;
      readonly window: FlowControlState['window'];
    }
  | { readonly kind: 'put-schedule'; readonly schedule: Schedule }
  | { readonly kind: 'delete-schedule'; readonly instanceId: string; readonly scheduleId: string }
  /** Replaces the hold of an origin; null releases it. */
  | { readonly kind: 'set-hold'; readonly instanceId: string; readonly origin: string; readonly hold: DestinationHold | null }
  | { readonly kind: 'set-instance-settings'; readonly instanceId: string; readonly settings: InstanceSettings };

/** Guards and writes that are applied together or not at all. */
export interface CommitUnit {
  readonly guards: readonly StoreGuard[];
  readonly writes: readonly StoreWrite[];
}

/** Result of a unit: applied, or the guard that failed. */
export type CommitResult =
  | { readonly kind: 'applied' }
  | { readonly kind: 'run-id-taken'; readonly run: RunReference }
  | { readonly kind: 'duplicate'; readonly run: RunReference }
  | { readonly kind: 'run-not-active' }
  /** The run was removed. */
  | { readonly kind: 'run-gone' }
  /** Another process has decided on the run in the meantime. */
  | { readonly kind: 'run-moved' }
  | { readonly kind: 'task-gone' }
  | { readonly kind: 'schedule-moved' }
  /** Another process has decided on the repair in the meantime. */
  | { readonly kind: 'repair-moved' }
  /** A queue, URL group or schedule has changed since it was read. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'too-many-schedules'; readonly count: number }
  | { readonly kind: 'dead-letters-missing'; readonly dlqIds: readonly string[] };

/** Identifies a run. */
export interface RunReference {
  readonly runKey: string;
  readonly workflowRunId: string;
  /** Unix ms. */
  readonly createdAt: number;
}
