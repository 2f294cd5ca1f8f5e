/**
 * What the engine knows of a run: plain immutable data. Everything that the
 * engine decides on is here; results of steps are not (they are bytes that
 * only travel), so a decision costs the same at step 10 and at step 10,000.
 */
import type { CallSpec, EventContent, InvokeSpec, StepType } from '@everstep/sdk/protocol';
import type { KeptExchange, KeptRequest, SentRequest } from './exchanges.js';

export const DIALECT_NAMES = ['native', 'upstash'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

export interface FlowControl {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Length of a rate window. Present exactly when `rate` is. */
  readonly periodMs?: number;
}

/** A message about what became of a run or of another message. What is absent is as it is for the run, or the default. */
export interface FailureCallback {
  readonly url: string;
  /** Headers to send with the callback (`Failure-Callback-Forward-*` without the prefix). */
  readonly headers: Readonly<Record<string, string>>;
  /** POST when absent. */
  readonly method?: string;
  readonly maxRetries?: number;
  readonly retryDelay?: string;
  readonly timeoutMs?: number;
  /** How long it waits before it is sent first, ms. */
  readonly delayMs?: number;
}

/** What makes a run a plain message: one request, no code, no journal. Its URL, body and headers are those of the run. */
export interface MessageSettings {
  readonly method: string;
  /** Where it keeps its place in line. */
  readonly queue?: string;
  /** The group that it was published to, and the name of the endpoint in it. */
  readonly urlGroup?: string;
  readonly endpointName?: string;
  /** The schedule that published it. */
  readonly scheduleId?: string;
  /** Unix ms before which it was not to be sent. */
  readonly notBefore?: number;
  /** Told of every answer, as a message of its own. */
  readonly callback?: FailureCallback;
  /** The message whose answer this one tells of. */
  readonly callbackOf?: string;
}

/** What logs, dead letters and whatever else is shown must not show. */
export interface Redaction {
  /** The body it was triggered with, and what its steps and the run made of it. */
  readonly body: boolean;
  /** All forwarded headers, or those with these lower-case names. */
  readonly headers: true | readonly string[];
  /** Fields of JSON bodies and results, wherever they stand in them. */
  readonly fields: readonly string[];
}

/** How the protocol that an endpoint speaks deals with steps. */
export interface StepRules {
  /** The code goes on only when all that was planned together is recorded; asked before, it has nothing to say. */
  readonly joined: boolean;
  /** False: the endpoint has to introduce itself before it is asked for its first step. */
  readonly introduced: boolean;
}

/** What a trigger sets and a resume or restart may override. */
export interface RunSettings {
  readonly maxRetries: number;
  /** Source of the retry delay expression (its value is ms), or null for the default back-off. */
  readonly retryDelay: string | null;
  /** How long one delivery to the workflow endpoint may take. */
  readonly deliveryTimeoutMs: number;
  readonly labels: readonly string[];
  readonly flowControl: FlowControl | null;
  readonly failureCallback: FailureCallback | null;
  readonly redact?: Redaction;
  /** Absent: the native protocol, where code goes on with any step that is recorded, and nobody introduces himself. */
  readonly steps?: StepRules;
  /** Present: it is a plain message. */
  readonly message?: MessageSettings;
}

interface OriginBase {
  readonly runKey: string;
  readonly workflowRunId: string;
  /** Unix ms. */
  readonly workflowCreatedAt: number;
}

/** Where a run came from when nobody triggered it. */
export type RunOrigin =
  | (OriginBase & { readonly kind: 'resume' | 'restart'; readonly dlqId: string })
  /** Invoked by a step of that run. `depth`: how many invocations lead to it, 1 for the first. */
  | (OriginBase & { readonly kind: 'invoke'; readonly stepId: number; readonly stepName: string; readonly depth: number })
  /** Goes on from that run's step `stepId`, with what was recorded before it. `input`: it was edited. */
  | (OriginBase & { readonly kind: 'fork'; readonly stepId: number; readonly note?: string; readonly input?: 'edited' })
  | { readonly kind: 'schedule'; readonly scheduleId: string };

export interface RunIdentity {
  /** Unique for all time and sortable by creation; never shown to users. */
  readonly key: string;
  readonly instanceId: string;
  /** The caller's id or one of ours (`wfr_...`). At most one active run of an id in one instance. */
  readonly workflowRunId: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly dialect: DialectName;
  readonly workflowUrl: string;
  readonly callerIp: string;
  readonly origin: RunOrigin | null;
}

export type RunStatus = 'active' | 'succeeded' | 'failed' | 'canceled';

/** Slot of the task that moves the code on; positions of steps start at 1. */
export const ADVANCE_SLOT = 0;
/** Slot of the task that tells of a run's failure. The only task of a run that has ended. */
export const CALLBACK_SLOT = -1;

interface TaskBase {
  /** Position of the step, or ADVANCE_SLOT. One task per slot of a run. */
  readonly slot: number;
  readonly messageId: string;
  /** Unix ms from which the task is to be acted on; null while it is parked (its run failed), or until its child ends (invoke). */
  readonly dueAt: number | null;
  /** Unix ms at which it was planned. */
  readonly createdAt: number;
}

interface StepTaskBase extends TaskBase {
  readonly name: string;
  /** Position of the first step that was planned together with this one. */
  readonly group: number;
  /** How many steps were planned together. */
  readonly concurrent: number;
}

/** Something that the service owes a run, with the time at which it is due. One row each. */
export type Task =
  /** Send the message that the run is. Its message id is that of the run. */
  | (TaskBase & { readonly kind: 'message'; readonly retried: number })
  /** Call the endpoint without a target, so that its code moves on. */
  | (TaskBase & { readonly kind: 'advance'; readonly retried: number })
  /**
   * Call the endpoint to execute one planned step. With another type than Run it may tell what the step needs instead,
   * and the service carries it out.
   */
  | (StepTaskBase & { readonly kind: 'step'; readonly retried: number; readonly stepType?: StepType })
  /** Nothing to call: record the step when it is due. */
  | (StepTaskBase & {
      readonly kind: 'sleep';
      readonly stepType: 'SleepFor' | 'SleepUntil';
      readonly sleepMs: number | null;
      /** Unix ms; the same as dueAt, but kept while the task is parked. */
      readonly wakeAt: number;
    })
  /** Nothing to call: the first of these events is its result, or the timeout when it is due. */
  | (StepTaskBase & {
      readonly kind: 'wait';
      readonly stepType: 'Wait' | 'WaitForWebhook';
      readonly eventIds: readonly string[];
      /** Unix ms; the same as dueAt, but kept while the task is parked. */
      readonly deadlineAt: number;
    })
  /** Make the HTTP request and record its answer. */
  | (StepTaskBase & { readonly kind: 'call'; readonly retried: number; readonly call: CallSpec })
  /** Notify those who wait for the event, and record who they were. */
  | (StepTaskBase & {
      readonly kind: 'notify';
      readonly eventId: string;
      readonly workflowRunId: string | null;
      readonly content: EventContent;
    })
  /** The end of the invoked run is its result. Due until that run is started, and again once it has ended. */
  | (StepTaskBase & {
      readonly kind: 'invoke';
      readonly childRunKey: string;
      readonly childWorkflowRunId: string;
      /** Unix ms; of the step until the child is started. */
      readonly childCreatedAt: number;
      /** What to start; null once it is started. */
      readonly invoke: InvokeSpec | null;
    })
  /** The run failed: tell the failure callback or the failure function. */
  | (TaskBase & { readonly kind: 'callback'; readonly retried: number; readonly dlqId: string });

/** Tasks that call somebody, and may have to try again. */
export type AttemptedTask = Extract<Task, { readonly retried: number }>;
/** Tasks that stand for a step of the code. */
export type StepTask = Exclude<Task, { readonly kind: 'advance' | 'message' | 'callback' }>;

/** An event that came before the run waited for it. */
export interface KeptEvent {
  readonly eventKey: string;
  readonly eventId: string;
  readonly content: EventContent;
  /** Unix ms. */
  readonly receivedAt: number;
}

export interface Run extends RunIdentity {
  readonly settings: RunSettings;
  readonly status: RunStatus;
  /** Next free position: every id below is recorded or has a task. */
  readonly known: number;
  /**
   * Positions above it that are recorded: of parallel steps a fork has kept, while its code was not asked yet for those
   * that it has not kept. Absent: none.
   */
  readonly ahead?: readonly number[];
  readonly journalLength: number;
  /** Bytes of all recorded results. */
  readonly journalBytes: number;
  /**
   * The longest prefix of the journal up to which the code is known to have run until quiet.
   * Invariant: an active run with `journalLength > quietAt` has an advance task.
   */
  readonly quietAt: number;
  /**
   * Which decision made this state, where several processes share a store: what is decided on another state than the latest
   * is refused there. It grows with every decision, and is another one for each of those that are taken on the same state
   * (`nextVersion`). A store of one process has no use for it and gives back 0.
   */
  readonly version: number;
  readonly tasks: ReadonlyMap<number, Task>;
  /** Events that came early, oldest first. */
  readonly keptEvents: readonly KeptEvent[];
  /** Its endpoint said that it has a failure function. */
  readonly failureFunction: boolean;
}

/** One row of the journal, as recorded. */
export interface RecordedStep {
  /** Place in the order of recording, from 0. */
  readonly index: number;
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
  /** JSON text; null when the step has no result. */
  readonly out: string | null;
  readonly messageId: string;
  readonly group: number;
  readonly concurrent: number;
  /** Unix ms at which the step was planned. */
  readonly createdAt: number;
  /** Unix ms at which it was recorded. */
  readonly completedAt: number;
  /** Unix ms at which the attempt that succeeded was begun; absent where nobody was asked, or that is not known. */
  readonly startedAt?: number;
  readonly sleepMs: number | null;
  readonly wakeAt: number | null;
  /** The result is not what the step came to: a fork was given it. */
  readonly edited?: true;
  /** What a call sent whose first attempt succeeded. It is read only where it is asked for. */
  readonly sent?: KeptRequest;
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

/** Why a delivery failed, and what the endpoint said of it. */
export interface DeliveryFailure {
  readonly cause: (typeof FAILURE_CAUSES)[number];
  readonly message: string;
  /** HTTP status of the answer, when there was one. */
  readonly status: number | null;
  readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
  readonly responseBody: Uint8Array;
  /** What was sent; absent when nothing was, or it is not known. */
  readonly sent?: SentRequest;
  readonly retry:
    | { readonly kind: 'backoff' }
    | { readonly kind: 'after'; readonly delayMs: number }
    | { readonly kind: 'never' };
}

/** A failed attempt, kept for the run log. */
export interface FailedAttempt {
  /** Position of the step, or ADVANCE_SLOT when the code between steps failed. */
  readonly slot: number;
  /** Name of the step when known. */
  readonly name: string | null;
  readonly messageId: string;
  /** Failed attempts of the message before this one. */
  readonly retried: number;
  readonly at: number;
  readonly cause: DeliveryFailure['cause'];
  readonly message: string;
  readonly status: number | null;
  /** When the next attempt is due; null when this was the last. */
  readonly retryAt: number | null;
  /** Absent when nothing was sent, and where it was not asked for. */
  readonly exchange?: KeptExchange;
}

export const FAILURE_FUNCTION_STATES = ['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'] as const;
export type FailureFunctionState = (typeof FAILURE_FUNCTION_STATES)[number];

/** A run that failed after all retries, until it is resumed, restarted or deleted. */
export interface DeadLetter {
  readonly dlqId: string;
  readonly runKey: string;
  readonly instanceId: string;
  /** Unix ms at which the run failed. */
  readonly createdAt: number;
  readonly failureFunctionState: FailureFunctionState | null;
  readonly responseStatus: number | null;
  readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
  readonly responseBody: Uint8Array;
  /** What went wrong, in words. */
  readonly error: string;
}

/** How a run ended. `result` is JSON text. */
export type RunOutcome =
  | { readonly status: 'succeeded'; readonly result: string | null }
  | { readonly status: 'failed'; readonly error: string }
  | { readonly status: 'canceled' };

/** What the run was triggered with. */
export interface RunPayload {
  readonly body: Uint8Array;
  readonly contentType: string | null;
  /** Headers sent on to the workflow, lower-case names. */
  readonly forwardHeaders: Readonly<Record<string, string>>;
}

/** What a flow control key allows, and how it stands. */
export interface FlowControlState {
  readonly key: string;
  readonly parallelism: number | null;
  readonly rate: number | null;
  /** Null exactly when `rate` is. */
  readonly periodMs: number | null;
  readonly paused: boolean;
  /** A pinned limit is not replaced by those that triggers bring. */
  readonly parallelismPinned: boolean;
  /** Of the rate and its period. */
  readonly ratePinned: boolean;
  /** The rate window under way: when it began (Unix ms) and how many starts it has granted. Null before the first. */
  readonly window: { readonly startedAt: number; readonly granted: number } | null;
}

/** What a schedule starts, and when. */
export interface Schedule {
  readonly scheduleId: string;
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly cron: string;
  /** IANA name. */
  readonly timeZone: string;
  readonly workflowUrl: string;
  readonly payload: RunPayload;
  readonly settings: RunSettings;
  /** How long after its tick a run is delivered first, ms. */
  readonly delayMs: number;
  readonly callerIp: string;
  readonly paused: boolean;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms of the next tick; null while it is paused. */
  readonly nextAt: number | null;
  readonly lastFiredAt: number | null;
  readonly lastRunId: string | null;
}

/** Why deliveries to a destination are held back. */
export interface DestinationHold {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Tripped by failures, or held by hand. */
  readonly by: 'breaker' | 'hand';
  readonly reason: string;
  /** Unix ms. */
  readonly since: number;
}

/** When a destination that keeps failing is held back. */
export interface BreakerSettings {
  readonly enabled: boolean;
  /** So many deliveries in a row without one that succeeded trip it. */
  readonly failures: number;
  /** How often one delivery is let through to see whether the destination is back. */
  readonly probeEveryMs: number;
}

/** How long runs that have ended are kept. Null: for ever, or however many there are. */
export interface RetentionRule {
  readonly maxAgeMs: number | null;
  readonly maxCount: number | null;
}
/** `failed`: what has no entry in the dead letter queue any more; an entry that nobody handled has a rule of its own. */
export type RetentionState = 'succeeded' | 'failed' | 'canceled' | 'deadLetter';
export type RetentionSettings = Readonly<Record<RetentionState, RetentionRule>>;

/** What an instance has set for itself; what it has not is the default. */
export interface InstanceSettings {
  readonly breaker: BreakerSettings;
  readonly retention: RetentionSettings;
}

const KEPT_FOR_EVER: RetentionRule = { maxAgeMs: null, maxCount: null };

/** What counts for an instance that has set nothing: nothing is held back by itself, and nothing is removed. */
export const DEFAULT_INSTANCE_SETTINGS: InstanceSettings = {
  breaker: { enabled: false, failures: 10, probeEveryMs: 10_000 },
  retention: { succeeded: KEPT_FOR_EVER, failed: KEPT_FOR_EVER, canceled: KEPT_FOR_EVER, deadLetter: KEPT_FOR_EVER },
};

/** A line of messages: in the order in which they came, so many at a time. */
export interface Queue {
  readonly name: string;
  readonly parallelism: number;
  readonly paused: boolean;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. */
  readonly updatedAt: number;
}

export interface GroupEndpoint {
  readonly name: string | null;
  readonly url: string;
}

/** Endpoints that a message is published to together. */
export interface UrlGroup {
  readonly name: string;
  readonly endpoints: readonly GroupEndpoint[];
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. */
  readonly updatedAt: number;
}
