/** Client of the runtime API. */
import type { Duration } from '../duration.js';
import { NATIVE_PREFIX } from '../protocol.js';
import { configured } from './configuration.js';
import type {
  EventWaiterPage,
  InstanceSettings,
  InstanceSettingsUpdate,
  NotifiedWaiter,
  SignatureSettings,
  SignatureSettingsUpdate,
  SigningKeyPair,
  Waiter,
} from './control-types.js';
import { DeadLetters } from './dead-letters.js';
import { type NotifyEvent, notifyCall } from './events.js';
import { Destinations, FlowControl } from './flow-control.js';
import { Live } from './live.js';
import { withRegion } from './region.js';
import { Repairs } from './repairs.js';
import { type RunLogOptions, Runs } from './runs.js';
import { Schedules } from './schedules.js';
import { durationText, type TriggerOptions, triggerBody, triggerHeaders } from './settings.js';
import { type Call, callApi, type TransportOptions } from './transport.js';
import type { BatchItemResult, RunLogEntry, RunResult, RunUnderWay, TriggeredRun } from './types.js';

export interface ClientOptions {
  /** Default: EVERSTEP_URL. */
  readonly baseUrl?: string;
  /** Default: EVERSTEP_TOKEN. */
  readonly token?: string;
  /** Put into the host of the base URL as its first label: `https://eu-central-1.example.com`. */
  readonly region?: string;
  readonly fetch?: typeof fetch;
}

export interface BatchItem extends Omit<TriggerOptions, 'body' | 'waitForResult' | 'signal'> {
  readonly workflowUrl: string;
  /** Text is sent as it is, everything else as JSON. A batch carries no bytes. */
  readonly body?: unknown;
}

export class Client {
  readonly runs: Runs;
  readonly dlq: DeadLetters;
  readonly repairs: Repairs;
  readonly flowControl: FlowControl;
  readonly destinations: Destinations;
  readonly schedules: Schedules;
  /** What goes on right now. */
  readonly live: Live;
  /** Settings of the queue instance. */
  readonly settings: {
    readonly get: () => Promise<InstanceSettings>;
    /** What is absent stays as it is. Resolves with all of them. */
    readonly update: (update: InstanceSettingsUpdate) => Promise<InstanceSettings>;
  };
  readonly keys: {
    /** The keys that the service signs with. */
    readonly get: () => Promise<SigningKeyPair>;
    /** The next key becomes the current one, and a new next one is made. */
    readonly rotate: () => Promise<SigningKeyPair>;
  };
  /** What signatures go by: origins, message keys and public keys. */
  readonly signatures: {
    readonly get: () => Promise<SignatureSettings>;
    /** What is absent stays as it is. Resolves with all of it. */
    readonly update: (update: SignatureSettingsUpdate) => Promise<SignatureSettings>;
    /** The next key pair becomes the current one, and a new next one is made. */
    readonly rotate: () => Promise<SignatureSettings>;
  };
  private readonly call: <T>(call: Call) => Promise<T>;

  /** Throws EverstepError without a base URL or token, TypeError for a malformed base URL, RangeError for a region that its host cannot carry. */
  constructor(options: ClientOptions = {}) {
    const given = configured(options.baseUrl, 'baseUrl', 'EVERSTEP_URL');
    const baseUrl = options.region === undefined ? new URL(given).toString() : withRegion(given, options.region);
    const transport: TransportOptions = {
      baseUrl: baseUrl.replace(/\/+$/, ''),
      authorization: `Bearer ${configured(options.token, 'token', 'EVERSTEP_TOKEN')}`,
      // Looked up at each call, so that tracing and test doubles that replace the global one see the calls.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    };
    // The shapes of the answers are the word of the service; a test of the service holds it to them.
    const call = async <T>(one: Call) => (await callApi(transport, one)) as T;
    this.call = call;
    this.runs = new Runs(call);
    this.dlq = new DeadLetters(call);
    this.repairs = new Repairs(call);
    this.flowControl = new FlowControl(call);
    this.destinations = new Destinations(call);
    this.schedules = new Schedules(call);
    this.live = new Live(transport);
    const put = <T>(path: string, update: object): Promise<T> =>
      call({ method: 'PUT', path, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(update) });
    this.settings = {
      get: () => call({ method: 'GET', path: '/v2/settings' }),
      update: (update) => put('/v2/settings', update),
    };
    this.keys = {
      get: () => call({ method: 'GET', path: '/v2/keys' }),
      rotate: () => call({ method: 'POST', path: '/v2/keys/rotate' }),
    };
    this.signatures = {
      get: () => call({ method: 'GET', path: '/v2/signatures' }),
      update: (update) => put('/v2/signatures', update),
      rotate: () => call({ method: 'POST', path: '/v2/signatures/rotate' }),
    };
  }

  /** Starts a run; resolves once it is durable. With `waitForResult`, resolves when it has ended or the wait is over. */
  trigger<Result = unknown>(
    workflowUrl: string,
    options: TriggerOptions & { readonly waitForResult: true | Duration },
  ): Promise<RunResult<Result> | RunUnderWay>;
  trigger(workflowUrl: string, options?: TriggerOptions & { readonly waitForResult?: undefined }): Promise<TriggeredRun>;
  trigger(workflowUrl: string, options?: TriggerOptions): Promise<TriggeredRun | RunResult | RunUnderWay>;
  async trigger(workflowUrl: string, options: TriggerOptions = {}): Promise<TriggeredRun | RunResult | RunUnderWay> {
    const { waitForResult, signal } = options;
    const headers = triggerHeaders(options);
    if (waitForResult !== undefined) {
      headers[`${NATIVE_PREFIX}Wait-For-Result`] = waitForResult === true ? 'true' : durationText(waitForResult);
    }
    const body = triggerBody(options.body);
    return this.call({
      method: 'POST',
      path: `/v2/trigger/${encodeURIComponent(workflowUrl)}`,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    });
  }

  /** Starts several runs in one request. Each is answered in its place; one that is refused does not stop the others. */
  async triggerMany(items: readonly BatchItem[]): Promise<readonly BatchItemResult[]> {
    const batch = items.map(({ workflowUrl, ...options }) => {
      const body = triggerBody(options.body);
      if (body instanceof Uint8Array)
        throw new TypeError('a batch carries text and JSON only; trigger runs with bytes one by one');
      return { destination: workflowUrl, headers: triggerHeaders(options), ...(body === undefined ? {} : { body }) };
    });
    const headers = { 'Content-Type': 'application/json' };
    return this.call({ method: 'POST', path: '/v2/batch/trigger', headers, body: JSON.stringify(batch) });
  }

  /** All runs of the log, newest first. The same as `runs.entries`. */
  logs(filter: RunLogOptions = {}): AsyncGenerator<RunLogEntry, void, undefined> {
    return this.runs.entries(filter);
  }

  /** Notifies every run that waits for the event, or the run that is named. Resolves with those who were notified. */
  async notify(event: NotifyEvent): Promise<readonly NotifiedWaiter[]> {
    return this.call(notifyCall(event));
  }

  /** The runs that wait for the event, longest first; at most 1,000. */
  waiters(eventId: string): Promise<readonly Waiter[]> {
    return this.call({ method: 'GET', path: `/v2/waiters/${encodeURIComponent(eventId)}` });
  }

  /** All that waits for events, by event id; 100 a page unless `count` says otherwise, at most 1,000. */
  allWaiters(
    options: { readonly workflowUrl?: string; readonly count?: number; readonly cursor?: string } = {},
  ): Promise<EventWaiterPage> {
    return this.call({ method: 'GET', path: '/v2/waiters', query: options });
  }
}
