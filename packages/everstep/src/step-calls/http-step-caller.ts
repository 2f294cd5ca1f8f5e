/** Steps over HTTP: one signed POST to the workflow URL per step, the outcome in its answer. */
import { LIMITS } from '../config/limits.js';
import { DIALECTS } from '../dialects/index.js';
import type { Log } from '../ports/log.js';
import type { Random } from '../ports/random.js';
import type { StepAnswer, StepCall, StepCaller } from '../ports/step-caller.js';
import { type AddressPolicy, BlockedAddressError } from './address-policy.js';
import { answerTooLong, classifyAnswer, failureWithoutAnswer } from './classify.js';
import { CONNECT_TIMEOUT_MS, Connections } from './connections.js';
import { type ExchangeOutcome, exchange } from './exchange.js';
import { describeNetworkError, networkErrorCode } from './network-errors.js';
import { forwardedPairs, headerValueOfUrl, requestHeaders } from './request-headers.js';
import { signRequest } from './signature.js';
import { SERVICE_VERSION } from './version.js';

const USER_AGENT = `Everstep/${SERVICE_VERSION}`;
const NEVER = { kind: 'never' } as const;
/** Workflow URLs whose parts are kept; beyond it they are read again. */
const MAX_TARGETS = 1_000;

export interface HttpStepCallerOptions {
  /** Signing keys of an instance: they always exist. Throws when it does not know the instance. */
  readonly signingKeys: (instanceId: string) => { readonly current: string; readonly next: string };
  readonly addressPolicy: AddressPolicy;
  /** Unix ms. */
  readonly now: () => number;
  readonly random: Random;
  readonly log: Log;
}

type Target =
  | { readonly ok: true; readonly url: string; readonly origin: string; readonly host: string; readonly path: string }
  | { readonly ok: false; readonly message: string };

class HttpStepCaller implements StepCaller {
  private readonly options: HttpStepCallerOptions;
  private readonly connections: Connections;
  private readonly targets = new Map<string, Target>();
  /** A run's headers are one object for all its calls, so they are sifted once. */
  private readonly forwarded = new WeakMap<Readonly<Record<string, string>>, readonly string[]>();
  private closed = false;

  constructor(options: HttpStepCallerOptions) {
    this.options = options;
    this.connections = new Connections(options.addressPolicy);
  }

  async call(call: StepCall, signal: AbortSignal): Promise<StepAnswer> {
    try {
      return await this.deliver(call, signal);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      this.options.log.error({ workflowUrl: call.workflowUrl, error: words }, 'a step call could not be made');
      return failureWithoutAnswer('network', `the call could not be made: ${words}`);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.connections.close();
  }

  private async deliver(call: StepCall, signal: AbortSignal): Promise<StepAnswer> {
    if (this.closed) return failureWithoutAnswer('network', 'the service is stopping');
    const target = this.targetOf(call.workflowUrl);
    if (!target.ok) return this.blocked(call, target.message);
    const { options } = this;
    const { prefix } = DIALECTS[call.dialect];
    const body = Buffer.from(JSON.stringify(call.request));
    const signature = signRequest({
      key: options.signingKeys(call.instanceId).current,
      url: target.url,
      body,
      now: options.now(),
      random: options.random,
    });
    const headers = requestHeaders({
      request: call.request,
      url: target.url,
      prefix,
      forwarded: this.forwardedOf(call.forwardHeaders, prefix),
      userAgent: USER_AGENT,
      signature,
    });
    const { pool, release } = this.connections.acquire(target.origin);
    let outcome: ExchangeOutcome;
    try {
      const { timeoutMs } = call;
      outcome = await exchange(
        pool,
        { path: target.path, headers, body, timeoutMs, maxAnswerBytes: LIMITS.maxReplyBytes },
        signal,
      );
    } finally {
      release();
    }
    switch (outcome.kind) {
      case 'answered':
        return classifyAnswer(outcome.answer, { call, prefix, now: options.now() });
      case 'too-long':
        return answerTooLong(outcome.answer);
      case 'timed-out':
        return failureWithoutAnswer('timeout', `the endpoint did not answer within ${call.timeoutMs} ms`);
      case 'given-up':
        return failureWithoutAnswer('network', 'given up');
      case 'broken':
        return this.broken(call, outcome.error, target.host);
    }
  }

  private broken(call: StepCall, error: Error, host: string): StepAnswer {
    if (error instanceof BlockedAddressError) return this.blocked(call, error.message);
    if (networkErrorCode(error) === 'UND_ERR_CONNECT_TIMEOUT') {
      return failureWithoutAnswer('timeout', `could not reach ${host}: no connection within ${CONNECT_TIMEOUT_MS} ms`);
    }
    return failureWithoutAnswer('network', describeNetworkError(error, host));
  }

  private blocked(call: StepCall, message: string): StepAnswer {
    this.options.log.warn({ instanceId: call.instanceId, reason: message }, 'a delivery to a blocked address was refused');
    return failureWithoutAnswer('blocked-address', message, NEVER);
  }

  private targetOf(workflowUrl: string): Target {
    const known = this.targets.get(workflowUrl);
    if (known) return known;
    const verdict = this.options.addressPolicy.check(workflowUrl);
    let target: Target = verdict.ok ? { ok: false, message: 'the workflow URL cannot be read' } : verdict;
    if (verdict.ok) {
      const { origin, host, pathname, search } = new URL(workflowUrl);
      target = { ok: true, url: headerValueOfUrl(workflowUrl), origin, host, path: pathname + search };
    }
    if (this.targets.size >= MAX_TARGETS) this.targets.clear();
    this.targets.set(workflowUrl, target);
    return target;
  }

  private forwardedOf(headers: Readonly<Record<string, string>>, prefix: string): readonly string[] {
    const known = this.forwarded.get(headers);
    if (known) return known;
    const pairs = forwardedPairs(headers, prefix);
    this.forwarded.set(headers, pairs);
    return pairs;
  }
}

/** The caller keeps connections open until `close`. */
export function createHttpStepCaller(options: HttpStepCallerOptions): StepCaller {
  return new HttpStepCaller(options);
}
