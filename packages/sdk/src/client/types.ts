/** What the API of the service answers. All times are Unix ms unless said otherwise. */
import type { StepType } from '../protocol.js';

export type RunState = 'RUN_STARTED' | 'RUN_SUCCESS' | 'RUN_FAILED' | 'RUN_CANCELED';
export type StepState = 'STEP_SUCCESS' | 'STEP_PROGRESS' | 'STEP_RETRY' | 'STEP_FAILED' | 'STEP_CANCELED';
export type FailureFunctionState = 'CALLBACK_INPROGRESS' | 'CALLBACK_SUCCESS' | 'CALLBACK_FAIL' | 'CALLBACK_CANCELED';

/** Identity of a run: an id may be used again after the run ended. */
export interface RunReference {
  readonly workflowRunId: string;
  readonly workflowCreatedAt: number;
}

export interface TriggeredRun extends RunReference {
  /** True when no run was created, because this one has the id or the deduplication id already. */
  readonly deduplicated?: true;
}

export interface RunUnderWay extends TriggeredRun {
  readonly workflowState: 'RUN_STARTED';
}

export interface RunResult<Result = unknown> extends TriggeredRun {
  readonly workflowState: Exclude<RunState, 'RUN_STARTED'>;
  /** What the workflow returned; absent when it returned nothing or did not succeed. */
  readonly result?: Result;
  /** Why it failed. */
  readonly error?: string;
}

/** One item of a batch: the run, or why there is none. */
export type BatchItemResult = TriggeredRun | { readonly error: string };

/** The run that a failed one was resumed or restarted as. */
export interface RunSuccessor extends RunReference {
  readonly kind: 'resume' | 'restart';
}

/** Where a run came from that nobody triggered. */
export interface RunOrigin extends Partial<RunReference> {
  readonly kind: 'resume' | 'restart' | 'fork' | 'invoke' | 'schedule';
  /** The dead letter that the run was made from. */
  readonly dlqId?: string;
  /** The step that invoked the run, or from which the fork went on. */
  readonly stepId?: number;
  readonly stepName?: string;
  /** The schedule that started the run. */
  readonly scheduleId?: string;
  /** Why it was forked. */
  readonly note?: string;
  /** It was triggered with something else than the run that it was forked from. */
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

/** Attempts to tell of a failure. */
export interface FailureFunctionInfo {
  /** Absent where only the attempts are known. */
  readonly state?: FailureFunctionState;
  readonly url: string;
  /** Status of the last answer that was a failure. */
  readonly responseStatus?: number;
  readonly retried: number;
  readonly nextAttemptAt?: number;
  /** Oldest first. */
  readonly errors: readonly AttemptError[];
}

export interface RunFields {
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly workflowState: RunState;
  readonly workflowRunCreatedAt: number;
  readonly workflowRunCompletedAt?: number;
  readonly workflowRunOrigin?: RunOrigin;
  readonly workflowRunBecame?: RunSuccessor;
  /** The DLQ entry that the run has now. */
  readonly dlqId?: string;
  readonly callerIP: string;
  /** The first of the labels. */
  readonly label?: string;
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  /** Runs that steps of this one started. */
  readonly invokedRuns?: readonly InvokedRun[];
  readonly failureFunctionInfo?: FailureFunctionInfo;
}

/** What belongs to one type of step each. */
interface StepFields {
  /** Length of a SleepFor, ms. */
  readonly sleepFor?: number;
  readonly sleepUntil?: number;
  /** The event that is waited for: the first of several, or the one that came. */
  readonly waitEventId?: string;
  /** All of them, when several are waited for. */
  readonly waitEventIds?: readonly string[];
  /** When an open wait times out. */
  readonly waitDeadline?: number;
  /** Whether a wait timed out, once it has ended. */
  readonly waitTimeout?: boolean;
  readonly notifyEventId?: string;
  readonly callUrl?: string;
  readonly callMethod?: string;
  /** 0 when no answer came. */
  readonly callResponseStatus?: number;
  readonly invokedWorkflowRunId?: string;
  readonly invokedWorkflowCreatedAt?: number;
  readonly invokedWorkflowUrl?: string;
}

export interface LoggedStep extends StepFields {
  readonly stepId?: number;
  readonly stepName?: string;
  readonly stepType?: 'Initial' | StepType;
  readonly callType: 'step';
  readonly messageId: string;
  /** JSON text. */
  readonly out?: string;
  /** Bytes of a result that is left out because it is long; `runs.step` returns it. */
  readonly outLeftOut?: number;
  /** The result was given in a fork. */
  readonly edited?: true;
  readonly concurrent: number;
  readonly state: StepState;
  readonly createdAt: number;
  /** Failed attempts, oldest first. */
  readonly errors?: readonly AttemptError[];
}

export interface StepGroup {
  /** `next`: what is being attempted now. */
  readonly type: 'sequential' | 'parallel' | 'next';
  readonly steps: readonly LoggedStep[];
}

export interface RunLogEntry extends RunFields {
  /** JSON text of what the workflow returned. */
  readonly workflowRunResponse?: string;
  /** Bytes of a response that is left out because it is long; `runs.result` returns it. */
  readonly workflowRunResponseLeftOut?: number;
  readonly workflowRunError?: string;
  /** Steps or failed attempts are left out; `runs.get` returns all of them. */
  readonly shortened?: true;
  readonly steps: readonly StepGroup[];
}

export interface RunLogPage {
  /** Absent at the end. */
  readonly cursor?: string;
  readonly runs: readonly RunLogEntry[];
}

export interface JournalStep extends StepFields {
  readonly stepId: number;
  readonly stepName: string;
  readonly stepType: StepType;
  readonly messageId: string;
  /** JSON text. */
  readonly out?: string;
  /** Bytes of a result that is left out because it is long; `runs.step` returns it. */
  readonly outLeftOut?: number;
  /** The result was given in a fork. */
  readonly edited?: true;
  /** Position of the first step that was planned together with this one. */
  readonly group: number;
  readonly concurrent: number;
  readonly createdAt: number;
  /** When the attempt that succeeded was begun, where that is known. */
  readonly startedAt?: number;
  readonly completedAt: number;
}

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

export interface FailedAttempt {
  readonly stepId?: number;
  readonly stepName?: string;
  readonly messageId: string;
  readonly retried: number;
  readonly time: number;
  readonly cause: 'network' | 'timeout' | 'http' | 'step' | 'workflow' | 'not-protocol' | 'refused' | 'blocked-address';
  readonly error: string;
  readonly status?: number;
  /** Absent when this was the last attempt. */
  readonly retryAt?: number;
}

export interface RunJournal extends RunFields {
  readonly workflowCreatedAt: number;
  readonly maxRetries: number;
  readonly retryDelay?: string;
  readonly timeoutMs: number;
  readonly failureCallback?: string;
  /** What it was triggered with; `bodyBase64` where that is no UTF-8 text. */
  readonly input?: { readonly header: HeaderMap; readonly body?: string; readonly bodyBase64?: string };
  readonly result?: unknown;
  readonly error?: string;
  /** In the order in which they were recorded. */
  readonly steps: readonly JournalStep[];
  readonly tasks: readonly OpenTask[];
  /** Oldest first. */
  readonly attempts: readonly FailedAttempt[];
  /** Events that came before the run waited for them. */
  readonly keptEvents?: readonly { readonly eventId: string; readonly receivedAt: number }[];
}

export type HeaderMap = Readonly<Record<string, readonly string[]>>;

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
  /** When the run failed. */
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
  /** Its group; absent for a while on entries of versions before there were groups. */
  readonly fingerprint?: string;
  /** Unix ms at which a delete that was started will remove it, unless it is undone before. */
  readonly deletionAt?: number;
  /** The repair that will delete it: `client.repairs.abort` is the undo. */
  readonly deletionRepairId?: string;
}

/**
 * Regressed: an entry came after it was resolved. New: first seen less than 24 hours ago, and nobody has acknowledged it.
 */
export type DeadLetterGroupState = 'new' | 'known' | 'regressed';

/** Dead letters with the same step, status and normalised message. Times are Unix ms. */
export interface DeadLetterGroup {
  readonly fingerprint: string;
  readonly state: DeadLetterGroupState;
  readonly kind: 'workflow' | 'message';
  /** With `#` for numbers; null for the code between steps, and for a message. */
  readonly stepName: string | null;
  readonly responseStatus: number | null;
  /** With placeholders for what differs from entry to entry. */
  readonly message: string;
  /** The newest entry; null when there is none now. */
  readonly exampleDlqId: string | null;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** Entries in the queue now. */
  readonly count: number;
  /** Entries that ever came. */
  readonly total: number;
  /** Those with most entries first, at most 20. */
  readonly workflows: readonly { readonly workflowUrl: string; readonly count: number }[];
  /** Of the last 24 hours (UTC), oldest first. */
  readonly histogram: readonly { readonly at: number; readonly count: number }[];
  readonly acknowledgedAt: number | null;
  readonly acknowledgedBy: string | null;
  readonly resolvedAt: number | null;
  readonly regressedAt: number | null;
}

export interface DeadLetterGroupPage {
  /** Empty at the end. */
  readonly cursor: string;
  readonly groups: readonly DeadLetterGroup[];
}

export interface DeadLetterPage {
  /** Empty at the end. */
  readonly cursor: string;
  readonly messages: readonly DeadLetterEntry[];
}

export interface RecoveredRuns {
  readonly workflowRuns: readonly RunReference[];
  /** Empty when everything is done. */
  readonly cursor: string;
}

export interface DeletedDeadLetters {
  readonly deleted: number;
  /** Empty when everything is done. */
  readonly cursor: string;
}

/** The state that telling of a failure has now. */
export interface FailureFunctionChange {
  readonly failureFunctionState: FailureFunctionState;
}
