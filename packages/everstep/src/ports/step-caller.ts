/**
 * How a step reaches the user's code. The engine and the runtime are blind to
 * the way: one HTTP request per step today; a connection that a worker opened
 * to the service is another implementation of the same port.
 */
import type { CheckRequest, StepReply, StepRequest } from '@everstep/sdk/protocol';
import type { SentRequest } from '../engine/exchanges.js';
import type { DeliveryFailure, DialectName, RecordedStep, RunPayload, StepTask } from '../engine/run.js';

export interface StepCall {
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly workflowUrl: string;
  readonly request: StepRequest;
  /** The steps of `request.journal.entries`, with all that is known of them. */
  readonly recorded: readonly RecordedStep[];
  /** What is planned and not recorded, by position. */
  readonly open: readonly StepTask[];
  /** What the run was triggered with; present exactly when `request.input` is. */
  readonly payload?: RunPayload;
  /** False: the endpoint still has to introduce itself. */
  readonly introduced: boolean;
  /** The user's headers to send along, lower-case names. */
  readonly forwardHeaders: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The run hides data: the words of a failure quote nothing of the answer. */
  readonly discreet: boolean;
  /** Settles when the answer is recorded or dropped: until then its bytes count as in memory. Absent: at its end. */
  readonly answerRecorded?: Promise<void>;
}

export type StepAnswer =
  | {
      readonly kind: 'reply';
      readonly reply: StepReply;
      /** As it came, for the dead letter, should this be the last attempt. */
      readonly status: number | null;
      readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
      readonly responseBody: Uint8Array;
      /** What was sent for it. */
      readonly sent?: SentRequest;
    }
  /** The exchange ended well and says nothing by itself: what there was to say came in requests of the endpoint's own. */
  | {
      readonly kind: 'silent';
      readonly status: number;
      readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
      readonly responseBody: Uint8Array;
      /** What was sent for it. */
      readonly sent?: SentRequest;
    }
  | { readonly kind: 'failure'; readonly failure: DeliveryFailure };

/** A question to an endpoint: would its present code replay a run? Nothing is executed there. */
export interface ReplayCheck {
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly workflowUrl: string;
  readonly request: CheckRequest;
  /** The user's headers to send along, lower-case names. */
  readonly forwardHeaders: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The run hides data: the words quote nothing of an answer that is none. */
  readonly discreet: boolean;
}

/** `stepId`: where it differs. The message is for people; that of cannot-tell says why, and what to do. */
export type ReplayVerdict =
  | { readonly outcome: 'fits' | 'cannot-tell'; readonly message: string }
  | { readonly outcome: 'differs'; readonly stepId: number; readonly message: string };

export interface StepCaller {
  /** Never rejects: whatever goes wrong on the way, one cannot tell. Absent: this way has no such question. */
  check?(check: ReplayCheck, signal: AbortSignal): Promise<ReplayVerdict>;
  /**
   * What goes wrong on the way is a failure; rejects with NotAttemptedError alone. `signal` gives the call up. `onLeave` is called when the
   * request is sent: what comes before that, as connecting, may take its time.
   */
  call(call: StepCall, signal: AbortSignal, onLeave?: () => void): Promise<StepAnswer>;
  close(): Promise<void>;
}
