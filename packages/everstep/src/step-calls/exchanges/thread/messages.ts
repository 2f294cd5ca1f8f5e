/** The messages between the main thread and the delivery thread. They cross in lists, one list per turn of the event loop. */
import { BlockedAddressError } from '../../addresses/address-policy.js';
import type { ExchangeOutcome, ExchangeRequest, HttpAnswer } from '../exchange.js';
import { innermost, networkErrorCode } from '../network-errors.js';

/** An error without its class, which does not survive the crossing. */
export interface ErrorMessage {
  readonly name: string;
  readonly message: string;
  readonly code: string | null;
  /** Text for the operator; null unless the address is blocked. */
  readonly blocked: string | null;
}

/** Addresses of a host that may be connected to. */
export type FoundAddresses =
  | { readonly kind: 'found'; readonly addresses: readonly { readonly address: string; readonly family: number }[] }
  | { readonly kind: 'failed'; readonly error: ErrorMessage };

/** A request without its callbacks. The body is a string of its bytes, which is copied faster than a buffer. */
export interface RequestMessage extends Pick<ExchangeRequest, 'method' | 'path' | 'headers' | 'timeoutMs' | 'maxAnswerBytes'> {
  readonly body: string | null;
}

export type MessageToThread =
  | {
      readonly kind: 'exchange';
      readonly id: number;
      /** Connections are shared only within one scope, which is that of an address policy. */
      readonly scope: string;
      readonly origin: string;
      readonly request: RequestMessage;
    }
  | { readonly kind: 'abort'; readonly id: number }
  /** The memory for the answer is reserved. */
  | { readonly kind: 'continue'; readonly id: number }
  | { readonly kind: 'addresses'; readonly id: number; readonly found: FoundAddresses };

type AnswerMessage = Omit<HttpAnswer, 'body'> & { readonly body: string };

export type OutcomeMessage =
  | { readonly kind: 'answered' | 'too-long'; readonly answer: AnswerMessage }
  /** `lacksDescriptor`: nothing was sent, because this process had no free file descriptor. */
  | { readonly kind: 'timed-out'; readonly lacksDescriptor: boolean }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'broken'; readonly error: ErrorMessage };

export type MessageFromThread =
  | { readonly kind: 'sent'; readonly id: number }
  /** The answer needs more memory than a short one. Reading pauses until the reply. */
  | { readonly kind: 'received'; readonly id: number; readonly bytes: number; readonly length: number | null }
  | { readonly kind: 'ended'; readonly id: number; readonly outcome: OutcomeMessage }
  /** A connection needs the addresses of a host. `id` numbers these questions. */
  | { readonly kind: 'look-up'; readonly id: number; readonly scope: string; readonly hostname: string; readonly port: number }
  /** No file descriptor is free for a connection. */
  | { readonly kind: 'shortage'; readonly code: string };

/** Collects messages and posts them at the end of the turn of the event loop. */
export class Outbox<Message> {
  private readonly post: (messages: readonly Message[]) => void;
  private waiting: Message[] = [];

  constructor(post: (messages: readonly Message[]) => void) {
    this.post = post;
  }

  add(message: Message): void {
    if (this.waiting.push(message) > 1) return;
    setImmediate(() => {
      const messages = this.waiting;
      this.waiting = [];
      this.post(messages);
    });
  }
}

export const bytesToText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
export const textToBytes = (text: string): Buffer => Buffer.from(text, 'latin1');

export function errorMessage(error: Error): ErrorMessage {
  const { name, message } = innermost(error);
  const code = networkErrorCode(error) ?? null;
  return { name, message, code, blocked: error instanceof BlockedAddressError ? error.detail : null };
}

export function errorOf({ name, message, code, blocked }: ErrorMessage): Error {
  if (blocked !== null) return new BlockedAddressError({ message, detail: blocked });
  return Object.assign(new Error(message), { name }, code === null ? {} : { code });
}

export function outcomeMessage(outcome: ExchangeOutcome, lacksDescriptor: boolean): OutcomeMessage {
  switch (outcome.kind) {
    case 'answered':
    case 'too-long': {
      const { status, headers, body } = outcome.answer;
      return { kind: outcome.kind, answer: { status, headers, body: bytesToText(body) } };
    }
    case 'timed-out':
      return { kind: 'timed-out', lacksDescriptor };
    case 'aborted':
      return outcome;
    case 'broken':
      return { kind: 'broken', error: errorMessage(outcome.error) };
  }
}

export function outcomeOf(message: OutcomeMessage): ExchangeOutcome {
  switch (message.kind) {
    case 'answered':
    case 'too-long':
      return { kind: message.kind, answer: { ...message.answer, body: textToBytes(message.answer.body) } };
    case 'timed-out':
    case 'aborted':
      return { kind: message.kind };
    case 'broken':
      return { kind: 'broken', error: errorOf(message.error) };
  }
}
