/**
 * How a plain HTTP message leaves the service: the request of a `call` step, a
 * failure callback. Unlike a step call its answer is no protocol: whatever
 * status comes back is an answer.
 */
import type { SignedKind } from '@everstep/sdk/protocol';
import type { SentRequest } from '../engine/exchanges.js';
import type { DeliveryFailure, DialectName } from '../engine/run.js';

export interface SignedMessage {
  readonly kind: SignedKind;
  /** It goes to the origin of its own workflow, so it is signed with the signing key. Otherwise the origin decides. */
  readonly isOwn: boolean;
}

export interface Message {
  readonly instanceId: string;
  readonly dialect: DialectName;
  readonly method: string;
  readonly url: string;
  /** Names and values as the sender should send them; those of the hop are left out. */
  readonly headers: Readonly<Record<string, string>>;
  /** Headers of the service's own: names without the prefix, which is the dialect's. They win over `headers`. */
  readonly serviceHeaders?: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  readonly timeoutMs: number;
  /** An answer with a longer body is a failure, unless `anyBody`. */
  readonly maxAnswerBytes: number;
  /** True where the status alone counts: of a longer body the beginning is taken, and one that cannot be decoded as it came. */
  readonly anyBody?: true;
  /** Null: it carries no signature. */
  readonly signed: SignedMessage | null;
  /** `exact`: a header that cannot be sent is an error. `forwarded`: it is left out, as are those that a step call does not forward. */
  readonly take: 'exact' | 'forwarded';
  /** Settles when the answer is recorded or dropped: until then its bytes count as in memory. Absent: at its end. */
  readonly answerRecorded?: Promise<void>;
}

export type MessageAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Lower-case names. */
      readonly headers: Readonly<Record<string, readonly string[]>>;
      readonly body: Uint8Array;
      /** What was sent for it. */
      readonly sent?: SentRequest;
      /** It was signed with the message key, and the endpoint seems to check signatures with the signing keys. */
      readonly wantsSigningKeys?: true;
      /** The endpoint said that it has no use for such messages. */
      readonly unwanted?: true;
    }
  /** No answer, or none that could be taken: network, timeout, too long, an address that may not be called. */
  | { readonly kind: 'failure'; readonly failure: DeliveryFailure };

export interface MessageSender {
  /** Rejects with NotAttemptedError alone. `signal` gives the message up. `onLeave` is called when the request is sent. */
  send(message: Message, signal: AbortSignal, onLeave?: () => void): Promise<MessageAnswer>;
}
