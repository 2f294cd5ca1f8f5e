/** Serves workflows over connections that the app opens to the service. The app needs no address of its own. */
import { configured } from '../client/configuration.js';
import type { Workflow } from '../context.js';
import type { WorkflowEndpoint } from '../endpoint.js';
import { EverstepError } from '../errors.js';
import { PROTOCOL_VERSION } from '../protocol.js';
import type { WorkflowHandler } from '../serve.js';
import { createServedWorkflow, type ServedWorkflow } from '../served-workflow.js';
import { CONNECT_PATH, CONNECTION_VERSION, type ConnectionNode, type HelloFrame } from './frames.js';
import { performWork } from './perform-work.js';
import { reconnectDelayMs } from './reconnect-delay.js';
import { type DrainSignal, onDrainSignal } from './signals.js';
import { type ConnectionEnd, type ConnectionEvents, type SocketConstructor, WorkerConnection } from './worker-connection.js';
import { MACHINE_TIME, type WorkerTime } from './worker-time.js';
import { WORKER_APP, WORKER_WORKFLOW, workerUrl } from './worker-url.js';

const DEFAULT_CONCURRENCY = 100;
const MAX_CONCURRENCY = 10_000;
const DEFAULT_GRACE_MS = 30_000;
const SDK = '@everstep/sdk';

/** State of a worker. `connected`: at least one connection is open. */
export type WorkerState = 'connecting' | 'connected' | 'draining' | 'closed';

/** Options of `connect`. Missing options are read from the environment. */
export interface ConnectOptions<Name extends string = string> {
  /** Name of the app: lower-case letters, digits, `-`, `_` and `.`; at most 63 characters. */
  readonly app: string;
  /** The workflows by name. `serve` handlers also serve HTTP; their options apply here as well, except signing keys. */
  readonly workflows: Readonly<Record<Name, WorkflowHandler | WorkflowEndpoint | Workflow<never, unknown>>>;
  /** URL of the service. Default: EVERSTEP_URL. */
  readonly baseUrl?: string;
  /** Token of the queue instance. Default: EVERSTEP_TOKEN. */
  readonly token?: string;
  /** Maximum number of requests that each connection handles at the same time. Default: 100. */
  readonly maxConcurrency?: number;
  /** Version of the app, for people. */
  readonly version?: string;
  /** Host name, for people. Default: HOSTNAME of the environment. */
  readonly host?: string;
  /**
   * Drains the worker when the process receives one of these signals, then lets the signal take effect. Default:
   * SIGTERM and SIGINT on Node; an empty list disables it.
   */
  readonly drainOn?: readonly DrainSignal[];
  /** Called when the state changes. */
  readonly onState?: (state: WorkerState) => void;
  /** Called when a connection ends or is rejected. Default: writes a line to the console. */
  readonly onProblem?: (message: string) => void;
  /** Replaces the global `WebSocket`, which Node 20 lacks. */
  readonly WebSocket?: SocketConstructor;
}

/** A connected worker. */
export interface ConnectedWorker<Name extends string = string> {
  readonly state: WorkerState;
  /** URL of each workflow: `worker://<app>/<name>`. */
  readonly urls: Readonly<Record<Name, string>>;
  /** Resolves when the first connection is open. Rejects with EverstepError if the service rejects the worker for good. */
  readonly connected: Promise<void>;
  /** Number of requests in progress. */
  readonly inFlight: number;
  /** Takes no more work, waits for the requests in progress, at most `graceMs` (default: 30,000), and disconnects. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

function socketUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`baseUrl must be an http or https URL, not ${JSON.stringify(baseUrl)}`);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${CONNECT_PATH}`;
  return url.toString();
}

function servedOf(given: WorkflowHandler | WorkflowEndpoint | Workflow<never, unknown>): ServedWorkflow {
  if ('endpoint' in given) return given.endpoint.workflow;
  if ('workflow' in given) return given.workflow;
  return createServedWorkflow(given, {});
}

function checkedNames<Name extends string>({ app, workflows, maxConcurrency }: ConnectOptions<Name>): readonly Name[] {
  if (!WORKER_APP.test(app))
    throw new RangeError(`app must consist of lower-case letters, digits, "-", "_" and ".", not ${JSON.stringify(app)}`);
  const names = Object.keys(workflows) as Name[];
  if (names.length === 0) throw new RangeError('workflows must name at least one workflow');
  const wrong = names.find((name) => !WORKER_WORKFLOW.test(name));
  if (wrong !== undefined) throw new RangeError(`${JSON.stringify(wrong)} is not a valid name of a workflow`);
  const max = maxConcurrency ?? DEFAULT_CONCURRENCY;
  if (!(Number.isSafeInteger(max) && max >= 1 && max <= MAX_CONCURRENCY))
    throw new RangeError(`maxConcurrency must be a whole number from 1 to ${MAX_CONCURRENCY}, not ${max}`);
  return names;
}

/** Keeps one connection to a node open. */
interface Link {
  readonly url: string;
  /** The newest connection; null while there is none. An older one may still answer its work. */
  connection: WorkerConnection | null;
  nodeId: string | null;
  failures: number;
  /** Cancels the next attempt to connect; null if none is planned. */
  cancelDial: (() => void) | null;
}

/** The worker of `connect`, for tests with a time of their own. */
export class Worker {
  state: WorkerState = 'connecting';
  readonly connected: Promise<void>;
  private readonly options: ConnectOptions;
  private readonly time: WorkerTime;
  private readonly hello: HelloFrame;
  private readonly served: ReadonlyMap<string, ServedWorkflow>;
  private readonly Socket: SocketConstructor;
  private readonly links = new Map<string, Link>();
  private readonly connections = new Set<WorkerConnection>();
  private readonly stopListening: () => void;
  private settle: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null;

  constructor(options: ConnectOptions, names: readonly string[], time: WorkerTime = MACHINE_TIME) {
    const { app, version, host = hostName(), maxConcurrency = DEFAULT_CONCURRENCY } = options;
    this.options = options;
    this.time = time;
    const url = socketUrl(configured(options.baseUrl, 'baseUrl', 'EVERSTEP_URL'));
    const token = configured(options.token, 'token', 'EVERSTEP_TOKEN');
    const Socket = options.WebSocket ?? (globalThis.WebSocket as SocketConstructor | undefined);
    if (!Socket) throw new TypeError('this runtime has no WebSocket: use Node 22, or pass the option WebSocket');
    this.Socket = Socket;
    this.served = new Map(Object.entries(options.workflows).map(([name, given]) => [name, servedOf(given)]));
    this.hello = {
      ...{ kind: 'hello', connection: CONNECTION_VERSION, protocol: PROTOCOL_VERSION, token, app, workflows: names },
      ...{ maxConcurrency, workerId: crypto.randomUUID(), sdk: SDK },
      ...(version === undefined ? {} : { version }),
      ...(host === undefined ? {} : { host }),
    };
    this.connected = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
    // An app that does not wait for it still sees the reported problem.
    this.connected.catch(() => {});
    this.stopListening = onDrainSignal(options.drainOn, () => this.close(DEFAULT_GRACE_MS));
    this.open(url);
  }

  get inFlight(): number {
    return [...this.connections].reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  async close(graceMs: number): Promise<void> {
    if (this.state === 'closed') return;
    this.become('draining');
    this.stopListening();
    for (const { cancelDial } of this.links.values()) cancelDial?.();
    await Promise.all([...this.connections].map((connection) => connection.drain(graceMs)));
    this.become('closed');
    this.settle?.reject(new EverstepError('the worker was closed before it was connected', { status: 0, code: 'closed' }));
  }

  private get isEnding(): boolean {
    return this.state === 'draining' || this.state === 'closed';
  }

  private become(state: WorkerState): void {
    if (this.state === state) return;
    this.state = state;
    this.options.onState?.(state);
  }

  private open(url: string): void {
    if (this.links.has(url)) return;
    const link: Link = { url, connection: null, nodeId: null, failures: 0, cancelDial: null };
    this.links.set(url, link);
    this.dial(link);
  }

  private dial(link: Link): void {
    const events: ConnectionEvents = {
      perform: (work) => performWork(this.served, work),
      connected: ({ nodeId, nodes }) => {
        link.failures = 0;
        link.nodeId = nodeId;
        this.settle?.resolve();
        this.settle = null;
        if (!this.isEnding) this.become('connected');
        this.findNodes(nodes);
      },
      nodes: ({ nodes }) => this.findNodes(nodes),
      // The next connection may reach the service that replaces this one. This one stays open for the answers.
      serviceDrains: () => this.dialLater(link),
      ended: (end) => {
        this.connections.delete(connection);
        if (link.connection === connection) this.linkEnded(link, end);
      },
    };
    const connection = new WorkerConnection(this.Socket, link.url, this.hello, events, this.time);
    link.connection = connection;
    this.connections.add(connection);
  }

  private linkEnded(link: Link, { message, rejection }: ConnectionEnd): void {
    link.connection = null;
    link.nodeId = null;
    if (this.isEnding) return;
    this.problem(`${link.url}: ${message}`);
    if ([...this.links.values()].every(({ connection }) => connection === null)) this.become('connecting');
    if (rejection && !rejection.retry) {
      this.links.delete(link.url);
      if (this.links.size > 0) return;
      this.stopListening();
      this.become('closed');
      this.settle?.reject(new EverstepError(message, { status: 0, code: rejection.code }));
      return;
    }
    this.dialLater(link);
  }

  private dialLater(link: Link): void {
    if (this.isEnding || link.cancelDial) return;
    link.cancelDial = this.time.after(reconnectDelayMs(link.failures++, this.time.random()), () => {
      link.cancelDial = null;
      if (!this.isEnding) this.dial(link);
    });
  }

  /** Connects to the nodes that have an address of their own, and gives up those that no longer exist. */
  private findNodes(nodes: readonly ConnectionNode[]): void {
    if (this.isEnding) return;
    const reached = new Set([...this.links.values()].map(({ nodeId }) => nodeId));
    for (const { nodeId, url } of nodes) if (url !== undefined && !reached.has(nodeId)) this.open(socketUrl(url));
  }

  private problem(message: string): void {
    if (this.options.onProblem) this.options.onProblem(message);
    else console.warn(`Worker connection: ${message}`);
  }
}

const hostName = (): string | undefined => (typeof process === 'object' ? process.env.HOSTNAME : undefined);

/**
 * Connects to the service and serves workflows over the connection. The app needs no public address, and the service
 * needs no permission to call it. It reconnects until it is closed.
 *
 * @example
 * const worker = connect({ app: 'shop', workflows: { order: serve(async (context) => { ... }) } });
 * await worker.connected;
 * await client.trigger({ url: worker.urls.order, body: { sku: 'A1' } });
 *
 * @throws {RangeError} If an option is invalid.
 * @throws {TypeError} If the base URL is malformed, or the runtime has no WebSocket.
 * @throws {EverstepError} If the base URL or the token is missing.
 */
export function connect<Name extends string>(options: ConnectOptions<Name>): ConnectedWorker<Name> {
  const names = checkedNames(options);
  const worker = new Worker(options, names);
  const urls = Object.fromEntries(names.map((name) => [name, workerUrl(options.app, name)])) as Record<Name, string>;
  return {
    get state() {
      return worker.state;
    },
    urls,
    connected: worker.connected,
    get inFlight() {
      return worker.inFlight;
    },
    close: ({ graceMs = DEFAULT_GRACE_MS } = {}) => worker.close(graceMs),
  };
}
