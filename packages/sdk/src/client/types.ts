/** Responses of the runtime API. Times are Unix milliseconds unless stated otherwise. */
import type { StepType } from '../protocol.js';

/** State of a run. */
export type RunState = 'RUN_STARTED' | 'RUN_SUCCESS' | 'RUN_FAILED' | 'RUN_CANCELED';
/** State of a step. */
export type StepState = 'STEP_SUCCESS' | 'STEP_PROGRESS' | 'STEP_RETRY' | 'STEP_FAILED' | 'STEP_CANCELED';
/** State of the failure callback or failure function of a failed run. */
export type FailureFunctionState = 'CALLBACK_INPROGRESS' | 'CALLBACK_SUCCESS' | 'CALLBACK_FAIL' | 'CALLBACK_CANCELED';

/** Identity of a run. An id can be reused after the run has ended, so the creation time belongs to it. */
export interface RunReference {
  readonly workflowRunId: string;
  readonly workflowCreatedAt: number;
}

/** A started run. */
export interface TriggeredRun extends RunReference {
  /** True if no run was created because this run already has the id or the deduplication id. */
  readonly deduplicated?: true;
}

/** A run that has not ended yet. */
export interface ActiveRun extends TriggeredRun {
  readonly workflowState: 'RUN_STARTED';
}

/** How a run ended. */
export interface RunResult<Result = unknown> extends TriggeredRun {
  readonly workflowState: Exclude<RunState, 'RUN_STARTED'>;
  /** Value that the workflow returned; absent if it returned nothing or did not succeed. */
  readonly result?: Result;
  /** Error text, if the run failed. */
  readonly error?: string;
}

/** Result of one item of a batch: the run, or an error. */
export type BatchItemResult = TriggeredRun | { readonly error: string };

/** The run that a failed run was resumed or restarted as. */
export interface RunSuccessor extends RunReference {
  readonly kind: 'resume' | 'restart';
}

/** Origin of a run that was not started by a trigger. */
export interface RunOrigin extends Partial<RunReference> {
  readonly kind: 'resume' | 'restart' | 'fork' | 'invoke' | 'schedule';
  /** The dead letter that the run was created from. */
  readonly dlqId?: string;
  /** The step that invoked the run, or from which the fork continues. */
  readonly stepId?: number;
  readonly stepName?: string;
  /** The schedule that started the run. */
  readonly scheduleId?: string;
  /** Reason for the fork. */
  readonly note?: string;
  /** The input differs from that of the original run. */
  readonly inputEdited?: true;
}

/** A run that a step started. */
export interface InvokedRun extends RunReference {
  readonly stepId: number;
  readonly workflowState: RunState;
}

/** A failed attempt as logs show it. */
export interface AttemptError {
  readonly error: string;
  readonly status?: number;
  readonly time: number;
  readonly retried: number;
}

/** State of the failure callback or failure function. */
export interface FailureFunctionInfo {
  /** Absent if only the attempts are known. */
  readonly state?: FailureFunctionState;
  readonly url: string;
  /** Status of the last failed response. */
  readonly responseStatus?: number;
  readonly retried: number;
  readonly nextAttemptAt?: number;
  /** Oldest first. */
  readonly errors: readonly AttemptError[];
}

/** Fields of a run that all logs show. */
export interface RunFields {
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly workflowState: RunState;
  readonly workflowRunCreatedAt: number;
  readonly workflowRunCompletedAt?: number;
  readonly workflowRunOrigin?: RunOrigin;
  readonly workflowRunBecame?: RunSuccessor;
  /** The current DLQ entry of the run. */
  readonly dlqId?: string;
  readonly callerIP: string;
  /** The first label. */
  readonly label?: string;
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  /** Runs that steps of this run started. */
  readonly invokedRuns?: readonly InvokedRun[];
  readonly failureFunctionInfo?: FailureFunctionInfo;
}

/** Fields that depend on the type of the step. */
interface StepFields {
  /** Duration of a SleepFor step in milliseconds. */
  readonly sleepFor?: number;
  readonly sleepUntil?: number;
  /** The event that the step waits for: the first of several, or the one that occurred. */
  readonly waitEventId?: string;
  /** All events, if the step waits for several. */
  readonly waitEventIds?: readonly string[];
  /** Time at which an open wait times out. */
  readonly waitDeadline?: number;
  /** Whether the wait timed out, once it has ended. */
  readonly waitTimeout?: boolean;
  readonly notifyEventId?: string;
  readonly callUrl?: string;
  readonly callMethod?: string;
  /** 0 if no response arrived. */
  readonly callResponseStatus?: number;
  readonly invokedWorkflowRunId?: string;
  readonly invokedWorkflowCreatedAt?: number;
  readonly invokedWorkflowUrl?: string;
}

/** A step as the run log shows it. */
export interface LoggedStep extends StepFields {
  readonly stepId?: number;
  readonly stepName?: string;
  readonly stepType?: 'Initial' | StepType;
  readonly callType: 'step';
  readonly messageId: string;
  /** JSON text. */
  readonly out?: string;
  /** Size in bytes of a result that is too long for this response; `runs.step` returns it. */
  readonly outLeftOut?: number;
  /** The result was edited in a fork. */
  readonly edited?: true;
  readonly concurrent: number;
  readonly state: StepState;
  readonly createdAt: number;
  /** Failed attempts, oldest first. */
  readonly errors?: readonly AttemptError[];
}

/** Steps that were planned together. */
export interface StepGroup {
  /** `next`: steps that are currently attempted. */
  readonly type: 'sequential' | 'parallel' | 'next';
  readonly steps: readonly LoggedStep[];
}

/** A run as the run log shows it. */
export interface RunLogEntry extends RunFields {
  /** JSON text of the value that the workflow returned. */
  readonly workflowRunResponse?: string;
  /** Size in bytes of a result that is too long for this response; `runs.result` returns it. */
  readonly workflowRunResponseLeftOut?: number;
  readonly workflowRunError?: string;
  /** Some steps or failed attempts are omitted; `runs.get` returns all of them. */
  readonly shortened?: true;
  readonly steps: readonly StepGroup[];
}

/** One page of the run log. */
export interface RunLogPage {
  /** Absent at the end. */
  readonly cursor?: string;
  readonly runs: readonly RunLogEntry[];
}

/** A recorded step. */
export interface JournalStep extends StepFields {
  readonly stepId: number;
  readonly stepName: string;
  readonly stepType: StepType;
  readonly messageId: string;
  /** JSON text. */
  readonly out?: string;
  /** Size in bytes of a result that is too long for this response; `runs.step` returns it. */
  readonly outLeftOut?: number;
  /** The result was edited in a fork. */
  readonly edited?: true;
  /** Position of the first step that was planned together with this one. */
  readonly group: number;
  readonly concurrent: number;
  readonly createdAt: number;
  /** Time at which the successful attempt started, if known. */
  readonly startedAt?: number;
  readonly completedAt: number;
}

/** A pending task of a run. */
export interface OpenTask extends StepFields {
  readonly kind: 'advance' | 'step' | 'sleep' | 'wait' | 'call' | 'notify' | 'invoke' | 'callback';
  readonly stepId?: number;
  readonly stepName?: string;
  readonly stepType?: StepType;
  readonly messageId: string;
  readonly retried?: number;
  readonly dueAt?: number;
  readonly createdAt: number;
}

/** A failed attempt of a delivery. */
export interface FailedAttempt {
  readonly stepId?: number;
  readonly stepName?: string;
  readonly messageId: string;
  readonly retried: number;
  readonly time: number;
  readonly cause: 'network' | 'timeout' | 'http' | 'step' | 'workflow' | 'not-protocol' | 'refused' | 'blocked-address';
  readonly error: string;
  readonly status?: number;
  /** Absent if this was the last attempt. */
  readonly retryAt?: number;
}

/** A run with its journal, pending tasks and failed attempts. */
export interface RunJournal extends RunFields {
  readonly workflowCreatedAt: number;
  readonly maxRetries: number;
  readonly retryDelay?: string;
  readonly timeoutMs: number;
  readonly failureCallback?: string;
  /** Input of the run. `bodyBase64` replaces `body` if the body is not UTF-8 text. */
  readonly input?: { readonly header: HeaderMap; readonly body?: string; readonly bodyBase64?: string };
  readonly result?: unknown;
  readonly error?: string;
  /** In recorded order. */
  readonly steps: readonly JournalStep[];
  readonly tasks: readonly OpenTask[];
  /** Oldest first. */
  readonly attempts: readonly FailedAttempt[];
  /** Events that arrived before the run waited for them. */
  readonly keptEvents?: readonly { readonly eventId: string; readonly receivedAt: number }[];
}

/** Headers by name, each with its values. */
export type HeaderMap = Readonly<Record<string, readonly string[]>>;

/** An entry of the dead letter queue. */
export interface DeadLetterEntry {
  readonly dlqId: string;
  readonly workflowUrl: string;
  readonly workflowRunId: string;
  readonly workflowCreatedAt: number;
  readonly url: string;
  readonly method: string;
  readonly header: HeaderMap;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly maxRetries: number;
  /** Time at which the run failed. */
  readonly createdAt: number;
  readonly failureCallback?: string;
  readonly callerIP: string;
  readonly label?: string;
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  readonly failureFunctionState?: FailureFunctionState;
  readonly failureFunctionInfo?: FailureFunctionInfo;
  readonly responseStatus?: number;
  readonly responseHeader?: HeaderMap;
  readonly responseBody?: string;
  readonly responseBodyBase64?: string;
  readonly error: string;
  /** Fingerprint of its group. Entries of versions without groups get one later. */
  readonly fingerprint?: string;
  /** Time at which a started delete removes the entry, unless it is undone before. Unix milliseconds. */
  readonly deletionAt?: number;
  /** The repair that deletes the entry. Undo it with `client.repairs.abort`. */
  readonly deletionRepairId?: string;
}

/**
 * State of a group. Regressed: an entry was added after the group was resolved. New: first seen less than 24 hours
 * ago and not acknowledged.
 */
export type DeadLetterGroupState = 'new' | 'known' | 'regressed';

/** Dead letters with the same step, status and normalized message. Times are Unix milliseconds. */
export interface DeadLetterGroup {
  readonly fingerprint: string;
  readonly state: DeadLetterGroupState;
  readonly kind: 'workflow' | 'message';
  /** Name of the step, with `#` for numbers; null for the code between steps, and for a message. */
  readonly stepName: string | null;
  readonly responseStatus: number | null;
  /** Error text, with placeholders for parts that differ between entries. */
  readonly message: string;
  /** The newest entry; null if the group has no entries now. */
  readonly exampleDlqId: string | null;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** Number of entries in the queue now. */
  readonly count: number;
  /** Number of entries ever added. */
  readonly total: number;
  /** Workflows with the most entries first, at most 20. */
  readonly workflows: readonly { readonly workflowUrl: string; readonly count: number }[];
  /** Entries per hour of the last 24 hours (UTC), oldest first. */
  readonly histogram: readonly { readonly at: number; readonly count: number }[];
  readonly acknowledgedAt: number | null;
  readonly acknowledgedBy: string | null;
  readonly resolvedAt: number | null;
  readonly regressedAt: number | null;
}

/** One page of groups of dead letters. */
export interface DeadLetterGroupPage {
  /** Empty at the end. */
  readonly cursor: string;
  readonly groups: readonly DeadLetterGroup[];
}

/** One page of dead letters. */
export interface DeadLetterPage {
  /** Empty at the end. */
  readonly cursor: string;
  readonly messages: readonly DeadLetterEntry[];
}

/** Runs that a bulk resume or restart created. */
export interface RecoveredRuns {
  readonly workflowRuns: readonly RunReference[];
  /** Empty when all matching entries are processed. */
  readonly cursor: string;
}

/** Result of a bulk deletion. */
export interface DeletedDeadLetters {
  readonly deleted: number;
  /** Empty when all matching entries are processed. */
  readonly cursor: string;
}

/** New state of the failure callback or failure function. */
export interface FailureFunctionChange {
  readonly failureFunctionState: FailureFunctionState;
}
