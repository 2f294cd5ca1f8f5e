/**
 * The native step protocol, version 1: what travels between the service and a
 * workflow endpoint. One request asks the endpoint to go on with a run; its
 * response carries every outcome. Nothing else is called back.
 *
 * The same frames serve one HTTP exchange per step today and a long-lived
 * connection later: nothing in them names a transport.
 *
 * Positions. Steps are numbered in the order in which the workflow code asks
 * for them, from 1 (0 is the run's initial step). The numbering is a pure
 * function of the journal's order: a worker resolves recorded steps one at a
 * time, in recorded order, and lets the code run until it is quiet before it
 * resolves the next. So what is planned on a prefix of the journal stays
 * planned, at the same positions, on every longer one.
 */

export * from './bounded-json.js';

/** Version of the frames below. Sent as a number in every frame and as the header `Svc-Workflow-Protocol`. */
export const PROTOCOL_VERSION = 1;

/** Header names without their prefix (`Svc-` in the native dialect). */
export const PROTOCOL_HEADER = 'Workflow-Protocol';
export const NATIVE_PREFIX = 'Svc-';

/**
 * Kinds of signed requests. The signature contains the kind (claim `kind`), so that a request of one kind cannot be replayed as
 * another. Older services leave it out. `step` covers all frames of this protocol.
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
export type SignedKind = (typeof SIGNED_KINDS)[number];

/** Header names without their prefix: the signature with a shared key, and the one with the private key of the queue instance. */
export const SIGNATURE_HEADER = 'Signature';
export const ED25519_SIGNATURE_HEADER = 'Signature-Ed25519';

/**
 * A message key is `sig_` and the base64url of HMAC-SHA256 of this text, with a signing key as the key. It signs plain messages
 * to origins that do not belong to the queue instance.
 */
export const MESSAGE_KEY_CONTEXT = 'everstep.message-key.1';
export const SIGNING_KEY_PREFIX = 'sig_';

/** Status with which an endpoint says that retrying cannot help (with `NonRetryable-Error: true`). */
export const NON_RETRYABLE_STATUS = 489;

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
export type StepType = (typeof STEP_TYPES)[number];

/** One recorded step. `out` is the result as JSON text; absent when the step has none (undefined). */
export interface JournalEntry {
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
  readonly out?: string;
}

/**
 * Digest of a journal without entries. The digest of a journal is one number that depends on every recorded step and on their
 * order. The service and a worker compute it separately, and compare it to find out whether they mean the same journal. It is
 * extended by one entry at a time, so its cost per step is that of the entry alone. It is a check against mistakes, not
 * against forgery: it has 53 bits, so that it is an integer in JSON everywhere.
 */
export const EMPTY_JOURNAL_DIGEST = 0;

const LANE = 2 ** 32;
const HIGH_BITS = 0x1fffff;

/** Spreads each bit of a 32-bit integer over all of them. */
function spread(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return bits ^ (bits >>> 16);
}

/** What of an entry its digest covers. */
export interface DigestedEntry {
  readonly stepId: number;
  readonly out?: string | undefined;
}

/**
 * Returns the digest of a journal whose entries before this one have `digest`.
 *
 * It covers the position of the step and its result, which both sides have exactly alike: the result as UTF-16 code units
 * of the JSON text in `out`, or its absence. Names and types are left out: an execution checks them where it applies an entry.
 */
export function extendJournalDigest(digest: number, { stepId, out }: DigestedEntry): number {
  const text = out ?? '';
  const length = out === undefined ? -1 : text.length;
  let low = spread((digest % LANE) ^ Math.imul(stepId, 0x9e3779b1));
  let high = spread(Math.floor(digest / LANE) ^ Math.imul(length, 0x85ebca6b) ^ low);
  for (let index = 0; index < length; index += 2) {
    // Two units at a time; behind the last one there is NaN, which counts as 0.
    const units = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
    low = Math.imul(low ^ units, 0x01000193);
    high = Math.imul(((high << 5) | (high >>> 27)) ^ units, 0x9e3779b1);
  }
  low = spread(low ^ high);
  high = spread(high ^ low);
  return (high & HIGH_BITS) * LANE + (low >>> 0);
}

/** Bytes as text: UTF-8 where that is lossless, else base64. */
export interface EncodedBody {
  readonly encoding: 'utf8' | 'base64';
  readonly data: string;
}

/** What the run was triggered with. */
export interface RunInput {
  readonly body: EncodedBody;
  readonly contentType?: string;
  /** Forwarded headers (`Forward-*` without the prefix), lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Service to endpoint: go on with this run. */
export interface StepRequest {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly run: {
    /** Unique key of the run for all time (a run id may be reused after it ended). */
    readonly key: string;
    readonly id: string;
    /** Unix ms. */
    readonly createdAt: number;
    readonly workflowUrl: string;
    readonly labels: readonly string[];
  };
  readonly messageId: string;
  /** Failed attempts of this message before this one. */
  readonly retried: number;
  readonly maxRetries: number;
  /**
   * The planned run-step to execute, or null: replay, and execute the next
   * step only if it is the one thing the code waits for.
   */
  readonly target: number | null;
  /** Every step id below this is known to the service (recorded or planned); ids from here on are new. */
  readonly known: number;
  /** Positions above `known` that are recorded all the same, of parallel steps in a forked run. Absent: none. */
  readonly ahead?: readonly number[];
  readonly journal: {
    /** Index of the first entry sent. Above 0 only when the worker said that it holds the earlier ones. */
    readonly from: number;
    /**
     * The `Hold.worker` that said so; present exactly when `from` is above 0. Another may hold the run as well,
     * with a result of its own that was never recorded, so it must not take the request for its own.
     */
    readonly worker?: string;
    /**
     * Digest of the entries before `from`, as the service has recorded them (extendJournalDigest). A worker that holds others
     * there answers `journal-needed`. Absent from services that do not know it.
     */
    readonly digest?: number;
    /** Entries of the journal, all told. */
    readonly length: number;
    /** The entries from index `from` to `length - 1`, in recorded order. */
    readonly entries: readonly JournalEntry[];
  };
  /** Present exactly when `journal.from` is 0. */
  readonly input?: RunInput;
}

/** Limits of a flow control key, as a call or an invocation names them. */
export interface FlowControlSpec {
  readonly key: string;
  readonly parallelism?: number;
  readonly rate?: number;
  /** Length of a rate window. Present exactly when `rate` is. */
  readonly periodMs?: number;
}

/** An HTTP request that the service makes for the run. */
export interface CallSpec {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: EncodedBody;
  /** Retries after the first attempt; absent: none. */
  readonly retries?: number;
  /** Retry delay expression in ms over `retried`. */
  readonly retryDelay?: string;
  readonly timeoutMs?: number;
  readonly flowControl?: FlowControlSpec;
}

/** Another workflow, to be started by the service; the run waits for its end. */
export interface InvokeSpec {
  readonly workflowUrl: string;
  readonly body?: EncodedBody;
  readonly contentType?: string;
  /** Forwarded to the invoked workflow; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly workflowRunId?: string;
  readonly retries?: number;
  readonly retryDelay?: string;
  readonly timeoutMs?: number;
  readonly labels?: readonly string[];
  readonly flowControl?: FlowControlSpec;
  /** Told when the invoked run fails. */
  readonly failureCallback?: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}

/** What an event carries: data of a notification, or the request that came to a webhook. */
export type EventContent =
  | { readonly kind: 'data'; readonly body: EncodedBody; readonly contentType?: string }
  | {
      readonly kind: 'request';
      readonly method: string;
      /** What followed the webhook's own URL, with the `?`; empty when nothing did. */
      readonly query: string;
      /** Lower-case names. */
      readonly headers: Readonly<Record<string, readonly string[]>>;
      readonly body: EncodedBody;
    };

/** What a step needs to be planned, by type. Durations in ms, instants in Unix ms. */
export type PlannedStep =
  /** `asks`: planned by its name alone; when the endpoint is asked for it, it tells what a step of that type needs. */
  | { readonly stepId: number; readonly name: string; readonly type: 'Run'; readonly asks?: StepType }
  | { readonly stepId: number; readonly name: string; readonly type: 'SleepFor'; readonly sleepMs: number }
  | { readonly stepId: number; readonly name: string; readonly type: 'SleepUntil'; readonly wakeAt: number }
  /** Result: WaitOutcome. The first of the events, or the timeout. */
  | {
      readonly stepId: number;
      readonly name: string;
      readonly type: 'Wait' | 'WaitForWebhook';
      readonly eventIds: readonly string[];
      readonly timeoutMs: number;
    }
  /** Result: NotifyOutcome. With `workflowRunId` the event is for that run, and kept until it waits for it. */
  | {
      readonly stepId: number;
      readonly name: string;
      readonly type: 'Notify';
      readonly eventId: string;
      readonly workflowRunId?: string;
      readonly content: Extract<EventContent, { kind: 'data' }>;
    }
  /** Result: CallOutcome. */
  | { readonly stepId: number; readonly name: string; readonly type: 'Call'; readonly call: CallSpec }
  /** Result: InvokeOutcome. */
  | { readonly stepId: number; readonly name: string; readonly type: 'Invoke'; readonly invoke: InvokeSpec }
  /** Result: WebhookOutcome. */
  | { readonly stepId: number; readonly name: string; readonly type: 'CreateWebhook' };

/** Result of Wait and WaitForWebhook. */
export type WaitOutcome =
  | { readonly timeout: true }
  | { readonly timeout: false; readonly eventId: string; readonly content: EventContent };

/** Result of Notify: the runs that waited, and whether the event was kept for the named run. */
export interface NotifyOutcome {
  readonly notified: readonly { readonly messageId: string; readonly workflowRunId: string; readonly workflowUrl: string }[];
  readonly kept: boolean;
}

/** Result of Call, whatever the status. `status` 0: no answer came, and `error` says why. */
export interface CallOutcome {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: EncodedBody;
  /** Attempts made, the last included. */
  readonly attempts: number;
  readonly error?: string;
}

/** Result of Invoke. `result` is JSON text, absent for undefined. */
export type InvokeOutcome = { readonly workflowRunId: string; readonly workflowCreatedAt: number } & (
  | { readonly state: 'succeeded'; readonly result?: string }
  | { readonly state: 'failed'; readonly error: string }
  | { readonly state: 'canceled' }
);

/** Result of CreateWebhook. */
export interface WebhookOutcome {
  readonly eventId: string;
  readonly webhookUrl: string;
}

/** A step executed in this exchange. */
export interface StepResult {
  readonly stepId: number;
  readonly name: string;
  readonly type: StepType;
  readonly out?: string;
}

/** Who keeps the run in memory, and how much of the journal it has applied. */
export interface Hold {
  /**
   * Names one live execution of the run in one process. A worker that begins anew with a run takes a new name:
   * a late duplicate of a request may have made it do so, and go on from a result that is never recorded.
   */
  readonly worker: string;
  /**
   * Entries that it has applied. The last of them may be the result that it reports in the same reply, which nobody has
   * recorded yet: the service counts on it only once it has recorded it as the next entry. To a service that sends no
   * digest, a worker does not name that one.
   */
  readonly through: number;
}

export type RunEnd =
  | { readonly kind: 'finished' /** JSON text of the returned value; absent for undefined. */; readonly result?: string }
  | { readonly kind: 'canceled' };

/** The code got further: steps done, steps planned, or the end. HTTP 200. */
export interface ProgressReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'progress';
  /** `journal.length` of the request: what this reply was computed on. */
  readonly base: number;
  readonly done: readonly StepResult[];
  /**
   * True when the code was run on past `done` until it was quiet, so that `planned` and `end` are complete,
   * provided that `done` become the entries right after `base`. False when the code could not be moved
   * past them (siblings are still open): the service asks again when it has recorded them.
   */
  readonly advanced: boolean;
  /** New steps, ids from `known` upwards without gaps, in order. */
  readonly planned: readonly PlannedStep[];
  readonly end?: RunEnd;
  readonly hold?: Hold;
  /** The endpoint has a failure function: should the run fail, it wants to be called (FailureNotice). */
  readonly failureFunction?: true;
}

/** A step, or the code between steps, failed. HTTP 500, or 429 with Retry-After, or 489 with NonRetryable-Error: true. */
export interface FailedReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'failed';
  readonly base: number;
  /** A step that succeeded in this exchange before the code after it failed. */
  readonly done: readonly StepResult[];
  /** The step that failed; absent when the workflow code between steps did. */
  readonly step?: { readonly stepId: number; readonly name: string; readonly type: StepType };
  readonly error: { readonly name: string; readonly message: string; readonly stack?: string };
  readonly retry:
    | { readonly kind: 'backoff' }
    | { readonly kind: 'after'; readonly delayMs: number }
    | { readonly kind: 'never' };
  readonly hold?: Hold;
  readonly failureFunction?: true;
}

/** The worker no longer holds the entries before `journal.from`; send the whole journal. Not a failed attempt. HTTP 200. */
export interface JournalNeededReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'journal-needed';
}

/** The endpoint cannot go on with this run, whatever is retried. HTTP 400. */
export interface RefusedReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'refused';
  readonly code: 'unsupported-protocol' | 'journal-mismatch' | 'bad-request';
  readonly message: string;
}

export type StepReply = ProgressReply | FailedReply | JournalNeededReply | RefusedReply;

/**
 * Service to endpoint: would the present code replay this journal? The code is run against it, and nothing else happens: no
 * step is executed, nothing is kept. An endpoint that does not know the frame takes it for a malformed step request, and
 * refuses it before any code is run.
 */
export interface CheckRequest {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'check';
  readonly run: StepRequest['run'];
  /** All of it, in recorded order. */
  readonly journal: readonly JournalEntry[];
  /** What is planned and not recorded. */
  readonly open: readonly Pick<JournalEntry, 'stepId' | 'name' | 'type'>[];
  readonly input: RunInput;
  /** How long the code may take, ms: what awaits something else than a step may await it for ever. */
  readonly limitMs: number;
}

/** HTTP 200, whatever the outcome. */
export interface CheckReply {
  readonly protocol: typeof PROTOCOL_VERSION;
  readonly kind: 'checked';
  readonly outcome: 'fits' | 'differs' | 'cannot-tell';
  /** The first recorded or planned step that the code does not ask for as it did; present exactly when it differs. */
  readonly stepId?: number;
  /** In words, for people. */
  readonly message: string;
}

/** With this header (and any value) a request to an endpoint is a FailureNotice for its failure function. */
export const FAILURE_FUNCTION_HEADER = 'Workflow-Failure-Function';

/** Body of a failure callback, and of the request to a failure function: how the run failed. */
export interface FailureNotice {
  /** HTTP status of the last answer; 0 when there was none. */
  readonly status: number;
  readonly header: Readonly<Record<string, readonly string[]>>;
  /** Base64: the last answer's body. In a failure callback, when there was none, what went wrong in words. */
  readonly body: string;
  /** What went wrong, in words. Only for a failure function. */
  readonly error?: string;
  /** Labels of the run. Only for a failure function; an older service sends none. */
  readonly labels?: readonly string[];
  /** How often the delivery was retried that failed the run; 0 when it failed at the first attempt. */
  readonly retried: number;
  readonly maxRetries: number;
  readonly sourceMessageId: string;
  readonly url: string;
  readonly method: string;
  readonly sourceHeader: Readonly<Record<string, readonly string[]>>;
  /** Base64: what the run was triggered with. */
  readonly sourceBody: string;
  readonly workflowRunId: string;
  /** Unix ms, as is createdAt (when it failed). */
  readonly workflowCreatedAt: number;
  readonly dlqId: string;
  readonly createdAt: number;
}
