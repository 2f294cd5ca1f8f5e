/**
 * How a step reaches the user's code. The engine and the runtime are blind to
 * the way: one HTTP request per step today; a connection that a worker opened
 * to the service is another implementation of the same port.
 */
import type { StepReply, StepRequest } from '@everstep/sdk/protocol';
import type { DeliveryFailure, DialectName } from '../engine/run.js';

export interface StepCall {
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly workflowUrl: string;
  readonly request: StepRequest;
  /** The user's headers to send along, lower-case names. */
  readonly forwardHeaders: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** The run hides data: the words of a failure quote nothing of the answer. */
  readonly discreet: boolean;
}

export type StepAnswer =
  | {
      readonly kind: 'reply';
      readonly reply: StepReply;
      /** As it came, for the dead letter, should this be the last attempt. */
      readonly status: number | null;
      readonly responseHeaders: Readonly<Record<string, readonly string[]>>;
      readonly responseBody: Uint8Array;
    }
  | { readonly kind: 'failure'; readonly failure: DeliveryFailure };

export interface StepCaller {
  /**
   * Never rejects: what goes wrong on the way is a failure. `signal` gives the call up. `onLeave` is called when the
   * request is sent: what comes before that, as connecting, may take its time.
   */
  call(call: StepCall, signal: AbortSignal, onLeave?: () => void): Promise<StepAnswer>;
  close(): Promise<void>;
}
