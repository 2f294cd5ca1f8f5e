/**
 * The state of a run that the engine decides on: plain immutable data. It does not contain the results of steps,
 * which are only transported, so a decision costs the same at step 10 and at step 10,000.
 */
import type { CallSpec, EventContent, InvokeSpec, StepType, TraceContext } from '@everstep/sdk/protocol';
import type { ErrorDetails, FailedBy } from '../failures/error-details.js';
import type { SentRequest, StoredExchange, StoredRequest } from './exchanges.js';
import type { RunSettings } from './settings.js';

export const DIALECT_NAMES = ['native', 'upstash'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

export type {
  FailureCallback,
  FlowControl,
  MessageSettings,
  Redaction,
  RunSettings,
  RunTrace,
} from './settings.js';

interface OriginBase {
  readonly runKey: string;
  readonly workflowRunId: string;
  /** Time when the workflow run was created, Unix ms. */
  readonly workflowCreatedAt: number;
}

/** The origin of a run that was not started by a trigger. */
export type RunOrigin =
  | (OriginBase & { readonly kind: 'resume' | 'restart'; readonly dlqId: string })
  /** Invoked by a step of that run. `depth` is the number of nested invocations, 1 for the first. */
  | (OriginBase & { readonly kind: 'invoke'; readonly stepId: number; readonly stepName: string; readonly depth: number })
  /** Continues from step `stepId` of that run, with the steps recorded before it. `input` is present if the input was edited. */
  | (OriginBase & { readonly kind: 'fork'; readonly stepId: number; readonly note?: string; readonly input?: 'edited' })
  | { readonly kind: 'schedule'; readonly scheduleId: string };

export interface RunIdentity {
  /** Globally unique and sortable by creation; never shown to users. */
  readonly key: string;
  readonly instanceId: string;
  /** The caller's id or a generated one (`wfr_...`). At most one active run of an instance has this id. */
  readonly workflowRunId: string;
  /** Time when the run was created, Unix ms. */
  readonly createdAt: number;
  readonly dialect: DialectName;
  readonly workflowUrl: string;
  readonly callerIp: string;
  readonly origin: RunOrigin | null;
}

export type RunStatus = 'active' | 'succeeded' | 'failed' | 'canceled';

/** Slot of the task that continues the code. Positions of steps start at 1. */
export const ADVANCE_SLOT = 0;
/** Slot of the task that reports a failed run. A run that has ended has no other due task. */
export const CALLBACK_SLOT = -1;

interface TaskBase {
  /** Position of the step, or ADVANCE_SLOT. A run has at most one task per slot. */
  readonly slot: number;
  readonly messageId: string;
  /**
   * Time from which the task is due, Unix ms; null while it is parked because its run failed, or while an invocation waits for
   * its child to end.
   */
  readonly dueAt: number | null;
  /** Time when the task was planned, Unix ms. */
  readonly createdAt: number;
}

interface StepTaskBase extends TaskBase {
  readonly name: string;
  /** Position of the first step that was planned together with this one. */
  readonly group: number;
  /** Number of steps that were planned together. */
  readonly concurrent: number;
}

/** A unit of pending work of a run, with its due time. The store contains one row for each task. */
export type Task =
  /** Send the message that the run represents. Its message id is that of the run. */
  | (TaskBase & { readonly kind: 'message'; readonly retried: number })
  /** Call the endpoint without a target, so that its code continues. */
  | (TaskBase & { readonly kind: 'advance'; readonly retried: number })
  /**
   * Call the endpoint to execute one planned step. If the type is not Run, the endpoint can instead reply with what
   * the step needs, and the server executes it.
   */
  | (StepTaskBase & { readonly kind: 'step'; readonly retried: number; readonly stepType?: StepType })
  /** Record the step when it is due, without a request. */
  | (StepTaskBase & {
      readonly kind: 'sleep';
      readonly stepType: 'SleepFor' | 'SleepUntil';
      readonly sleepMs: number | null;
      /** Time when the sleep ends, Unix ms. Same as `dueAt`, but kept while the task is parked. */
      readonly wakeAt: number;
    })
  /** Wait for the first of these events, without a request. The wait times out when the task is due. */
  | (StepTaskBase & {
      readonly kind: 'wait';
      readonly stepType: 'Wait' | 'WaitForWebhook';
      readonly eventIds: readonly string[];
      /** Time when the wait times out, Unix ms. Same as `dueAt`, but kept while the task is parked. */
      readonly deadlineAt: number;
    })
  /** Send the HTTP request and record its response. */
  | (StepTaskBase & { readonly kind: 'call'; readonly retried: number; readonly call: CallSpec })
  /** Notify the runs that wait for the event, and record them. */
  | (StepTaskBase & {
      readonly kind: 'notify';
      readonly eventId: string;
      readonly workflowRunId: string | null;
      readonly content: EventContent;
    })
  /** Wait for the end of the invoked run. The task is due until that run is started, and again once it has ended. */
  | (StepTaskBase & {
      readonly kind: 'invoke';
      readonly childRunKey: string;
      readonly childWorkflowRunId: string;
      /** Time when the child was created, Unix ms; until it is started, the time when the step was created. */
      readonly childCreatedAt: number;
      /** The run to start; null once it is started. */
      readonly invoke: InvokeSpec | null;
    })
  /** The run failed: call the failure callback or the failure function. */
  | (TaskBase & { readonly kind: 'callback'; readonly retried: number; readonly dlqId: string });

/** Tasks that send a request and may have to retry it. */
export type AttemptedTask = Extract<Task, { readonly retried: number }>;
/** Tasks that represent a step of the code. */
export type StepTask = Exclude<Task, { readonly kind: 'advance' | 'message' | 'callback' }>;

/** An event that arrived before the run waited for it. */
export interface KeptEvent {
  readonly eventKey: string;
  readonly eventId: string;
  readonly content: EventContent;
  /** Time when the event was received, Unix ms. */
  readonly receivedAt: number;
}

export interface Run extends RunIdentity {
  readonly settings: RunSettings;
  readonly status: RunStatus;
  /** Position of the next new step: every lower position is recorded or has a task. */
  readonly nextStepId: number;
  /** Recorded positions after `nextStepId`: parallel steps kept by a fork whose code was not called yet. Absent if none. */
  readonly ahead?: readonly number[];
  readonly journalLength: number;
  /** Total size of all recorded results in bytes. */
  readonly journalBytes: number;
  /**
   * Largest number of recorded steps that the code has had in a call, after which it only waited for steps; -1 before its first
   * call, or if this is not known.
   * Invariant: an active run with `journalLength > replayedLength` has an advance task.
   */
  readonly replayedLength: number;
  /**
   * Version of this state. It grows with every decision, and differs between decisions on the same state (`nextVersion`).
   * If several processes share the store, a decision on any state except the latest is rejected. The embedded store does not
   * keep it.
   */
  readonly version: number;
  readonly tasks: ReadonlyMap<number, Task>;
  /** Events that arrived early, oldest first. */
  readonly keptEvents: readonly KeptEvent[];
  /** Whether the endpoint reported that it has a failure function. */
  readonly hasFailureFunction: boolean;
}

/** One row of the journal, as recorded. */
export interface RecordedStep {
  /** Index in recorded order, from 0. */
  readonly index: number;
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
  /** Result as JSON text; null if the step has no result. */
  readonly out: string | null;
  readonly messageId: string;
  readonly group: number;
  readonly concurrent: number;
  /** Time when the step was planned, Unix ms. */
  readonly createdAt: number;
  /** Time when the step was recorded, or when it ended if it was recorded with the steps after it, Unix ms. */
  readonly completedAt: number;
  /** Time when the successful attempt started, Unix ms; absent if there was no request, or if the time is unknown. */
  readonly startedAt?: number;
  readonly sleepMs: number | null;
  readonly wakeAt: number | null;
  /** Whether the result was supplied in a fork. */
  readonly edited?: true;
  /** Request of a call whose first attempt succeeded. It is read only on demand. */
  readonly sent?: StoredRequest;
  /** Trace context of the notification that ended a wait. It is for observers and is not stored. */
  readonly notifiedBy?: TraceContext;
}

export const FAILURE_CAUSES = [
  'network',
  'timeout',
  'http',
  'step',
  'workflow',
  'not-protocol',
  'refused',
  'blocked-address',
] as const;

/** Why a delivery failed, and the response of the endpoint. */
export interface DeliveryFailure {
  readonly cause: (typeof FAILURE_CAUSES)[number];
  readonly message: string;
  /** Details of the error that the endpoint reported; absent if there are none. */
  readonly thrown?: ErrorDetails;
  /** HTTP status of the response, if there was one. */
  readonly status: number | null;
  readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
  readonly responseBody: Uint8Array;
  /** The request; absent if none was sent, or if it is unknown. */
  readonly sent?: SentRequest;
  readonly retry:
    | { readonly kind: 'backoff' }
    | { readonly kind: 'after'; readonly delayMs: number }
    | { readonly kind: 'never' };
}

/** A failed attempt, stored for the run log. */
export interface FailedAttempt {
  /** Position of the step, or ADVANCE_SLOT if the code between steps failed. */
  readonly slot: number;
  /** Name of the step, if known. */
  readonly name: string | null;
  readonly messageId: string;
  /** Number of failed attempts of the message before this one. */
  readonly retried: number;
  readonly at: number;
  readonly cause: DeliveryFailure['cause'];
  readonly message: string;
  readonly status: number | null;
  /** Time of the next attempt; null if this was the last one. */
  readonly retryAt: number | null;
  readonly thrown?: ErrorDetails;
  /** The request and its response. Absent if nothing was sent, or if they were not requested. */
  readonly exchange?: StoredExchange;
}

export const FAILURE_FUNCTION_STATES = ['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'] as const;
export type FailureFunctionState = (typeof FAILURE_FUNCTION_STATES)[number];

/** A run that failed after all retries, until it is resumed, restarted or deleted. */
export interface DeadLetter {
  readonly dlqId: string;
  readonly runKey: string;
  readonly instanceId: string;
  /** Time when the run failed, Unix ms. */
  readonly createdAt: number;
  readonly failureFunctionState: FailureFunctionState | null;
  readonly responseStatus: number | null;
  readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
  readonly responseBody: Uint8Array;
  /** Error text. */
  readonly error: string;
  /** How the run failed. Null if an earlier version stored the entry. */
  readonly failedBy: FailedBy | null;
}

/** How a run ended. `result` is JSON text. */
export type RunOutcome =
  | { readonly status: 'succeeded'; readonly result: string | null }
  | { readonly status: 'failed'; readonly error: string }
  | { readonly status: 'canceled' };

/** The input of a run. */
export interface RunPayload {
  readonly body: Uint8Array;
  readonly contentType: string | null;
  /** Headers with lowercase names that are forwarded to the workflow. */
  readonly forwardHeaders: Readonly<Record<string, string>>;
}

/** Limits and state of a flow control key. */
export interface FlowControlState {
  readonly key: string;
  readonly parallelism: number | null;
  readonly rate: number | null;
  /** Length of the rate window; null exactly when `rate` is null. */
  readonly periodMs: number | null;
  readonly paused: boolean;
  /** Triggers do not change a pinned limit. */
  readonly parallelismPinned: boolean;
  /** Whether the rate and its period are pinned. */
  readonly ratePinned: boolean;
  /** Current rate window: its start (Unix ms) and the number of granted starts. Null before the first one. */
  readonly window: { readonly startedAt: number; readonly granted: number } | null;
}

/** A schedule: what it starts, and when. */
export interface Schedule {
  readonly scheduleId: string;
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly cron: string;
  /** IANA name of the time zone. */
  readonly timeZone: string;
  readonly workflowUrl: string;
  readonly payload: RunPayload;
  readonly settings: RunSettings;
  /** Delay in ms between a tick and the first delivery of its run. */
  readonly delayMs: number;
  readonly callerIp: string;
  readonly paused: boolean;
  /** Time when the schedule was created, Unix ms. */
  readonly createdAt: number;
  /** Time of the next tick, Unix ms; null while the schedule is paused, or if there are no more ticks. */
  readonly nextAt: number | null;
  readonly lastFiredAt: number | null;
  readonly lastRunId: string | null;
}

/** A hold on the deliveries to a destination. */
export interface DestinationHold {
  /** Scheme, host and port of the destination. */
  readonly origin: string;
  /** What holds the destination: the breaker, which failures have tripped, or a person. */
  readonly by: 'breaker' | 'hand';
  readonly reason: string;
  /** Time since which the destination has been held, Unix ms. */
  readonly since: number;
}

/** Settings of the breaker, which holds a destination that keeps failing. */
export interface BreakerSettings {
  readonly enabled: boolean;
  /** Number of consecutive failed deliveries that trip the breaker. */
  readonly failures: number;
  /** Time between two probe deliveries to a held destination. */
  readonly probeEveryMs: number;
}

/** How long runs that have ended are kept. Null means no limit on their age or number. */
export interface RetentionRule {
  readonly maxAgeMs: number | null;
  readonly maxCount: number | null;
}
/**
 * `failed` means runs whose entry was removed from the dead letter queue. Runs with an entry in it have their own rule,
 * `deadLetter`.
 */
export type RetentionState = 'succeeded' | 'failed' | 'canceled' | 'deadLetter';
export type RetentionSettings = Readonly<Record<RetentionState, RetentionRule>>;

/** Settings of an instance. A setting that it has not changed has its default value. */
export interface InstanceSettings {
  readonly breaker: BreakerSettings;
  readonly retention: RetentionSettings;
}

const KEEP_FOREVER: RetentionRule = { maxAgeMs: null, maxCount: null };

/** Defaults of an instance: nothing is held automatically, and nothing is removed. */
export const DEFAULT_INSTANCE_SETTINGS: InstanceSettings = {
  breaker: { enabled: false, failures: 10, probeEveryMs: 10_000 },
  retention: { succeeded: KEEP_FOREVER, failed: KEEP_FOREVER, canceled: KEEP_FOREVER, deadLetter: KEEP_FOREVER },
};

/** A queue of messages. They are sent in the order in which they arrived, up to `parallelism` at a time. */
export interface Queue {
  readonly name: string;
  readonly parallelism: number;
  readonly paused: boolean;
  /** Time when the queue was created, Unix ms. */
  readonly createdAt: number;
  /** Time of the last change, Unix ms. */
  readonly updatedAt: number;
}

export interface GroupEndpoint {
  readonly name: string | null;
  readonly url: string;
}

/** A group of endpoints to which a message is published. */
export interface UrlGroup {
  readonly name: string;
  readonly endpoints: readonly GroupEndpoint[];
  /** Time when the group was created, Unix ms. */
  readonly createdAt: number;
  /** Time of the last change, Unix ms. */
  readonly updatedAt: number;
}
