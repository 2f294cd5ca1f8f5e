/** Client of the runtime API. */
import type { Duration } from '../duration.js';
import { decryptAll, type EncryptionOptions } from '../encryption/envelope.js';
import { NATIVE_PREFIX } from '../protocol.js';
import { Alerts } from './alerts.js';
import { requireOption } from './configuration.js';
import { DeadLetters } from './dead-letters/dead-letters.js';
import { Repairs } from './dead-letters/repairs.js';
import { Destinations, FlowControl } from './flow-control.js';
import type {
  ActiveRun,
  EventWaiterPage,
  InstanceSettings,
  InstanceSettingsUpdate,
  NotifiedWaiter,
  RunLogEntry,
  RunResult,
  SignatureSettings,
  SignatureSettingsUpdate,
  SigningKeyPair,
  TriggeredRun,
  Waiter,
} from './generated/index.js';
import { Insights } from './insights.js';
import { Live } from './live.js';
import { withRegion } from './region.js';
import { type NotifyEvent, notifyCall } from './runs/events.js';
import { type RunLogOptions, Runs } from './runs/runs.js';
import { Schedules } from './schedules.js';
import { durationText, type TriggerOptions, triggerContent } from './settings.js';
import { type Call, callApi, type TransportOptions } from './transport.js';
import { Workers } from './workers.js';

/** Result of one item of a batch: the run, or an error. */
export type BatchItemResult = TriggeredRun | { readonly error: string };

/** Options of a `Client`. Missing options are read from the environment, except `encryption`. */
export interface ClientOptions extends EncryptionOptions {
  /** URL of the server. Default: EVERSTEP_URL. */
  readonly baseUrl?: string;
  /** Token of the queue instance. Default: EVERSTEP_TOKEN. */
  readonly token?: string;
  /** Region, which becomes the first label of the host in the base URL: `https://eu-central-1.example.com`. */
  readonly region?: string;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** One trigger of a batch. */
export interface BatchItem extends Omit<TriggerOptions, 'body' | 'waitForResult' | 'signal'> {
  /** URL of the workflow. */
  readonly workflowUrl: string;
  /** Body of the trigger. Text is sent as it is, everything else as JSON. A batch cannot contain bytes. */
  readonly body?: unknown;
}

const raise = (error: Error): never => {
  throw error;
};

/** Client of the runtime API. Methods reject with EverstepError if the server rejects the request or does not respond. */
export class Client {
  /** The run log, and operations on runs. */
  readonly runs: Runs;
  /** The dead letter queue. */
  readonly dlq: DeadLetters;
  /** Alert rules, destinations, lifecycle webhooks and alerts. */
  readonly alerts: Alerts;
  /** Repairs: bulk jobs over dead letters. */
  readonly repairs: Repairs;
  /** Flow control keys and their limits. */
  readonly flowControl: FlowControl;
  /** Destinations that are held or failing. */
  readonly destinations: Destinations;
  /** Schedules. */
  readonly schedules: Schedules;
  /** Changes as they happen, and the nodes of the installation. */
  readonly live: Live;
  /** Counters of runs over time, and what needs attention. */
  readonly insights: Insights;
  /** The connected workers. */
  readonly workers: Workers;
  /** Settings of the queue instance. */
  readonly settings: {
    /** Returns the settings. */
    readonly get: () => Promise<InstanceSettings>;
    /** Changes the specified settings and keeps the others. Returns all settings. */
    readonly update: (update: InstanceSettingsUpdate) => Promise<InstanceSettings>;
  };
  /** Signing keys of the queue instance. */
  readonly keys: {
    /** Returns the keys that sign requests of the server. */
    readonly get: () => Promise<SigningKeyPair>;
    /** Makes the next key the current one, and creates a new next key. */
    readonly rotate: () => Promise<SigningKeyPair>;
  };
  /** Settings of signatures: origins, message keys and public keys. */
  readonly signatures: {
    /** Returns the settings of signatures. */
    readonly get: () => Promise<SignatureSettings>;
    /** Changes the specified settings and keeps the others. Returns all settings. */
    readonly update: (update: SignatureSettingsUpdate) => Promise<SignatureSettings>;
    /** Makes the next key pair the current one, and creates a new next pair. */
    readonly rotate: () => Promise<SignatureSettings>;
  };
  private readonly call: <T>(call: Call) => Promise<T>;
  private readonly encryption: ClientOptions['encryption'];

  /**
   * Creates a client. Missing options are read from the environment.
   *
   * @throws {EverstepError} If the base URL or the token is missing.
   * @throws {TypeError} If the base URL is malformed.
   * @throws {RangeError} If the host of the base URL cannot contain a region.
   */
  constructor(options: ClientOptions = {}) {
    const { encryption } = options;
    const configuredUrl = requireOption(options.baseUrl, 'baseUrl', 'EVERSTEP_URL');
    const baseUrl = options.region === undefined ? new URL(configuredUrl).toString() : withRegion(configuredUrl, options.region);
    const transport: TransportOptions = {
      baseUrl: baseUrl.replace(/\/+$/, ''),
      authorization: `Bearer ${requireOption(options.token, 'token', 'EVERSTEP_TOKEN')}`,
      // Looked up at each call, so that tracing and test doubles that replace the global function see the calls.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    };
    // The server guarantees the shapes of its responses; a test of the server verifies them.
    const call = async <T>(apiCall: Call) => {
      const response = await callApi(transport, apiCall);
      return (encryption ? decryptAll(encryption, response, apiCall.mustDecrypt ? raise : () => {}) : response) as T;
    };
    this.call = call;
    this.encryption = encryption;
    this.runs = new Runs(call, options);
    this.dlq = new DeadLetters(call);
    this.alerts = new Alerts(call);
    this.repairs = new Repairs(call);
    this.flowControl = new FlowControl(call);
    this.destinations = new Destinations(call);
    this.schedules = new Schedules(call, options);
    this.live = new Live(transport);
    this.workers = new Workers(call);
    this.insights = new Insights(call);
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

  /**
   * Starts a run and resolves once it is durable. With `waitForResult`, resolves when the run has ended or the wait
   * time has elapsed.
   *
   * @throws {EverstepError} If the server rejects the request or does not respond.
   */
  trigger<Result = unknown>(
    workflowUrl: string,
    options: TriggerOptions & { readonly waitForResult: true | Duration },
  ): Promise<RunResult<Result> | ActiveRun>;
  trigger(workflowUrl: string, options?: TriggerOptions & { readonly waitForResult?: undefined }): Promise<TriggeredRun>;
  trigger(workflowUrl: string, options?: TriggerOptions): Promise<TriggeredRun | RunResult | ActiveRun>;
  async trigger(workflowUrl: string, options: TriggerOptions = {}): Promise<TriggeredRun | RunResult | ActiveRun> {
    const { waitForResult, signal } = options;
    const { headers, body } = triggerContent(options, this.encryption);
    if (waitForResult !== undefined) {
      headers[`${NATIVE_PREFIX}Wait-For-Result`] = waitForResult === true ? 'true' : durationText(waitForResult);
    }
    return this.call({
      method: 'POST',
      path: `/v2/trigger/${encodeURIComponent(workflowUrl)}`,
      headers,
      mustDecrypt: true,
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    });
  }

  /**
   * Starts several runs in one request. The results are in the order of the items. A rejected item does not affect
   * the others.
   *
   * @throws {TypeError} If the body of an item is bytes.
   */
  async triggerMany(items: readonly BatchItem[]): Promise<readonly BatchItemResult[]> {
    const batch = items.map(({ workflowUrl, ...options }) => {
      const content = triggerContent(options, this.encryption);
      if (content.body instanceof Uint8Array)
        throw new TypeError('a batch can contain only text and JSON; trigger runs with binary payloads one by one');
      return { destination: workflowUrl, ...content };
    });
    const headers = { 'Content-Type': 'application/json' };
    return this.call({ method: 'POST', path: '/v2/batch/trigger', headers, body: JSON.stringify(batch) });
  }

  /** Returns all runs of the log, newest first. Same as `runs.entries`. */
  logs(filter: RunLogOptions = {}): AsyncGenerator<RunLogEntry, void, undefined> {
    return this.runs.entries(filter);
  }

  /** Notifies every run that waits for the event, or only the run `workflowRunId`. Returns the notified runs. */
  async notify(event: NotifyEvent): Promise<readonly NotifiedWaiter[]> {
    return this.call(notifyCall(event, this.encryption));
  }

  /** Returns the runs that wait for the event, longest wait first; at most 1,000. */
  waiters(eventId: string): Promise<readonly Waiter[]> {
    return this.call({ method: 'GET', path: `/v2/waiters/${encodeURIComponent(eventId)}` });
  }

  /** Returns one page of all waits for events, ordered by event id. `count` is at most 1,000. Default: 100. */
  allWaiters(
    options: { readonly workflowUrl?: string; readonly count?: number; readonly cursor?: string } = {},
  ): Promise<EventWaiterPage> {
    return this.call({ method: 'GET', path: '/v2/waiters', query: options });
  }
}
