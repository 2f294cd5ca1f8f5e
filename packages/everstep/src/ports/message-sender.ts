/**
 * Sends HTTP messages that follow no step protocol, such as the request of a `call` step or a failure callback. A response with
 * any status is valid.
 */
import type { SignedKind } from '@everstep/sdk/protocol';
import type { SentRequest } from '../engine/runs/exchanges.js';
import type { DeliveryFailure, DialectName } from '../engine/runs/run.js';
import type { AttemptTrace } from './traces.js';

/** How a message is signed. */
export interface SignedMessage {
  readonly kind: SignedKind;
  /**
   * Whether the message goes to the origin of its own workflow, so that it is signed with the signing key. Otherwise the origin
   * determines the key.
   */
  readonly isOwn: boolean;
}

/** Signature of a webhook. */
export interface WebhookSignature {
  /** Id of the message, which is the same for all attempts. */
  readonly id: string;
  /** Secret of the webhook: `whsec_` and the key in Base64. */
  readonly secret: string;
}

/** A message that is sent by email. */
export interface MailTarget {
  /** Id of the message, which is the same for all attempts. */
  readonly id: string;
  readonly to: readonly string[];
}

/** A plain message to send. */
export interface Message {
  readonly instanceId: string;
  /** Key of the delivery, under which a slot of a worker may be reserved. */
  readonly deliveryKey?: string;
  readonly dialect: DialectName;
  readonly method: string;
  readonly url: string;
  /** Names and values as specified by the user; hop-by-hop headers are omitted. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers of the server: names without the prefix, which depends on the dialect. They override `headers`. */
  readonly serviceHeaders?: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  /** Trace context of this attempt. If `headers` contains a trace context, that one is sent instead. */
  readonly trace?: AttemptTrace | undefined;
  readonly timeoutMs: number;
  /** Maximum size of the response body. A longer response is a failure, unless `anyBody` is set. */
  readonly maxResponseBytes: number;
  /** Set if only the status matters. A longer body is truncated, and a body that cannot be decoded is returned as received. */
  readonly anyBody?: true;
  /** Signature of the message; null if it is not signed, except as a webhook. */
  readonly signed: SignedMessage | null;
  /** Present if the message is signed by the rules of Standard Webhooks. */
  readonly webhook?: WebhookSignature;
  /** Set if the message is a notice to an alert destination. */
  readonly isNotice?: true;
  /** Present if the message is an email. Its body is the JSON of a subject and a text, and its URL is not called. */
  readonly mail?: MailTarget;
  /**
   * With `exact`, a header that cannot be sent is an error. With `forwarded`, it is omitted, like headers that a step call
   * does not forward.
   */
  readonly headerMode: 'exact' | 'forwarded';
  /**
   * Settles when the response is recorded or dropped. The bytes of the response count as in memory until then; if this is absent,
   * until the message ends.
   */
  readonly outcomeRecorded?: Promise<void>;
}

/** The response to a message, or a failure. */
export type MessageOutcome =
  | {
      readonly kind: 'response';
      readonly status: number;
      /** Headers with lowercase names. */
      readonly headers: Readonly<Record<string, readonly string[]>>;
      readonly body: Uint8Array;
      /** The request that was sent. */
      readonly sent?: SentRequest;
      /**
       * Whether the message was signed with the message key, but the endpoint seems to verify signatures with the signing keys.
       */
      readonly expectsSigningKeys?: true;
      /** Whether the endpoint reported that it does not want such messages. */
      readonly unwanted?: true;
    }
  /** No acceptable response: network error, timeout, response too long, or a blocked address. */
  | { readonly kind: 'failure'; readonly failure: DeliveryFailure };

/** Sends plain messages. */
export interface MessageSender {
  /**
   * Sends a message. Rejects only with NotAttemptedError. `signal` aborts the message. `onSent` is called when the
   * request is sent.
   */
  send(message: Message, signal: AbortSignal, onSent?: () => void): Promise<MessageOutcome>;
}
