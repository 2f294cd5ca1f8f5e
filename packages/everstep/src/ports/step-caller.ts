/**
 * Calls the user's code. The engine and the runtime do not depend on the transport: a step is one HTTP request, or a
 * frame on a connection that a worker has opened to the server.
 * Keeps invariant 32.
 */
import type { CheckRequest, StepReply, StepRequest } from '@everstep/sdk/protocol';
import type { SentRequest } from '../engine/runs/exchanges.js';
import type { DeliveryFailure, DialectName, RecordedStep, RunPayload, StepTask } from '../engine/runs/run.js';
import type { AttemptSpan } from './traces.js';

/** A call to a workflow endpoint. */
export interface StepCall {
  readonly instanceId: string;
  /** Key of the delivery, under which a slot of a worker may be reserved. */
  readonly deliveryKey?: string;
  readonly dialect: DialectName;
  readonly workflowUrl: string;
  readonly request: StepRequest;
  /** The steps of `request.journal.entries`, with all their stored properties. */
  readonly recordedSteps: readonly RecordedStep[];
  /** Steps that are planned but not recorded, by position. */
  readonly openSteps: readonly StepTask[];
  /** Payload of the run; present exactly when `request.input` is. */
  readonly payload?: RunPayload;
  /** Whether the endpoint has introduced itself. If not, the request asks it to do so. */
  readonly hasIntroducedItself: boolean;
  /** Headers of the user to forward, with lowercase names. */
  readonly forwardHeaders: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Maximum size of the reply. A longer one is cut off and fails the attempt. If absent, the limit of the server applies. */
  readonly maxReplyBytes?: number;
  /** Span of this attempt; absent if none is exported. Its context is in the request. */
  readonly span?: AttemptSpan;
  /** Whether the run redacts data, so that error messages must not quote the response. */
  readonly hidesData: boolean;
  /**
   * Settles when the response is recorded or dropped. The bytes of the response count as in memory until then; if this is absent,
   * until the call ends.
   */
  readonly outcomeRecorded?: Promise<void>;
}

/** The outcome of a call: a reply, an empty response, or a failure. */
export type StepOutcome =
  | {
      readonly kind: 'reply';
      readonly reply: StepReply;
      /** HTTP status of the raw response, for the dead letter if this is the last attempt. */
      readonly status: number | null;
      readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
      readonly responseBody: Uint8Array;
      /** The request that was sent. */
      readonly sent?: SentRequest;
    }
  /** The request succeeded with an empty response: the endpoint submits its results in separate requests. */
  | {
      readonly kind: 'silent';
      readonly status: number;
      readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
      readonly responseBody: Uint8Array;
      /** The request that was sent. */
      readonly sent?: SentRequest;
    }
  | { readonly kind: 'failure'; readonly failure: DeliveryFailure };

/** A check of whether an endpoint's current code would replay a run. The endpoint executes no step. */
export interface ReplayCheck {
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly workflowUrl: string;
  readonly request: CheckRequest;
  /** Headers of the user to forward, with lowercase names. */
  readonly forwardHeaders: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Whether the run redacts data, so that messages must not quote an invalid response. */
  readonly hidesData: boolean;
}

/**
 * Result of a check. `stepId` is the first step that differs. The message is human-readable; for `cannot-tell`, it gives
 * the reason and what to do.
 */
export type ReplayVerdict =
  | { readonly outcome: 'fits' | 'cannot-tell'; readonly message: string }
  | { readonly outcome: 'differs'; readonly stepId: number; readonly message: string };

/** Calls workflow endpoints. */
export interface StepCaller {
  /** Checks a run. Never rejects: any failure results in `cannot-tell`. Absent if the transport does not support checks. */
  check?(check: ReplayCheck, signal: AbortSignal): Promise<ReplayVerdict>;
  /**
   * Calls an endpoint. Failures in transit are return values; rejects only with NotAttemptedError. `signal` aborts
   * the call. `onSent` is called when the request is sent, which can be some time after the call, because a
   * connection may have to be opened first.
   */
  call(call: StepCall, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome>;
  close(): Promise<void>;
}
