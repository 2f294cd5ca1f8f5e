/**
 * What a decision writes: intents, not rows. A unit is all or nothing: if one
 * of its guards does not hold, none of its writes happen.
 */
import type { FailureGroup } from './dead-letter-groups.js';
import type { RepairItemState } from './repair.js';
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
} from './run.js';

export type StoreGuard =
  /** No active run has this id in this instance. */
  | { readonly kind: 'run-id-free'; readonly instanceId: string; readonly workflowRunId: string }
  /** The run exists and is active. */
  /** With `version`: and it is in that state, nobody has decided on it since. With `next`: the unit brings it to that one. */
  | { readonly kind: 'run-active'; readonly runKey: string; readonly version?: number; readonly next?: number }
  /** The task is open, with this message: for runs that have ended, where `run-active` says nothing. */
  | { readonly kind: 'task-open'; readonly runKey: string; readonly slot: number; readonly messageId: string }
  /** The schedule exists and its next tick is this one; null: it has none. */
  | { readonly kind: 'schedule-due'; readonly instanceId: string; readonly scheduleId: string; readonly nextAt: number | null }
  /** It is as it was read, in all that it consists of; null: there was none, and there is none. */
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
  /** Every one of these entries exists in this instance. */
  | { readonly kind: 'dead-letters-present'; readonly instanceId: string; readonly dlqIds: readonly string[] }
  /** The repair is at this version: nobody has decided on it since. */
  | { readonly kind: 'repair-at'; readonly instanceId: string; readonly repairId: string; readonly version: number }
  /** The run is there, in whatever state: it was not removed. */
  | { readonly kind: 'run-present'; readonly runKey: string }
  /** No unexpired trigger with this deduplication id. */
  | { readonly kind: 'not-duplicate'; readonly instanceId: string; readonly deduplicationId: string; readonly now: number };

/**
 * What is counted of a day: runs that were started from outside, and by its kind what the plan or the budget refused.
 * `tick-`: of a schedule, whose tick started no run; `step-`: of a step, whose run failed by it, or which invoked no run.
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
  /** Of the installation, whose instance id is empty: failed logins of e-mails that nobody has. */
  | 'unknown-login';

export interface CountOfDay {
  readonly kind: 'count-of-day';
  readonly instanceId: string;
  readonly what: DayCountKind;
  readonly count: number;
  /** Unix ms. */
  readonly at: number;
}

/** The request that led to an entry of the audit log. */
export interface AuditRequest {
  /** The `operationId` of the API, or the name of a command of the control socket. */
  readonly operation: string;
  /** What the caller was identified by, without any secret: `api-key key_1`, `session ses_1`, `token tok_1 (name)`, `none`. */
  readonly credential: string;
  /** The beginning of the header `User-Agent`; empty without one. */
  readonly userAgent: string;
  /** Queue instance that the request was about; null: none. */
  readonly instanceId: string | null;
  readonly outcome: 'done' | 'refused';
}

/** An entry of the audit log. Entries are only ever added; those that are older than the retention are removed. */
export interface AuditNote {
  readonly auditId: string;
  /** Unix ms. */
  readonly at: number;
  /** E-mail of the user, the token, `anonymous`, or `operator` for what the installation did itself. */
  readonly actor: string;
  /** Such as `queue.move-to-team`. */
  readonly action: string;
  /** Id of what was changed. */
  readonly subject: string;
  /** What changed, in a few words or values. Never a payload or a secret. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  /** Network address of the client. */
  readonly address: string;
  /** Accounts whose members may read it. */
  readonly accountIds: readonly string[];
  /** Absent for what no request led to. */
  readonly request?: AuditRequest;
}

export type StoreWrite =
  | ControlWrite
  /** What became of an entry of a repair; one that is not pending any more stays as it is. */
  | {
      readonly kind: 'set-repair-item';
      readonly instanceId: string;
      readonly repairId: string;
      /** Its place in the repair. */
      readonly n: number;
      readonly state: RepairItemState;
      /** The run that is made of it. */
      readonly newRun: { readonly runKey: string; readonly workflowRunId: string } | null;
      readonly error: string | null;
      /** Unix ms. */
      readonly at: number;
    }
  /** Messages that the instance is billed for, in the calendar month (UTC) of `at`, to whoever owns it when it is written. */
  | { readonly kind: 'count-messages'; readonly instanceId: string; readonly messages: number; readonly at: number }
  /** Counted for the day (UTC) of `at`. */
  | CountOfDay
  /** The run row and its input. Tasks and journal rows come as writes of their own. */
  | { readonly kind: 'create-run'; readonly run: Run; readonly input: RunPayload | { readonly copyOf: string } }
  /**
   * Copies journal rows of one run to another, byte for byte: all, or with `length` those whose index is below it and not
   * among `without`.
   */
  | {
      readonly kind: 'copy-journal';
      readonly fromRunKey: string;
      readonly toRunKey: string;
      readonly length?: number;
      readonly without?: readonly number[];
    }
  /**
   * Copies a slice of a journal, the rows from index `from` on, below `below` and not among `without`, for a run that is still
   * to be created: they are not visible before. `at` (Unix ms) is when that run is created.
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
   * The run, created before in the same unit, has the journal that was staged for it. A fault when that has not so many steps,
   * or was abandoned.
   */
  | { readonly kind: 'adopt-journal'; readonly runKey: string; readonly instanceId: string; readonly steps: number }
  /** The run will not be created: what was staged for it is deleted later, by `removeStagedSteps`. */
  | { readonly kind: 'abandon-journal'; readonly runKey: string; readonly instanceId: string }
  /** Tells of a change in the audit log, in the unit that makes it. */
  | { readonly kind: 'add-audit'; readonly entry: AuditNote }
  /** Appends to the journal. A row with that index or step id is a fault: the batch is refused. */
  | { readonly kind: 'record-step'; readonly runKey: string; readonly step: RecordedStep }
  /**
   * Inserts the task, or replaces the one in its slot. An invocation that is put to wait for a run which has ended is due
   * from its `createdAt` on: that end has looked for it already.
   */
  | { readonly kind: 'put-task'; readonly runKey: string; readonly task: Task }
  | { readonly kind: 'delete-task'; readonly runKey: string; readonly slot: number }
  /** Sets every task of the run to not due (the run failed; a resume may want them). */
  | { readonly kind: 'park-tasks'; readonly runKey: string }
  | { readonly kind: 'delete-tasks'; readonly runKey: string }
  | { readonly kind: 'keep-event'; readonly runKey: string; readonly event: KeptEvent }
  | { readonly kind: 'drop-event'; readonly runKey: string; readonly eventKey: string }
  | { readonly kind: 'note-failure-function'; readonly runKey: string }
  /** The task that waits for this invoked run, if it is open and its run active, is due from `at` on. */
  | { readonly kind: 'wake-invoker'; readonly childRunKey: string; readonly at: number }
  | {
      readonly kind: 'set-failure-function-state';
      readonly instanceId: string;
      readonly dlqId: string;
      /** Null: there is nobody to be told. */
      readonly state: FailureFunctionState | null;
    }
  | { readonly kind: 'record-attempt'; readonly runKey: string; readonly attempt: FailedAttempt }
  | { readonly kind: 'end-run'; readonly runKey: string; readonly outcome: RunOutcome; readonly completedAt: number }
  /** `group` null: as versions before there were groups made it; it is grouped later. */
  | { readonly kind: 'add-dead-letter'; readonly entry: DeadLetter; readonly group: FailureGroup | null }
  /**
   * Takes the entry out of the DLQ, and the callback task of its run with it. `became` links the old run to the new one, made
   * at that time (Unix ms): a group whose last entry leaves so is resolved. Null when it was deleted.
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
  /** Registers the key, or replaces its limits (the latest configuration seen wins; a key without limits keeps what it has, and a pinned limit stays). */
  | {
      readonly kind: 'put-flow-control';
      readonly instanceId: string;
      readonly flowControl: FlowControl;
      readonly at: number;
    };

/** Writes of what stands beside the runs: keys, queues, groups, schedules, destinations, settings. */
export type ControlWrite =
  /** A queue that a message names: one message at a time, when it is new. */
  | { readonly kind: 'register-queue'; readonly instanceId: string; readonly name: string; readonly at: number }
  | { readonly kind: 'put-queue'; readonly instanceId: string; readonly queue: Queue }
  | { readonly kind: 'delete-queue'; readonly instanceId: string; readonly name: string }
  | { readonly kind: 'put-url-group'; readonly instanceId: string; readonly group: UrlGroup }
  | { readonly kind: 'delete-url-group'; readonly instanceId: string; readonly name: string }
  /** What a person set of a key; registers it when it is new. A change of limits here counts also for a pinned key. */
  | { readonly kind: 'set-flow-control'; readonly instanceId: string; readonly state: FlowControlState; readonly at: number }
  /** Starts granted in a rate window; written before they are made, so that a crash cannot grant them twice. */
  | {
      readonly kind: 'set-flow-window';
      readonly instanceId: string;
      readonly key: string;
      readonly window: FlowControlState['window'];
    }
  | { readonly kind: 'put-schedule'; readonly schedule: Schedule }
  | { readonly kind: 'delete-schedule'; readonly instanceId: string; readonly scheduleId: string }
  /** Replaces the hold of an origin; null lifts it. */
  | { readonly kind: 'set-hold'; readonly instanceId: string; readonly origin: string; readonly hold: DestinationHold | null }
  | { readonly kind: 'set-instance-settings'; readonly instanceId: string; readonly settings: InstanceSettings };

export interface CommitUnit {
  readonly guards: readonly StoreGuard[];
  readonly writes: readonly StoreWrite[];
}

export type CommitResult =
  | { readonly kind: 'applied' }
  | { readonly kind: 'run-id-taken'; readonly run: RunReference }
  | { readonly kind: 'duplicate'; readonly run: RunReference }
  | { readonly kind: 'run-not-active' }
  /** It was removed. */
  | { readonly kind: 'run-gone' }
  /** Another process has decided on the run since. */
  | { readonly kind: 'run-moved' }
  | { readonly kind: 'task-gone' }
  | { readonly kind: 'schedule-moved' }
  /** Somebody else has decided on the repair since. */
  | { readonly kind: 'repair-moved' }
  /** A queue, a group of URLs or a schedule is not as it was read. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'too-many-schedules'; readonly count: number }
  | { readonly kind: 'dead-letters-missing'; readonly dlqIds: readonly string[] };

export interface RunReference {
  readonly runKey: string;
  readonly workflowRunId: string;
  /** Unix ms. */
  readonly createdAt: number;
}
