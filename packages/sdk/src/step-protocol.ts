/**
 * The native step protocol, version 1: the frames between the server and a workflow endpoint. One request asks the endpoint
 * to continue a run, and its response contains every outcome. The endpoint makes no other request to the server. The frames
 * do not depend on a transport: a step is one HTTP request, or one frame in each direction of a worker connection.
 *
 * Positions: steps are numbered from 1 in the order in which the workflow code requests them (0 is the run's initial step).
 * The numbering is a pure function of the journal's order. A worker resolves recorded steps one at a time, in recorded order.
 * It lets the code run until it is quiet before it resolves the next step. Steps planned on a prefix of the journal therefore
 * stay planned, at the same positions, on every longer journal.
 */

import type { ErrorFrame } from './failures/error-frame.js';
import type { TraceContext } from './trace-context.js';

/** Version of the frames below. It is a number in every frame, and the value of the header `Svc-Workflow-Protocol`. */
export const PROTOCOL_VERSION = 1;

/** Name of the protocol header without its prefix (`Svc-` in the native dialect). */
export const PROTOCOL_HEADER = 'Workflow-Protocol';
/** Prefix of header names in the native dialect. */
export const NATIVE_PREFIX = 'Svc-';

/**
 * Kinds of signed requests. The signature contains the kind (claim `kind`), so that a request of one kind cannot be
 * replayed as another. Older servers omit it. `step` covers all frames of this protocol.
 */
export const SIGNED_KINDS = [
  'step',
  'failure-function',
  'failure-callback',
  'call',
  'message',
  'budget-alert',
  'audit-log',
] as const;
/** Kind of a signed request. */
export type SignedKind = (typeof SIGNED_KINDS)[number];

/** Header for a signature made with a shared key, without its prefix. */
export const SIGNATURE_HEADER = 'Signature';
/** Header for a signature made with the private key of the queue instance, without its prefix. */
export const ED25519_SIGNATURE_HEADER = 'Signature-Ed25519';

/**
 * A message key is `sig_` followed by the base64url of HMAC-SHA256 of this text, with a signing key as the HMAC key.
 * It signs plain messages to origins that do not belong to the queue instance.
 */
export const MESSAGE_KEY_CONTEXT = 'everstep.message-key.1';
/** Prefix of signing keys and message keys. */
export const SIGNING_KEY_PREFIX = 'sig_';

/** HTTP status with which an endpoint reports that a retry cannot help (together with `NonRetryable-Error: true`). */
export const NON_RETRYABLE_STATUS = 489;

/** Types of steps, as they are recorded in the journal. */
export const STEP_TYPES = [
  'Run',
  'SleepFor',
  'SleepUntil',
  'Wait',
  'Notify',
  'Call',
  'Invoke',
  'CreateWebhook',
  'WaitForWebhook',
] as const;
/** Type of a step. */
export type StepType = (typeof STEP_TYPES)[number];

/** One recorded step. `out` is the result as JSON text; absent if the step has no result (undefined). */
export interface JournalEntry {
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
  readonly out?: string;
}

/** Bytes as text: UTF-8 if that is lossless, otherwise Base64. */
export interface EncodedBody {
  readonly encoding: 'utf8' | 'base64';
  readonly data: string;
}

/** Payload and headers of the trigger. */
export interface RunInput {
  readonly body: EncodedBody;
  readonly contentType?: string;
  /** Forwarded headers (`Forward-*` without the prefix), by lowercase name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How many results the server records from one reply. */
export interface CheckpointLimits {
  /** Maximum number of results in `done`. */
  readonly maxSteps: number;
  /**
   * No further result is added once the names and results (`out`) in `done` have this many characters together. A reply with
   * several results contains planned steps or the end of the run only if these have at most as many characters.
   */
  readonly maxChars: number;
}

/** Request of the server to an endpoint to continue a run. */
export interface StepRequest {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly run: {
    /** Unique key of the run. A run id can be reused after the run has ended; a key cannot. */
    readonly key: string;
    readonly id: string;
    /** Time at which the run was created, in Unix milliseconds. */
    readonly createdAt: number;
    readonly workflowUrl: string;
    readonly labels: readonly string[];
  };
  readonly messageId: string;
  /** Number of failed attempts of this message so far. */
  readonly retried: number;
  readonly maxRetries: number;
  /**
   * Position of the planned step to execute. If it is null, the endpoint replays the journal and executes the next step only if
   * the code waits for nothing else.
   */
  readonly target: number | null;
  /** The server knows every step id below this one (recorded or planned). This id and higher ones are new. */
  readonly known: number;
  /** Positions above `known` that are already recorded: parallel steps of a forked run. Absent if there are none. */
  readonly ahead?: readonly number[];
  readonly journal: {
    /** Index of the first entry sent. Above 0 only if the worker reported that it holds the earlier entries. */
    readonly from: number;
    /**
     * `Hold.worker` of the worker that reported them; present exactly when `from` is above 0. Another worker may also
     * hold the run, with its own result that was never recorded. It must not use this request.
     */
    readonly worker?: string;
    /**
     * Digest of the entries before `from`, as the server has recorded them (see extendJournalDigest). A worker that
     * holds different entries replies `journal-needed`. Older servers omit it.
     */
    readonly digest?: number;
    /** Number of entries in the whole journal. */
    readonly length: number;
    /** Entries from index `from` to `length - 1`, in recorded order. */
    readonly entries: readonly JournalEntry[];
  };
  /**
   * The server records several results from one reply: after the step that it requests, the worker may execute the steps
   * that follow, one after the other. Older servers omit it and record one result.
   */
  readonly checkpoint?: CheckpointLimits;
  /** Trace context of this attempt. Absent if the run belongs to no trace, or if the server is older. */
  readonly trace?: TraceContext;
  /** Present exactly when `journal.from` is 0. */
  readonly input?: RunInput;
}

/** Limits of a flow control key, as specified by a call or an invocation. */
export interface FlowControlSpec {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Length of a rate window in milliseconds. Present exactly when `rate` is. */
  readonly periodMs?: number;
}

/** An HTTP request that the server makes for the run. */
export interface CallSpec {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: EncodedBody;
  /** Number of retries after the first attempt. Absent if there are none. */
  readonly retries?: number;
  /** Retry delay in milliseconds, as an expression over `retried`. */
  readonly retryDelay?: string;
  readonly timeoutMs?: number;
  readonly flowControl?: FlowControlSpec;
}

/** Another workflow for the server to start. The run waits for it to end. */
export interface InvokeSpec {
  readonly workflowUrl: string;
  readonly body?: EncodedBody;
  readonly contentType?: string;
  /** Headers forwarded to the invoked workflow, by lowercase name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly workflowRunId?: string;
  readonly retries?: number;
  readonly retryDelay?: string;
  readonly timeoutMs?: number;
  readonly labels?: readonly string[];
  readonly flowControl?: FlowControlSpec;
  /** Called when the invoked run fails. */
  readonly failureCallback?: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}

/** Content of an event: the data of a notification, or the request that a webhook received. */
export type EventContent = {
  /** Trace context of the notification. The server uses it; it is not part of the result of a wait. */
  readonly trace?: TraceContext;
} & (
  | { readonly kind: 'data'; readonly body: EncodedBody; readonly contentType?: string }
  | {
      readonly kind: 'request';
      readonly method: string;
      /** Query of the request, including the `?`; empty if there was none. */
      readonly query: string;
      /** Headers by lowercase name. */
      readonly headers: Readonly<Record<string, readonly string[]>>;
      readonly body: EncodedBody;
    }
);

/** A planned step with the data that its type needs. Durations are in milliseconds, instants in Unix milliseconds. */
export type PlannedStep =
  /**
   * With `asks`, the step is planned by name only. When the server calls the endpoint for it, the endpoint replies with
   * the data that a step of that type needs.
   */
  | { readonly stepId: number; readonly name: string; readonly type: 'Run'; readonly asks?: StepType }
  | { readonly stepId: number; readonly name: string; readonly type: 'SleepFor'; readonly sleepMs: number }
  | { readonly stepId: number; readonly name: string; readonly type: 'SleepUntil'; readonly wakeAt: number }
  /** The result is a WaitOutcome: the first of the events, or the timeout. */
  | {
      readonly stepId: number;
      readonly name: string;
      readonly type: 'Wait' | 'WaitForWebhook';
      readonly eventIds: readonly string[];
      readonly timeoutMs: number;
    }
  /**
   * Its result is a NotifyOutcome. With `workflowRunId`, only that run is notified, and the event is kept until that
   * run waits for it.
   */
  | {
      readonly stepId: number;
      readonly name: string;
      readonly type: 'Notify';
      readonly eventId: string;
      readonly workflowRunId?: string;
      readonly content: Extract<EventContent, { kind: 'data' }>;
    }
  /** The result is a CallOutcome. */
  | { readonly stepId: number; readonly name: string; readonly type: 'Call'; readonly call: CallSpec }
  /** The result is an InvokeOutcome. */
  | { readonly stepId: number; readonly name: string; readonly type: 'Invoke'; readonly invoke: InvokeSpec }
  /** The result is a WebhookOutcome. */
  | { readonly stepId: number; readonly name: string; readonly type: 'CreateWebhook' };

/** Result of a Wait or WaitForWebhook step. */
export type WaitOutcome =
  | { readonly timeout: true }
  | { readonly timeout: false; readonly eventId: string; readonly content: EventContent };

/** Result of a Notify step: the runs that waited, and whether the event was kept for the specified run. */
export interface NotifyOutcome {
  readonly notified: readonly { readonly messageId: string; readonly workflowRunId: string; readonly workflowUrl: string }[];
  readonly kept: boolean;
}

/** Result of a Call step, regardless of its status. `status` is 0 if no response arrived; `error` then contains the reason. */
export interface CallOutcome {
  readonly status: number;
  /** Headers by lowercase name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: EncodedBody;
  /** Number of attempts, including the last one. */
  readonly attempts: number;
  readonly error?: string;
}

/** Result of an Invoke step. `result` is JSON text; absent for undefined. */
export type InvokeOutcome = { readonly workflowRunId: string; readonly workflowCreatedAt: number } & (
  | { readonly state: 'succeeded'; readonly result?: string }
  | { readonly state: 'failed'; readonly error: string }
  | { readonly state: 'canceled' }
);

/** Result of a CreateWebhook step. */
export interface WebhookOutcome {
  readonly eventId: string;
  readonly webhookUrl: string;
}

/** A step that was executed for this request. */
export interface StepResult {
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
  readonly out?: string;
  /**
   * When the step ran, in whole milliseconds since the worker received the request. Present if the worker may report
   * several results.
   */
  readonly ranMs?: readonly [from: number, to: number];
}

/** Identifies the worker that holds the run in memory, and how much of the journal it has applied. */
export interface Hold {
  /**
   * Name of one live execution of the run in one process. A worker that starts again with a run uses a new name. A
   * late duplicate of a request may have caused the new start. The old execution may then have continued with a result
   * that is never recorded.
   */
  readonly worker: string;
  /**
   * Number of entries that the worker has applied. The last ones may be the results in this reply, which are not
   * recorded yet. The server relies on them only once it has recorded them as the next entries. If the server sends no
   * digest, the worker does not count them.
   */
  readonly through: number;
}

/** How the code of a run ended. */
export type RunEnd =
  | { readonly kind: 'finished' /** JSON text of the returned value; absent for undefined. */; readonly result?: string }
  | { readonly kind: 'canceled' };

/** The code made progress: executed steps, planned steps, or the end of the run. HTTP 200. */
export interface ProgressReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'progress';
  /** `journal.length` of the request: the journal that this reply is based on. */
  readonly base: number;
  /**
   * Executed steps in the order of their execution. Each result after the first is that of a new `Run` step, which the code
   * requested with the results before it. It is valid only if those became the entries directly after `base`.
   */
  readonly done: readonly StepResult[];
  /**
   * True if the code continued after `done` until it was quiet. `planned` and `end` are then complete, provided that
   * `done` become the entries directly after `base`. False if the code could not continue past them because other
   * steps are still open, or if the reply would be too long. The server then sends another request once it has recorded `done`.
   */
  readonly advanced: boolean;
  /** New steps in order, with ids from `known` upward and no gaps. */
  readonly planned: readonly PlannedStep[];
  readonly end?: RunEnd;
  readonly hold?: Hold;
  /** The endpoint has a failure function. If the run fails, the server calls it with a FailureNotice. */
  readonly failureFunction?: true;
}

/** A step, or the code between steps, failed. HTTP 500; 429 with Retry-After; or 489 with NonRetryable-Error: true. */
export interface FailedReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'failed';
  readonly base: number;
  /** Steps that succeeded during this request before `step`, or before the code after them failed. See ProgressReply. */
  readonly done: readonly StepResult[];
  /** The step that failed; absent if the workflow code between steps failed. */
  readonly step?: { readonly stepId: number; readonly name: string; readonly type: StepType };
  readonly error: ErrorFrame;
  readonly retry:
    | { readonly kind: 'backoff' }
    | { readonly kind: 'after'; readonly delayMs: number }
    | { readonly kind: 'never' };
  readonly hold?: Hold;
  readonly failureFunction?: true;
}

/**
 * The worker no longer holds the entries before `journal.from` and needs the whole journal. This is not a failed
 * attempt. HTTP 200.
 */
export interface JournalNeededReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'journal-needed';
}

/** The endpoint cannot continue this run, and a retry cannot help. HTTP 400. */
export interface RefusedReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'refused';
  readonly code: 'unsupported-protocol' | 'journal-mismatch' | 'bad-request';
  readonly message: string;
}

/** A reply to a StepRequest. */
export type StepReply = ProgressReply | FailedReply | JournalNeededReply | RefusedReply;

/**
 * Request of the server to an endpoint to check whether its current code would replay a journal. The endpoint runs its code
 * against the journal. It executes no step and keeps nothing. An endpoint that does not support this frame treats it as a
 * malformed step request and rejects it before any code runs.
 */
export interface CheckRequest {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'check';
  readonly run: StepRequest['run'];
  /** The whole journal, in recorded order. */
  readonly journal: readonly JournalEntry[];
  /** Steps that are planned but not recorded. */
  readonly open: readonly Pick<JournalEntry, 'stepId' | 'name' | 'type'>[];
  readonly input: RunInput;
  /** Maximum time for the code in milliseconds. Code that awaits something other than a step could wait forever. */
  readonly limitMs: number;
}

/** Result of a CheckRequest. HTTP 200 for every outcome. */
export interface CheckReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'checked';
  readonly outcome: 'fits' | 'differs' | 'cannot-tell';
  /**
   * First recorded or planned step that the code no longer requests the same way. Present exactly when `outcome`
   * is `differs`.
   */
  readonly stepId?: number;
  /** Human-readable explanation. */
  readonly message: string;
}

/** A request with this header (any value) is a FailureNotice for the failure function of the endpoint. */
export const FAILURE_FUNCTION_HEADER = 'Workflow-Failure-Function';

/** Body of a failure callback and of a request to a failure function: how the run failed. */
export interface FailureNotice {
  /** HTTP status of the last response; 0 if there was none. */
  readonly status: number;
  readonly header: Readonly<Record<string, readonly string[]>>;
  /** Base64 of the body of the last response. In a failure callback without a response, Base64 of the error text. */
  readonly body: string;
  /** Error text. Present only for a failure function. */
  readonly error?: string;
  /** Labels of the run. Present only for a failure function; older servers omit them. */
  readonly labels?: readonly string[];
  /** Number of retries of the delivery that failed the run; 0 if it failed at the first attempt. */
  readonly retried: number;
  readonly maxRetries: number;
  readonly sourceMessageId: string;
  readonly url: string;
  readonly method: string;
  readonly sourceHeader: Readonly<Record<string, readonly string[]>>;
  /** Base64 of the payload that the run was triggered with. */
  readonly sourceBody: string;
  readonly workflowRunId: string;
  /** Creation time of the run in Unix milliseconds. `createdAt` is the time at which it failed. */
  readonly workflowCreatedAt: number;
  readonly dlqId: string;
  readonly createdAt: number;
}
