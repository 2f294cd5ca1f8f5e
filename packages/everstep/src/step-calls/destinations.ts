/** Where requests go: judged by the address policy, over connections that all who send requests share. */
import { isIP } from 'node:net';
import type { buildConnector } from 'undici';
import { LIMITS } from '../config/limits.js';
import { headerValueOfUrl } from '../dialects/header-text.js';
import { type InstanceOwners, ONE_OWNER } from '../ports/instance-owners.js';
import type { Log } from '../ports/log.js';
import { NotAttemptedError } from '../ports/not-attempted.js';
import { PeriodicLog } from '../ports/periodic-log.js';
import { type AddressPolicy, type Blocked, BlockedAddressError } from './address-policy.js';
import { CONNECT_TIMEOUT_MS, Connections, SHORTAGE_RETRY_MS } from './connections.js';
import { createEgressProxy, type EgressProxyOptions } from './egress-proxy.js';
import { type ExchangeOutcome, type ExchangeRequest, exchange } from './exchange.js';
import { type FailedAnswer, failureWithoutAnswer } from './failed-answer.js';
import { describeNetworkError, networkErrorCode } from './network-errors.js';
import { ReplyBudget } from './reply-budget.js';

const NEVER = { kind: 'never' } as const;

const noDescriptor = (): NotAttemptedError => new NotAttemptedError('this process has no free file descriptor');

/** What it resolves with, unless the time is up or it is given up before. */
function within<Value>(work: Promise<Value>, timeoutMs: number, signal: AbortSignal): Promise<Value | 'timed-out' | 'given-up'> {
  if (signal.aborted) return Promise.resolve('given-up');
  return new Promise((resolve) => {
    const end = (value: Value | 'timed-out' | 'given-up'): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      resolve(value);
    };
    const giveUp = (): void => end('given-up');
    const timer = setTimeout(() => end('timed-out'), Math.max(0, timeoutMs));
    signal.addEventListener('abort', giveUp);
    void work.then(end);
  });
}

export interface Target {
  /** Of the instance that the request is for. */
  readonly policy: AddressPolicy;
  /** As the signature and headers have it. */
  readonly url: string;
  readonly origin: string;
  readonly host: string;
  /** Null where the host is an address. */
  readonly name: string | null;
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
  /** Who shares the memory for replies; absent: everything belongs to one instance. */
  readonly owners?: InstanceOwners;
  /** Makes a connection; replaced in tests. */
  readonly connectOnce?: buildConnector.connector;
}

/** URLs whose parts are kept; beyond it they are read again. */
const MAX_TARGETS = 1_000;

export class Destinations {
  private readonly options: DestinationsOptions;
  private readonly connections: Connections;
  private readonly targets = new Map<string, TargetVerdict>();
  private readonly blockedLog: PeriodicLog;
  private readonly replies: ReplyBudget;
  private closed = false;

  constructor(options: DestinationsOptions) {
    this.options = options;
    const { log, egressProxy, connectOnce } = options;
    const proxy = egressProxy ? createEgressProxy({ ...egressProxy, connectTimeoutMs: CONNECT_TIMEOUT_MS, log }) : null;
    this.connections = new Connections(log, { egressProxy: proxy, ...(connectOnce ? { connectOnce } : {}) });
    this.blockedLog = new PeriodicLog(options.log, 'refused a delivery to a blocked address');
    const { maxReplyBytesInMemory: maxBytes, maxReplyBytes } = LIMITS;
    this.replies = new ReplyBudget({ maxBytes, maxReplyBytes }, options.owners ?? ONE_OWNER);
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

  /**
   * One exchange with a target. Without a whole answer it is a failure, unless the answer is too long. Rejects with
   * NotAttemptedError when the time was up before this process had a free file descriptor.
   */
  async ask(instanceId: string, target: Target, request: ExchangeRequest, signal: AbortSignal): Promise<AskedOutcome> {
    if (this.closed) return failureWithoutAnswer('network', 'the service is stopping');
    const startedAt = performance.now();
    const unknown = await this.lookUp(target, instanceId, request.timeoutMs, signal);
    const timeoutMs = Math.max(1, request.timeoutMs - (performance.now() - startedAt));
    const outcome = unknown ?? (await this.exchange(instanceId, target, { ...request, timeoutMs }, signal));
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

  /** Whoever looks up a name on behalf of an instance waits for its share, and not for those of others. Null: it is known. */
  private async lookUp(
    { name, policy, origin }: Target,
    instanceId: string,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Extract<ExchangeOutcome, { readonly kind: 'broken' | 'timed-out' | 'given-up' }> | null> {
    if (name === null || this.connections.isProxied(policy, origin)) return null;
    const until = performance.now() + timeoutMs;
    for (;;) {
      const resolving = policy.resolve(name, instanceId);
      const resolved = resolving instanceof Promise ? await within(resolving, until - performance.now(), signal) : resolving;
      if (resolved === 'timed-out' || resolved === 'given-up') return { kind: resolved };
      if (resolved.kind === 'found') return null;
      if (!resolved.error.isShortage) return { kind: 'broken', error: resolved.error };
      this.connections.noteShortage(resolved.error.code);
      if (performance.now() + SHORTAGE_RETRY_MS >= until) throw noDescriptor();
      const paused = await within(new Promise<never>(() => {}), SHORTAGE_RETRY_MS, signal);
      if (paused === 'given-up') return { kind: paused };
    }
  }

  private async exchange(
    instanceId: string,
    target: Target,
    request: ExchangeRequest,
    signal: AbortSignal,
  ): Promise<ExchangeOutcome> {
    const { pool, release } = this.connections.acquire(target.policy, target.origin);
    let hasLeft = false;
    const onLeave = (): void => {
      hasLeft = true;
      request.onLeave?.();
    };
    try {
      const bytes = this.replies.open(instanceId, request.maxAnswerBytes);
      const outcome = await exchange(pool, { ...request, onLeave }, bytes, signal);
      if (outcome.kind === 'timed-out' && !hasLeft && this.connections.isShort(target.origin)) throw noDescriptor();
      return outcome;
    } finally {
      release();
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
  const { origin, host, hostname, pathname, search } = new URL(url);
  const name = isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? hostname : null;
  return { ok: true, target: { policy, url: headerValueOfUrl(url), origin, host, name, path: pathname + search } };
}
