/** Sends requests to destinations. The address policy checks each one, and all senders share the connections. */
import { isIP } from 'node:net';
import type { buildConnector } from 'undici';
import { LIMITS } from '../../config/limits.js';
import { headerValueOfUrl } from '../../dialects/header-text.js';
import { ReplyBudget } from '../../fairness/reply-budget.js';
import type { Log } from '../../ports/log.js';
import { NotAttemptedError } from '../../ports/not-attempted.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import { ThrottledLog } from '../../ports/throttled-log.js';
import { type AddressPolicy, type BlockedAddress, BlockedAddressError } from '../addresses/address-policy.js';
import { type FailedOutcome, failureWithoutResponse } from '../failed-outcome.js';
import { CONNECT_TIMEOUT_MS, Connections, SHORTAGE_RETRY_MS } from './connections.js';
import { createEgressProxy, type EgressProxyOptions } from './egress-proxy.js';
import { type ExchangeOutcome, type ExchangeRequest, exchange } from './exchange.js';
import { describeNetworkError, networkErrorCode } from './network-errors.js';

const NEVER = { kind: 'never' } as const;

const noDescriptorError = (): NotAttemptedError => new NotAttemptedError('this process has no free file descriptor');

/** Resolves with the result of `work`, or early on timeout or abort. */
function withTimeout<Value>(
  work: Promise<Value>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Value | 'timed-out' | 'aborted'> {
  if (signal.aborted) return Promise.resolve('aborted');
  return new Promise((resolve) => {
    const end = (value: Value | 'timed-out' | 'aborted'): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      resolve(value);
    };
    const abort = (): void => end('aborted');
    const timer = setTimeout(() => end('timed-out'), Math.max(0, timeoutMs));
    signal.addEventListener('abort', abort);
    void work.then(end);
  });
}

export interface Target {
  /** Address policy of the instance that sends the request. */
  readonly policy: AddressPolicy;
  /** The URL as used in the signature and headers. */
  readonly url: string;
  readonly origin: string;
  readonly host: string;
  /** Host name; null if the host is an IP address. */
  readonly name: string | null;
  readonly path: string;
}

export type TargetVerdict = { readonly ok: true; readonly target: Target } | BlockedAddress;

/** A complete response, a response over the limit, or a failure. */
export type DestinationOutcome = Extract<ExchangeOutcome, { readonly kind: 'response' | 'too-long' }> | FailedOutcome;

export interface DestinationsOptions {
  /** Returns the address policy of the instance. Called after the instance has been loaded. */
  readonly addressPolicyOf: (instanceId: string) => AddressPolicy;
  /** Egress proxy. If absent, connections are direct. */
  readonly egressProxy?: Pick<EgressProxyOptions, 'url' | 'ca'>;
  readonly log: Log;
  /** Assigns instances to the accounts that share the reply memory. If absent, all instances belong to one account. */
  readonly owners?: InstanceOwners;
  /** Memory for replies. If absent, a separate budget is created. */
  readonly replies?: ReplyBudget;
  /** Creates a connection; replaced in tests. */
  readonly connectOnce?: buildConnector.connector;
}

/** Maximum number of cached URLs. */
const MAX_TARGETS = 1_000;

export class Destinations {
  private readonly options: DestinationsOptions;
  private readonly connections: Connections;
  private readonly targets = new Map<string, TargetVerdict>();
  private readonly blockedLog: ThrottledLog;
  private readonly replyBudget: ReplyBudget;
  private isClosed = false;

  constructor(options: DestinationsOptions) {
    this.options = options;
    const { log, egressProxy, connectOnce } = options;
    const proxy = egressProxy ? createEgressProxy({ ...egressProxy, connectTimeoutMs: CONNECT_TIMEOUT_MS, log }) : null;
    this.connections = new Connections(log, { egressProxy: proxy, ...(connectOnce ? { connectOnce } : {}) });
    this.blockedLog = new ThrottledLog(options.log, 'did not send a delivery to a blocked address');
    const { maxReplyBytesInMemory: maxBytes, maxReplyBytes } = LIMITS;
    this.replyBudget = options.replies ?? new ReplyBudget({ maxBytes, maxReplyBytes }, options.owners ?? ONE_OWNER);
  }

  /** Parses a URL and checks what the address policy can decide without resolving the name. */
  targetOf(instanceId: string, url: string): TargetVerdict {
    const policy = this.options.addressPolicyOf(instanceId);
    const key = `${policy.scope} ${url}`;
    const cachedVerdict = this.targets.get(key);
    if (cachedVerdict) return cachedVerdict;
    const verdict = verdictOf(policy, url);
    if (this.targets.size >= MAX_TARGETS) this.targets.clear();
    this.targets.set(key, verdict);
    return verdict;
  }

  /**
   * Performs one exchange with a target. An incomplete response is a failure, except one over the limit. Rejects with
   * NotAttemptedError if no file descriptor was free before the timeout.
   */
  async send(instanceId: string, target: Target, request: ExchangeRequest, signal: AbortSignal): Promise<DestinationOutcome> {
    if (this.isClosed) return failureWithoutResponse('network', 'the server is stopping');
    const startedAt = performance.now();
    const lookupFailure = await this.lookUp(target, instanceId, request.timeoutMs, signal);
    const timeoutMs = Math.max(1, request.timeoutMs - (performance.now() - startedAt));
    const outcome = lookupFailure ?? (await this.exchange(instanceId, target, { ...request, timeoutMs }, signal));
    switch (outcome.kind) {
      case 'response':
      case 'too-long':
        return outcome;
      case 'timed-out':
        return failureWithoutResponse('timeout', `the endpoint did not respond within ${request.timeoutMs} ms`);
      case 'aborted':
        return failureWithoutResponse('network', 'the request was aborted');
      case 'broken':
        return this.brokenOutcome(instanceId, outcome.error, target.host);
    }
  }

  /** Looks up a name within the share of the instance's account. Returns null if the name is known. */
  private async lookUp(
    { name, policy, origin }: Target,
    instanceId: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Extract<ExchangeOutcome, { readonly kind: 'broken' | 'timed-out' | 'aborted' }> | null> {
    if (name === null || this.connections.isProxied(policy, origin)) return null;
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const lookup = policy.resolve(name, instanceId);
      const resolution = lookup instanceof Promise ? await withTimeout(lookup, deadline - performance.now(), signal) : lookup;
      if (resolution === 'timed-out' || resolution === 'aborted') return { kind: resolution };
      if (resolution.kind === 'found') return null;
      if (!resolution.error.isShortage) return { kind: 'broken', error: resolution.error };
      this.connections.logShortage(resolution.error.code);
      if (performance.now() + SHORTAGE_RETRY_MS >= deadline) throw noDescriptorError();
      const pauseResult = await withTimeout(new Promise<never>(() => {}), SHORTAGE_RETRY_MS, signal);
      if (pauseResult === 'aborted') return { kind: pauseResult };
    }
  }

  private async exchange(
    instanceId: string,
    target: Target,
    request: ExchangeRequest,
    signal: AbortSignal,
  ): Promise<ExchangeOutcome> {
    const { pool, release } = this.connections.acquire(target.policy, target.origin);
    let wasSent = false;
    const onSent = (): void => {
      wasSent = true;
      request.onSent?.();
    };
    try {
      const replyBytes = this.replyBudget.open(instanceId, request.maxResponseBytes);
      const outcome = await exchange(pool, { ...request, onSent }, replyBytes, signal);
      if (outcome.kind === 'timed-out' && !wasSent && this.connections.isWaitingForDescriptor(target.origin))
        throw noDescriptorError();
      return outcome;
    } finally {
      release();
    }
  }

  /** Returns the failure for a request to an address that is not allowed. */
  blockedOutcome(instanceId: string, { message, detail }: Pick<BlockedAddress, 'message' | 'detail'>): FailedOutcome {
    this.blockedLog.warn({ instanceId, reason: detail });
    this.options.log.debug({ instanceId, reason: detail }, 'blocked address');
    return failureWithoutResponse('blocked-address', message, NEVER);
  }

  /** Aborts requests in progress and prevents new ones. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.connections.close();
  }

  private brokenOutcome(instanceId: string, error: Error, host: string): FailedOutcome {
    if (error instanceof BlockedAddressError) return this.blockedOutcome(instanceId, error);
    if (networkErrorCode(error) === 'UND_ERR_CONNECT_TIMEOUT') {
      return failureWithoutResponse('timeout', `could not reach ${host}: no connection within ${CONNECT_TIMEOUT_MS} ms`);
    }
    return failureWithoutResponse('network', describeNetworkError(error, host));
  }
}

function verdictOf(policy: AddressPolicy, url: string): TargetVerdict {
  const verdict = policy.check(url);
  if (!verdict.ok) return verdict;
  if (!URL.canParse(url)) return { ok: false, message: 'the URL is invalid', detail: 'the URL is invalid' };
  const { origin, host, hostname, pathname, search } = new URL(url);
  const name = isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : null;
  return { ok: true, target: { policy, url: headerValueOfUrl(url), origin, host, name, path: pathname + search } };
}
