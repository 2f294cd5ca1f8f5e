/**
 * What the engine knows of a run: plain immutable data. Everything that the
 * engine decides on is here; results of steps are not (they are bytes that
 * only travel), so a decision costs the same at step 10 and at step 10,000.
 */
import type { StepType } from '@everstep/sdk/protocol';

export type DialectName = 'native';

export interface FlowControl {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Length of a rate window. Present exactly when `rate` is. */
  readonly periodMs?: number;
}

export interface FailureCallback {
  readonly url: string;
  /** Headers to send with the callback (`Failure-Callback-Forward-*` without the prefix). */
  readonly headers: Readonly<Record<string, string>>;
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
}

/** Where a run came from when it was not triggered. */
export interface RunOrigin {
  readonly kind: 'resume' | 'restart';
  readonly runKey: string;
  readonly workflowRunId: string;
  readonly workflowCreatedAt: number;
  readonly dlqId: string;
}

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

interface TaskBase {
  /** Position of the step, or ADVANCE_SLOT. One task per slot of a run. */
  readonly slot: number;
  readonly messageId: string;
  /** Unix ms from which the task is to be acted on; null while it is parked (its run failed). */
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
  /** Call the endpoint without a target, so that its code moves on. */
  | (TaskBase & { readonly kind: 'advance'; readonly retried: number })
  /** Call the endpoint to execute one planned step. */
  | (StepTaskBase & { readonly kind: 'step'; readonly retried: number })
  /** Nothing to call: record the step when it is due. */
  | (StepTaskBase & {
      readonly kind: 'sleep';
      readonly stepType: 'SleepFor' | 'SleepUntil';
      readonly sleepMs: number | null;
      /** Unix ms; the same as dueAt, but kept while the task is parked. */
      readonly wakeAt: number;
    });

export interface Run extends RunIdentity {
  readonly settings: RunSettings;
  readonly status: RunStatus;
  /** Next free position: every id below is recorded or has a task. */
  readonly known: number;
  readonly journalLength: number;
  /** Bytes of all recorded results. */
  readonly journalBytes: number;
  /**
   * The longest prefix of the journal up to which the code is known to have run until quiet.
   * Invariant: an active run with `journalLength > quietAt` has an advance task.
   */
  readonly quietAt: number;
  readonly tasks: ReadonlyMap<number, Task>;
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
  readonly sleepMs: number | null;
  readonly wakeAt: number | null;
}

/** Why a delivery failed, and what the endpoint said of it. */
export interface DeliveryFailure {
  readonly cause: 'network' | 'timeout' | 'http' | 'step' | 'workflow' | 'not-protocol' | 'refused' | 'blocked-address';
  readonly message: string;
  /** HTTP status of the answer, when there was one. */
  readonly status: number | null;
  readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
  readonly responseBody: Uint8Array;
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
}

export type FailureFunctionState = 'CALLBACK_INPROGRESS' | 'CALLBACK_SUCCESS' | 'CALLBACK_FAIL' | 'CALLBACK_CANCELED';

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
