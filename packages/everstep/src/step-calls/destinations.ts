/** Where requests go: judged by the address policy, over connections that all who send requests share. */
import { headerValueOfUrl } from '../dialects/header-text.js';
import type { Log } from '../ports/log.js';
import { type AddressPolicy, BlockedAddressError } from './address-policy.js';
import { CONNECT_TIMEOUT_MS, Connections } from './connections.js';
import { type ExchangeOutcome, type ExchangeRequest, exchange } from './exchange.js';
import { type FailedAnswer, failureWithoutAnswer } from './failed-answer.js';
import { describeNetworkError, networkErrorCode } from './network-errors.js';

const NEVER = { kind: 'never' } as const;

export interface Target {
  /** As the signature and headers have it. */
  readonly url: string;
  readonly origin: string;
  readonly host: string;
  readonly path: string;
}

export type TargetVerdict = { readonly ok: true; readonly target: Target } | { readonly ok: false; readonly message: string };

/** A whole answer, one that is too long, or a failure. */
export type AskedOutcome = Extract<ExchangeOutcome, { readonly kind: 'answered' | 'too-long' }> | FailedAnswer;

export interface DestinationsOptions {
  readonly addressPolicy: AddressPolicy;
  readonly log: Log;
}

export class Destinations {
  private readonly options: DestinationsOptions;
  private readonly connections: Connections;
  private closed = false;

  constructor(options: DestinationsOptions) {
    this.options = options;
    this.connections = new Connections(options.addressPolicy, options.log);
  }

  /** The parts of a URL that may be called by what it shows. */
  targetOf(url: string): TargetVerdict {
    const verdict = this.options.addressPolicy.check(url);
    if (!verdict.ok) return verdict;
    if (!URL.canParse(url)) return { ok: false, message: 'the URL cannot be read' };
    const { origin, host, pathname, search } = new URL(url);
    return { ok: true, target: { url: headerValueOfUrl(url), origin, host, path: pathname + search } };
  }

  /** One exchange with a target. Never rejects: without a whole answer it is a failure, unless the answer is too long. */
  async ask(instanceId: string, target: Target, request: ExchangeRequest, signal: AbortSignal): Promise<AskedOutcome> {
    if (this.closed) return failureWithoutAnswer('network', 'the service is stopping');
    const { pool, release } = this.connections.acquire(target.origin);
    let outcome: ExchangeOutcome;
    try {
      outcome = await exchange(pool, request, signal);
    } finally {
      release();
    }
    switch (outcome.kind) {
      case 'answered':
      case 'too-long':
        return outcome;
      case 'timed-out':
        return failureWithoutAnswer('timeout', `the endpoint did not answer within ${request.timeoutMs} ms`);
      case 'given-up':
        return failureWithoutAnswer('network', 'given up');
      case 'broken':
        return this.broken(instanceId, outcome.error, target.host);
    }
  }

  /** The failure of a request to an address that may not be called. */
  blocked(instanceId: string, message: string): FailedAnswer {
    this.options.log.warn({ instanceId, reason: message }, 'a delivery to a blocked address was refused');
    return failureWithoutAnswer('blocked-address', message, NEVER);
  }

  /** Ends what is under way; nothing is sent from then on. */
  async close(): Promise<void> {
    this.closed = true;
    await this.connections.close();
  }

  private broken(instanceId: string, error: Error, host: string): FailedAnswer {
    if (error instanceof BlockedAddressError) return this.blocked(instanceId, error.message);
    if (networkErrorCode(error) === 'UND_ERR_CONNECT_TIMEOUT') {
      return failureWithoutAnswer('timeout', `could not reach ${host}: no connection within ${CONNECT_TIMEOUT_MS} ms`);
    }
    return failureWithoutAnswer('network', describeNetworkError(error, host));
  }
}
