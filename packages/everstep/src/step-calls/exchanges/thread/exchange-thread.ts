/**
 * Performs exchanges in another thread, so that connections, sockets and HTTP use a second core. What is sent, to which
 * addresses, and how much memory answers take is decided here, as for exchanges of the main thread. The thread is started by
 * the first exchange. See docs/decisions/0030-second-core.md.
 */
import { Worker } from 'node:worker_threads';
import type { ReplyBytes } from '../../../fairness/reply-budget.js';
import { NotAttemptedError } from '../../../ports/not-attempted.js';
import { type AddressPolicy, BlockedAddressError } from '../../addresses/address-policy.js';
import { checkOrigin } from '../connections.js';
import type { ExchangeOutcome, ExchangeRequest } from '../exchange.js';
import {
  bytesToText,
  errorMessage,
  type FoundAddresses,
  type MessageFromThread,
  type MessageToThread,
  Outbox,
  outcomeOf,
} from './messages.js';

/** Copying a longer body costs more than sending it. */
const MAX_BODY_BYTES = 64 * 1024;
const YOUNG_GENERATION_MB = 8;
/** Maximum number of address policies with connections in the thread. */
const MAX_SCOPES = 1_000;

interface Pending {
  readonly request: ExchangeRequest;
  readonly bytes: ReplyBytes;
  readonly finish: (outcome: ExchangeOutcome | NotAttemptedError) => void;
}

export interface ExchangeThreadOptions {
  /** No file descriptor is free for a connection. */
  readonly onShortage: (code: string) => void;
  /** Called once when the thread has ended unexpectedly. Later exchanges belong to the main thread. */
  readonly onFailure: (error: Error) => void;
}

export const noDescriptor = (): NotAttemptedError => new NotAttemptedError('this process has no free file descriptor');

export class ExchangeThread {
  private readonly options: ExchangeThreadOptions;
  private readonly pending = new Map<number, Pending>();
  private readonly policies = new Map<string, AddressPolicy>();
  private readonly outbox = new Outbox<MessageToThread>((messages) => this.worker?.postMessage(messages));
  private worker: Worker | null = null;
  private lastId = 0;
  /** Why no exchange is possible any more. */
  private ended: Error | null = null;

  constructor(options: ExchangeThreadOptions) {
    this.options = options;
  }

  takes({ body }: ExchangeRequest): boolean {
    return this.ended === null && (body === null || body.byteLength <= MAX_BODY_BYTES);
  }

  /**
   * Performs an exchange, if the policy allows the origin. Releases `bytes` when the answer is recorded. Rejects only with
   * NotAttemptedError, if no file descriptor was free before the timeout.
   */
  async exchange(
    policy: AddressPolicy,
    origin: string,
    request: ExchangeRequest,
    bytes: ReplyBytes,
    signal: AbortSignal,
  ): Promise<ExchangeOutcome> {
    if (signal.aborted) return { kind: 'aborted' };
    const verdict = checkOrigin(policy, origin);
    if (!verdict.ok) return { kind: 'broken', error: new BlockedAddressError(verdict) };
    this.worker ??= this.start();
    this.remember(policy);
    const id = ++this.lastId;
    const abort = (): void => this.outbox.add({ kind: 'abort', id });
    const outcome = await new Promise<ExchangeOutcome | NotAttemptedError>((finish) => {
      this.pending.set(id, { request, bytes, finish });
      const { method, path, headers, body, timeoutMs, maxAnswerBytes } = request;
      const message = { method, path, headers, timeoutMs, maxAnswerBytes, body: body && bytesToText(body) };
      this.outbox.add({ kind: 'exchange', id, scope: policy.scope, origin, request: message });
      signal.addEventListener('abort', abort);
    });
    signal.removeEventListener('abort', abort);
    if ('answer' in outcome && request.recorded) void request.recorded.then(() => bytes.release());
    else bytes.release();
    if (outcome instanceof NotAttemptedError) throw outcome;
    return outcome;
  }

  /** Ends the exchanges in progress. */
  async close(): Promise<void> {
    const { worker } = this;
    this.end(Object.assign(new Error('the service is stopping'), { code: 'UND_ERR_DESTROYED' }));
    await worker?.terminate();
  }

  private remember(policy: AddressPolicy): void {
    this.policies.delete(policy.scope);
    this.policies.set(policy.scope, policy);
    const [oldest] = this.policies.keys();
    if (this.policies.size > MAX_SCOPES && oldest !== undefined) this.policies.delete(oldest);
  }

  private start(): Worker {
    const worker = new Worker(new URL('./delivery-thread.js', import.meta.url), {
      name: 'deliveries',
      // Its objects live for one exchange, so its heap can be smaller than the default.
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    worker.on('message', (messages: readonly MessageFromThread[]) => {
      for (const message of messages) this.receive(message);
    });
    const failed = (error: Error): void => {
      if (this.ended !== null) return;
      this.end(error);
      this.options.onFailure(error);
    };
    worker.on('error', (error) => failed(error instanceof Error ? error : new Error(String(error))));
    worker.on('exit', (code) => failed(new Error(`the delivery thread ended with code ${code}`)));
    // The listeners of the server keep the process alive.
    worker.unref();
    return worker;
  }

  private end(error: Error): void {
    this.ended ??= error;
    this.worker = null;
    for (const { finish } of this.pending.values()) finish({ kind: 'broken', error: this.ended });
    this.pending.clear();
  }

  private receive(message: MessageFromThread): void {
    switch (message.kind) {
      case 'shortage':
        this.options.onShortage(message.code);
        break;
      case 'look-up':
        this.lookUp(message);
        break;
      case 'sent':
        this.pending.get(message.id)?.request.onSent?.();
        break;
      case 'received': {
        const { id, bytes, length } = message;
        const resume = (): void => this.outbox.add({ kind: 'continue', id });
        if (this.pending.get(id)?.bytes.canContinue(bytes, length, resume)) resume();
        break;
      }
      case 'ended': {
        const { id, outcome } = message;
        const notSent = outcome.kind === 'timed-out' && outcome.lacksDescriptor;
        this.pending.get(id)?.finish(notSent ? noDescriptor() : outcomeOf(outcome));
        this.pending.delete(id);
      }
    }
  }

  private lookUp({ id, scope, hostname, port }: Extract<MessageFromThread, { kind: 'look-up' }>): void {
    const reply = (found: FoundAddresses): void => this.outbox.add({ kind: 'addresses', id, found });
    const policy = this.policies.get(scope);
    if (!policy) {
      reply({ kind: 'failed', error: errorMessage(new Error('the rules of the destination were forgotten')) });
      return;
    }
    policy.lookupAt(port)(hostname, { all: true }, (error, addresses) => {
      if (error) reply({ kind: 'failed', error: errorMessage(error) });
      else reply({ kind: 'found', addresses: typeof addresses === 'string' ? [] : addresses });
    });
  }
}
