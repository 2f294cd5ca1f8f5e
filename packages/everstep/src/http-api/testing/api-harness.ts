/**
 * The API with a real runtime and a real store in memory. Only the workflow endpoints are simulated. The path of an endpoint
 * determines its behavior: `/ok` ends immediately, `/fail` fails permanently, `/throws` fails in a step, `/hang` never responds,
 * `/steps` runs two steps, `/fan` plans three parallel steps, the first of which fails, `/wait` waits for an event, `/hook`
 * waits for its webhook, `/call` makes a call, and `/invoke` invokes `/ok`. Plain messages are simulated too.
 */
import assert from 'node:assert/strict';
import { text as readText } from 'node:stream/consumers';
import type { JournalEntry, PlannedStep, ProgressReply, WebhookOutcome } from '@everstep/sdk/protocol';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import type { AccountService } from '../../accounts/account-service.js';
import { recordPrices } from '../../accounts/budgets/prices.js';
import { createLimits, type Limits } from '../../accounts/plans/limits.js';
import { BUILT_IN_PLANS, type Plans } from '../../accounts/plans/plans.js';
import { Refusals } from '../../accounts/plans/refusals.js';
import { createAccountService } from '../../accounts/service.js';
import { type Authority, createAuthority } from '../../accounts/tokens/authority.js';
import { AuditRecords } from '../../audit/audit-records.js';
import { createSystemClock } from '../../clock/system-clock.js';
import { createSystemRandom } from '../../clock/system-random.js';
import type { RunJournal, TriggeredRun } from '../../contract/runs.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Message, MessageOutcome, MessageSender } from '../../ports/message-sender.js';
import type { ReplayCheck, ReplayVerdict, StepCall, StepCaller, StepOutcome } from '../../ports/step-caller.js';
import type { Store } from '../../ports/stores/store.js';
import { createRuntime, type Runtime } from '../../runtime/runtime.js';
import type { SearchService } from '../../search/search-service.js';
import { createSearchService } from '../../search/service.js';
import type { SignIn } from '../../sign-in/sign-in.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { openSearchDocuments } from '../../stores/sqlite/search/index.js';
import { WorkerPools } from '../../worker-connections/worker-pools.js';
import { WorkerStepCaller } from '../../worker-connections/worker-step-caller.js';
import { createHttpApi, type HttpApi, type HttpApiDependencies } from '../index.js';
import type { Method } from '../operation.js';
import { UPSTASH_API } from '../upstash/index.js';
import { checkResponse } from './openapi-check.js';
import { thrownReply } from './thrown-reply.js';

export const EVENT_ID = 'order/paid 1';
const FAILURE_BODY = Buffer.from('out of stock');

/** Identity provider without users. */
const SIMULATED_SIGN_IN: SignIn = {
  begin: async () => ({ kind: 'started', url: 'https://id.test/authorize', cookie: 'sealed' }),
  finish: async () => ({ kind: 'failed', error: 'sso-unknown-user' }),
  logoutUrl: () => null,
};

export interface LoggedLine {
  readonly level: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly message: string;
}

function recordingLog(lines: LoggedLine[]): Log {
  const at = (level: string) => (details: Readonly<Record<string, unknown>>, message: string) => {
    lines.push({ level, details, message });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

const failure = (retry: 'backoff' | 'never', message: string): StepOutcome => ({
  kind: 'failure',
  failure: {
    cause: 'http',
    message,
    status: 500,
    responseHeaders: { 'x-reason': ['stock'], 'set-cookie': ['a=1', 'b=2'] },
    responseBody: FAILURE_BODY,
    retry: { kind: retry },
  },
});

function reply(call: StepCall, part: Partial<ProgressReply>): StepOutcome {
  const base = call.request.journal.length;
  const progress: ProgressReply = { protocol: 1, kind: 'progress', base, done: [], advanced: true, planned: [], ...part };
  return { kind: 'reply', reply: progress, status: 200, responseHeaders: {}, responseBody: new Uint8Array() };
}

/** Returns the next step of a workflow whose steps are completed externally; null when all are completed. */
function nextPlannedStep(pathname: string, entries: readonly JournalEntry[]): PlannedStep | null {
  const stepId = entries.length + 1;
  switch (`${pathname} ${stepId}`) {
    case '/wait 1':
      return { stepId, name: 'paid', type: 'Wait', eventIds: [EVENT_ID], timeoutMs: 3_600_000 };
    case '/hook 1':
      return { stepId, name: 'make', type: 'CreateWebhook' };
    case '/hook 2': {
      const { eventId }: WebhookOutcome = JSON.parse(entries[0]?.out ?? '{}');
      return { stepId, name: 'called', type: 'WaitForWebhook', eventIds: [eventId], timeoutMs: 3_600_000 };
    }
    case '/refused-call 1': {
      const call = { url: 'http://c.test/refuse', method: 'PUT', headers: { 'x-key': 'secret-of-a-header' } };
      return { stepId, name: 'pay', type: 'Call', call: { ...call, retries: 1, retryDelay: '0' } };
    }
    case '/late-call 1': {
      const call = { url: 'http://c.test/late', method: 'PUT', headers: { 'x-key': 'secret-of-a-header' } };
      return { stepId, name: 'pay', type: 'Call', call: { ...call, retries: 1, retryDelay: '0' } };
    }
    case '/call 1':
      return { stepId, name: 'pay', type: 'Call', call: { url: 'http://c.test/pay', method: 'PUT', headers: {} } };
    case '/hang-call 1':
      return { stepId, name: 'pay', type: 'Call', call: { url: 'http://c.test/hang', method: 'PUT', headers: {} } };
    case '/invoke 1':
      return { stepId, name: 'child', type: 'Invoke', invoke: { workflowUrl: 'http://w.test/ok', headers: {} } };
    default:
      return null;
  }
}

const sentRequestFor = (method: string, url: string, headers: Readonly<Record<string, string>>) => ({
  startedAt: Date.UTC(2026, 0),
  durationMs: 5,
  method,
  url,
  headers: ['Authorization', 'Bearer hush', ...Object.entries(headers).flat()],
  bodyBytes: 17,
  body: method === 'POST' && url.startsWith('http://w.test/') ? null : Buffer.from('{"iban":"secret-of-a-call"}'),
  responseBytes: 12,
});

/** Simulates endpoints and records their calls. */
export class SimulatedEndpoints implements StepCaller {
  readonly calls: StepCall[] = [];
  /** Results of replay checks by path. Default: the run fits. */
  readonly verdicts = new Map<string, ReplayVerdict>();

  async check({ workflowUrl }: ReplayCheck): Promise<ReplayVerdict> {
    return this.verdicts.get(new URL(workflowUrl).pathname) ?? { outcome: 'fits', message: 'simulated' };
  }

  async call(call: StepCall, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    this.calls.push(call);
    onSent?.();
    const outcome = await this.simulate(call, signal);
    const sent = sentRequestFor('POST', call.workflowUrl, call.forwardHeaders);
    return outcome.kind === 'failure' ? { kind: 'failure', failure: { ...outcome.failure, sent } } : { ...outcome, sent };
  }

  private async simulate(call: StepCall, signal: AbortSignal): Promise<StepOutcome> {
    const { pathname } = new URL(call.workflowUrl);
    const { target, journal } = call.request;
    switch (pathname) {
      case '/ok':
        return reply(call, { end: { kind: 'finished', result: JSON.stringify({ got: call.request.input?.body.data ?? null }) } });
      case '/fail':
        return failure('never', 'the endpoint returned 500');
      case '/throws':
        return thrownReply(call);
      case '/retry':
        return call.request.retried === 0 ? failure('backoff', 'not yet') : reply(call, { end: { kind: 'finished' } });
      case '/steps': {
        const stepId = journal.length + 1;
        if (stepId === 3) return reply(call, { end: { kind: 'finished', result: '"done"' } });
        return reply(call, { done: [{ stepId, name: `step ${stepId}`, type: 'Run', out: String(stepId) }], advanced: false });
      }
      case '/wait':
      case '/hook':
      case '/call':
      case '/refused-call':
      case '/late-call':
      case '/hang-call':
      case '/invoke': {
        const planned = nextPlannedStep(pathname, journal.entries);
        if (planned) return reply(call, { planned: [planned] });
        return reply(call, { end: { kind: 'finished', result: journal.entries.at(-1)?.out ?? 'null' } });
      }
      case '/fan': {
        if (target === null && journal.length === 0) {
          const planned = [1, 2].map((stepId) => ({ stepId, name: `branch ${stepId}`, type: 'Run' as const }));
          return reply(call, { planned: [...planned, { stepId: 3, name: 'nap', type: 'SleepFor', sleepMs: 3_600_000 }] });
        }
        if (target === 1) return failure('backoff', 'branch 1 is not ready');
        if (target === 2) return reply(call, { done: [{ stepId: 2, name: 'branch 2', type: 'Run' }], advanced: false });
        return reply(call, {});
      }
      default:
        return new Promise<StepOutcome>((resolve) =>
          signal.addEventListener('abort', () => resolve(failure('backoff', 'given up'))),
        );
    }
  }

  async close(): Promise<void> {}
}

/**
 * Simulates receivers of messages and records the messages. `/hang` never responds, `/refuse` responds with 500, `/late` with 500
 * at every odd attempt, and all others with 200 and the simulated response.
 */
export class SimulatedReceivers implements MessageSender {
  readonly sent: Message[] = [];

  async send(message: Message, signal: AbortSignal, onSent?: () => void): Promise<MessageOutcome> {
    this.sent.push(message);
    onSent?.();
    const { pathname } = new URL(message.url);
    const headers = { 'content-type': ['application/json'], 'x-answer': ['secret-of-a-header'] };
    const body = Buffer.from('{"paid":true,"iban":"secret-of-a-field"}');
    const sent = sentRequestFor(message.method, message.url, message.headers);
    const isLateFailure = pathname === '/late' && this.sent.filter(({ url }) => url === message.url).length % 2 === 1;
    if (pathname !== '/hang')
      return { kind: 'response', status: isLateFailure || pathname === '/refuse' ? 500 : 200, headers, body, sent };
    return new Promise<MessageOutcome>((resolve) =>
      signal.addEventListener('abort', () => {
        const cause = { cause: 'network', message: 'given up', status: null, responseHeaders: {} } as const;
        resolve({ kind: 'failure', failure: { ...cause, responseBody: new Uint8Array(), retry: { kind: 'backoff' } } });
      }),
    );
  }
}

export interface ApiResponse<Body> {
  readonly status: number;
  readonly headers: LightMyRequestResponse['headers'];
  /** The body was validated against the OpenAPI document. */
  readonly body: Body;
}

export interface SentRequest extends InjectOptions {
  readonly method: NonNullable<InjectOptions['method']>;
  readonly url: string;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface ErrorResponse {
  readonly error: string;
}

export interface HarnessOptions {
  readonly plans?: Plans;
  /** Time of the accounts and of failed logins, in Unix ms. */
  readonly accountNow?: () => number;
}

export class ApiHarness {
  readonly store: Store;
  readonly authority: Authority;
  readonly runtime: Runtime;
  readonly api: HttpApi;
  readonly accounts: AccountService;
  readonly search: SearchService;
  readonly limits: Limits;
  readonly refusals: Refusals;
  readonly audit: AuditRecords;
  readonly endpoints: SimulatedEndpoints;
  readonly messages: SimulatedReceivers;
  /** The connected workers. Initially there are none. */
  readonly workers: { readonly pools: WorkerPools; readonly clock: Clock; readonly elapsedClock: Clock };
  readonly logged: readonly LoggedLine[];
  readonly token: string;
  readonly readOnlyToken: string;

  private constructor(parts: Omit<ApiHarness, 'call' | 'send' | 'trigger' | 'fail' | 'journalWhen' | 'close'>) {
    this.store = parts.store;
    this.authority = parts.authority;
    this.runtime = parts.runtime;
    this.api = parts.api;
    this.accounts = parts.accounts;
    this.search = parts.search;
    this.limits = parts.limits;
    this.refusals = parts.refusals;
    this.audit = parts.audit;
    this.endpoints = parts.endpoints;
    this.messages = parts.messages;
    this.workers = parts.workers;
    this.logged = parts.logged;
    this.token = parts.token;
    this.readOnlyToken = parts.readOnlyToken;
  }

  static async open(
    overrides: Partial<HttpApiDependencies> = {},
    { plans = BUILT_IN_PLANS, accountNow }: HarnessOptions = {},
  ): Promise<ApiHarness> {
    const store = await openSqliteStore({ file: ':memory:' });
    const clock = createSystemClock({ notBefore: 0 });
    const random = createSystemRandom();
    const lines: LoggedLine[] = [];
    const log = recordingLog(lines);
    const endpoints = new SimulatedEndpoints();
    for (const [instanceId, region] of [
      ['qi_1', 'eu-central-1'],
      ['qi_2', 'eu-central-1'],
      ['qi_us', 'us-east-1'],
    ] as const) {
      const keys = { currentSigningKey: `sig_current_${instanceId}`, nextSigningKey: `sig_next_${instanceId}` };
      await store.accounts.createInstance({ instanceId, region, name: 'test', createdAt: clock.now(), ...keys });
    }
    const authority = await createAuthority({ store, now: () => clock.now() });
    const messages = new SimulatedReceivers();
    const publicUrl = () => 'http://everstep.test';
    const now = () => clock.now();
    const refusals = new Refusals({ accounts: store.accounts, now, clock, log });
    await recordPrices({ accounts: store.accounts, plans, now, random });
    const limits: Limits = await createLimits({ accounts: store.accounts, plans, now, refusals });
    const pools = new WorkerPools(clock);
    const caller = new WorkerStepCaller({ pools, otherTransports: { stepCaller: endpoints, messageSender: messages }, now });
    const runtime = createRuntime({
      store,
      clock,
      random,
      stepCaller: caller,
      messageSender: caller,
      workers: pools,
      log,
      publicUrl,
      limits,
      owners: limits.owners,
    });
    await runtime.start();
    const accounts = createAccountService({
      accounts: store.accounts,
      authority,
      now: accountNow ?? now,
      random,
      plans,
      onInstanceChanged: (instanceId) => limits.forget(instanceId),
      onInstanceDeleted: (instanceId) =>
        Promise.all([limits.forget(instanceId), authority.forget(instanceId), runtime.deletedInstances.refresh()]),
      currentRefusals: (instanceId) => limits.currentRefusals(instanceId),
    });
    const search = createSearchService({
      accounts: store.accounts,
      indexes: store.searchIndexes,
      documents: openSearchDocuments({ directory: null }),
      now,
      random,
      log,
      publicUrl,
    });
    const audit = new AuditRecords({ accounts: store.accounts, now, clock, random, log });
    const api = createHttpApi({
      service: runtime,
      store,
      authority,
      accounts,
      search,
      limits,
      log,
      audit,
      version: '1.2.3',
      dashboard: null,
      signIn: SIMULATED_SIGN_IN,
      dialectOperations: UPSTASH_API,
      workers: { pools, clock, elapsedClock: clock },
      ...overrides,
    });
    const token = await authority.issueToken({ instanceId: 'qi_1', access: 'read-write' });
    const readOnlyToken = await authority.issueToken({ instanceId: 'qi_1', access: 'read-only' });
    return new ApiHarness({
      ...{ store, authority, runtime, api, accounts, search, limits, refusals, audit, endpoints, messages },
      ...{ workers: { pools, clock, elapsedClock: clock }, logged: lines, token, readOnlyToken },
    });
  }

  /** Sends a request and validates the response against the OpenAPI document if the operation exists. */
  async send<Body = ErrorResponse>(request: SentRequest): Promise<ApiResponse<Body>> {
    if (request.headers?.accept === 'text/event-stream') return this.openStream(request);
    const response = await this.api.inject(request);
    // Pages and styles are not part of a document.
    if (/^text\/(html|css)/.test(String(response.headers['content-type'])))
      return { status: response.statusCode, headers: response.headers, body: JSON.parse('null') };
    // Caches must not store responses, except public keys.
    const { 'cache-control': caching, 'x-content-type-options': sniffing } = response.headers;
    const isPublic = response.statusCode === 200 && request.url.startsWith('/v2/jwks/');
    const expectedCaching = isPublic ? 'public, max-age=300' : 'no-store';
    assert.deepEqual([caching, sniffing], [expectedCaching, 'nosniff'], `${request.method} ${request.url}`);
    const isLines = response.headers['content-type'] === 'application/x-ndjson';
    const json = isLines ? JSON.stringify(response.payload) : response.payload;
    const body: Body = json === '' ? undefined : JSON.parse(json);
    const apiResponse = { status: response.statusCode, headers: response.headers, body };
    checkResponse(request, apiResponse);
    return apiResponse;
  }

  /** Returns only the status and headers of a stream, because it would not end. */
  private async openStream<Body>(request: SentRequest): Promise<ApiResponse<Body>> {
    const response = await this.api.inject({ ...request, payloadAsStream: true });
    const stream = response.stream();
    assert.equal(response.headers['cache-control'], 'no-store');
    const isStream = String(response.headers['content-type']).startsWith('text/event-stream');
    if (isStream) stream.destroy();
    const body: Body = JSON.parse(isStream ? 'null' : await readText(stream));
    const apiResponse = { status: response.statusCode, headers: response.headers, body };
    if (!isStream) checkResponse(request, apiResponse);
    return apiResponse;
  }

  /** Sends a request with the read-write token. */
  call<Body = ErrorResponse>(method: Method, url: string, options: CallOptions = {}): Promise<ApiResponse<Body>> {
    const headers = { authorization: `Bearer ${this.token}`, ...options.headers };
    return this.send({ method, url, headers, ...(options.body === undefined ? {} : { payload: options.body }) });
  }

  /** Triggers a simulated endpoint and returns the run. */
  async trigger(
    endpoint: string,
    headers: Readonly<Record<string, string>> = {},
    body: string | Buffer = '',
  ): Promise<TriggeredRun> {
    const url = `/v2/trigger/http://w.test/${endpoint}`;
    const result = await this.call<TriggeredRun>('POST', url, { headers, body });
    assert.equal(result.status, 200, JSON.stringify(result.body));
    return result.body;
  }

  /** Creates dead letters one after the other and returns their ids in order. */
  async fail(count: number, headers: Readonly<Record<string, string>> = {}, endpoint = 'fail'): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) {
      const run = await this.trigger(endpoint, { 'svc-wait-for-result': 'true', ...headers });
      const { body } = await this.call<RunJournal>('GET', `/v2/workflows/runs/${run.workflowRunId}`);
      assert.ok(body.dlqId);
      ids.push(body.dlqId);
    }
    return ids;
  }

  /** Returns the journal of the run when it meets the condition. Waits in turns of the event loop, not in time. */
  async journalWhen(workflowRunId: string, isReached: (journal: RunJournal) => boolean): Promise<RunJournal> {
    for (let turn = 0; ; turn++) {
      const { body } = await this.call<RunJournal>('GET', `/v2/workflows/runs/${encodeURIComponent(workflowRunId)}`);
      if (isReached(body)) return body;
      assert.ok(turn < 1_000, `the run does not meet the condition: ${JSON.stringify(body)}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async close(): Promise<void> {
    const apiClosed = this.api.close();
    await this.runtime.stop({ graceMs: 0 });
    await apiClosed;
    await this.search.stop();
    await this.search.documents.close();
    await this.refusals.write();
    await this.audit.writeRefused();
    await this.store.close();
  }
}
