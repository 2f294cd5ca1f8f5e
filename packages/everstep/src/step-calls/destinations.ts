/** Where requests go: judged by the address policy, over connections that all who send requests share. */
import { headerValueOfUrl } from '../dialects/header-text.js';
import type { Log } from '../ports/log.js';
import { PeriodicLog } from '../ports/periodic-log.js';
import { type AddressPolicy, type Blocked, BlockedAddressError } from './address-policy.js';
import { CONNECT_TIMEOUT_MS, Connections } from './connections.js';
import { createEgressProxy, type EgressProxyOptions } from './egress-proxy.js';
import { type ExchangeOutcome, type ExchangeRequest, exchange } from './exchange.js';
import { type FailedAnswer, failureWithoutAnswer } from './failed-answer.js';
import { describeNetworkError, networkErrorCode } from './network-errors.js';

const NEVER = { kind: 'never' } as const;

export interface Target {
  /** Of the instance that the request is for. */
  readonly policy: AddressPolicy;
  /** As the signature and headers have it. */
  readonly url: string;
  readonly origin: string;
  readonly host: string;
  readonly path: string;
}

export type TargetVerdict = { readonly ok: true; readonly target: Target } | Blocked;

/** A whole answer, one that is too long, or a failure. */
export type AskedOutcome = Extract<ExchangeOutcome, { readonly kind: 'answered' | 'too-long' }> | FailedAnswer;

export interface DestinationsOptions {
  /** What the instance may call. Asked when the instance is known. */
  readonly addressPolicyOf: (instanceId: string) => AddressPolicy;
  /** Absent: destinations are connected to directly. */
  readonly egressProxy?: Pick<EgressProxyOptions, 'url' | 'ca'>;
  readonly log: Log;
}

/** URLs whose parts are kept; beyond it they are read again. */
const MAX_TARGETS = 1_000;

export class Destinations {
  private readonly options: DestinationsOptions;
  private readonly connections: Connections;
  private readonly targets = new Map<string, TargetVerdict>();
  private readonly blockedLog: PeriodicLog;
  private closed = false;

  constructor(options: DestinationsOptions) {
    this.options = options;
    const { log, egressProxy } = options;
    const proxy = egressProxy ? createEgressProxy({ ...egressProxy, connectTimeoutMs: CONNECT_TIMEOUT_MS, log }) : null;
    this.connections = new Connections(log, { egressProxy: proxy });
    this.blockedLog = new PeriodicLog(options.log, 'delivery to a blocked address refused');
  }

  /** The parts of a URL that the instance may call by what it shows. */
  targetOf(instanceId: string, url: string): TargetVerdict {
    const policy = this.options.addressPolicyOf(instanceId);
    const key = `${policy.scope} ${url}`;
    const known = this.targets.get(key);
    if (known) return known;
    const verdict = judge(policy, url);
    if (this.targets.size >= MAX_TARGETS) this.targets.clear();
    this.targets.set(key, verdict);
    return verdict;
  }

  /** One exchange with a target. Never rejects: without a whole answer it is a failure, unless the answer is too long. */
  async ask(instanceId: string, target: Target, request: ExchangeRequest, signal: AbortSignal): Promise<AskedOutcome> {
    if (this.closed) return failureWithoutAnswer('network', 'the service is stopping');
    const { pool, release } = this.connections.acquire(target.policy, target.origin);
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
  blocked(instanceId: string, { message, detail }: Pick<Blocked, 'message' | 'detail'>): FailedAnswer {
    this.blockedLog.warn({ instanceId, reason: detail });
    this.options.log.debug({ instanceId, reason: detail }, 'blocked address');
    return failureWithoutAnswer('blocked-address', message, NEVER);
  }

  /** Ends what is under way; nothing is sent from then on. */
  async close(): Promise<void> {
    this.closed = true;
    await this.connections.close();
  }

  private broken(instanceId: string, error: Error, host: string): FailedAnswer {
    if (error instanceof BlockedAddressError) return this.blocked(instanceId, error);
    if (networkErrorCode(error) === 'UND_ERR_CONNECT_TIMEOUT') {
      return failureWithoutAnswer('timeout', `could not reach ${host}: no connection within ${CONNECT_TIMEOUT_MS} ms`);
    }
    return failureWithoutAnswer('network', describeNetworkError(error, host));
  }
}

function judge(policy: AddressPolicy, url: string): TargetVerdict {
  const verdict = policy.check(url);
  if (!verdict.ok) return verdict;
  if (!URL.canParse(url)) return { ok: false, message: 'the URL cannot be read', detail: 'the URL cannot be read' };
  const { origin, host, pathname, search } = new URL(url);
  return { ok: true, target: { policy, url: headerValueOfUrl(url), origin, host, path: pathname + search } };
}
