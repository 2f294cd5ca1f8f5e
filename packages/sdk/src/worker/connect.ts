/** Serves workflows over connections that the app opens to the server. The app does not need its own address. */
import { requireOption } from '../client/configuration.js';
import type { Workflow } from '../context.js';
import { bytesOver } from '../encoded-body.js';
import type { EncryptionOptions } from '../encryption/envelope.js';
import type { WorkflowEndpoint } from '../endpoint.js';
import { HookCaller, type WorkflowHooks } from '../hooks/workflow-hooks.js';
import { PROTOCOL_VERSION } from '../protocol.js';
import type { WorkflowHandler } from '../serve.js';
import { createServedWorkflow, type ServedWorkflow } from '../served-workflow.js';
import { CONNECTION_VERSION, type HelloFrame, MAX_HELLO_BYTES } from './frames.js';
import { performWork } from './perform-work.js';
import { type DrainSignal, onDrainSignal } from './signals.js';
import { Worker, type WorkerState } from './worker.js';
import type { SocketConstructor } from './worker-connection.js';
import { MACHINE_TIME, type WorkerTime } from './worker-time.js';
import { WORKER_APP, WORKER_WORKFLOW, workerUrl } from './worker-url.js';

export type { WorkerState } from './worker.js';

const DEFAULT_CONCURRENCY = 100;
const MAX_CONCURRENCY = 10_000;
const DEFAULT_GRACE_MS = 30_000;
const SDK_NAME = '@everstep/sdk';

/**
 * Options of `connect`. Missing options are read from the environment. `encryption` applies to workflows that are plain functions;
 * `serve` handlers have their own.
 */
export interface ConnectOptions<Name extends string = string> extends EncryptionOptions {
  /** Name of the app: lowercase letters, digits, `-`, `_` and `.`; at most 63 characters. */
  readonly app: string;
  /** The workflows by name. `serve` handlers also serve HTTP; their options apply here as well, except signing keys. */
  readonly workflows: Readonly<Record<Name, WorkflowHandler | WorkflowEndpoint | Workflow<never, unknown>>>;
  /** URL of the server. Default: EVERSTEP_URL. */
  readonly baseUrl?: string;
  /** Token of the queue instance. Default: EVERSTEP_TOKEN. */
  readonly token?: string;
  /** Maximum number of requests that each connection handles at the same time. Default: 100. */
  readonly maxConcurrency?: number;
  /** Version of the app, for display. */
  readonly version?: string;
  /** Host name, for display. Default: HOSTNAME of the environment. */
  readonly host?: string;
  /**
   * Drains the worker when the process receives one of these signals, then lets the signal take effect. Default:
   * SIGTERM and SIGINT on Node; an empty list disables it.
   */
  readonly drainOn?: readonly DrainSignal[];
  /** Hooks for all workflows of the worker, called before the hooks of a workflow. */
  readonly hooks?: readonly WorkflowHooks[];
  /** Called when the state changes. */
  readonly onState?: (state: WorkerState) => void;
  /** Called when a connection ends or is rejected. Default: writes a line to the console. */
  readonly onProblem?: (message: string) => void;
  /** Replaces the global `WebSocket`, which Node 20 lacks. */
  readonly WebSocket?: SocketConstructor;
}

/** A connected worker. */
export interface ConnectedWorker<Name extends string = string> {
  /** Current state of the worker. */
  readonly state: WorkerState;
  /** URL of each workflow: `worker://<app>/<name>`. */
  readonly urls: Readonly<Record<Name, string>>;
  /** Resolves when the first connection is open. Rejects with EverstepError if the server rejects the worker permanently. */
  readonly connected: Promise<void>;
  /** Number of requests in progress. */
  readonly inFlight: number;
  /** Accepts no more work, waits up to `graceMs` (default: 30,000) for the requests in progress, and disconnects. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

function toServedWorkflow(
  workflow: WorkflowHandler | WorkflowEndpoint | Workflow<never, unknown>,
  { encryption }: EncryptionOptions,
): ServedWorkflow {
  if ('endpoint' in workflow) return workflow.endpoint.workflow;
  if ('workflow' in workflow) return workflow.workflow;
  return createServedWorkflow(workflow, { encryption });
}

function validWorkflowNames<Name extends string>({ app, workflows, maxConcurrency }: ConnectOptions<Name>): readonly Name[] {
  if (!WORKER_APP.test(app))
    throw new RangeError(
      'app must consist of at most 63 lowercase letters, digits, "-", "_" and ".", and start and end with a letter or digit, ' +
        `not ${JSON.stringify(app)}`,
    );
  const names = Object.keys(workflows) as Name[];
  if (names.length === 0) throw new RangeError('workflows must contain at least one workflow');
  const invalidName = names.find((name) => !WORKER_WORKFLOW.test(name));
  if (invalidName !== undefined)
    throw new RangeError(
      'the name of a workflow must consist of parts of letters, digits, "-", "_", "." and "~", separated by "/", with at most ' +
        `256 characters, not ${JSON.stringify(invalidName)}`,
    );
  const max = maxConcurrency ?? DEFAULT_CONCURRENCY;
  if (!(Number.isSafeInteger(max) && max >= 1 && max <= MAX_CONCURRENCY))
    throw new RangeError(`maxConcurrency must be a whole number from 1 to ${MAX_CONCURRENCY}, not ${max}`);
  return names;
}

const hostName = (): string | undefined => (typeof process === 'object' ? process.env.HOSTNAME : undefined);

/** Maximum size of the header of a WebSocket frame. */
const FRAME_HEADER_BYTES = 14;

/** The server would close the connection without a reason. */
function checkSize(hello: HelloFrame): void {
  const limit = MAX_HELLO_BYTES - FRAME_HEADER_BYTES;
  const bytes = bytesOver(limit, JSON.stringify([hello]));
  if (bytes === null) return;
  throw new RangeError(
    `the names of the workflows and the other options take ${bytes} bytes, but the server accepts at most ${limit} bytes: use ` +
      'shorter names, or divide the workflows among several calls of connect',
  );
}

/**
 * Starts the worker of `connect`. Tests call it with their own clock. The names must be valid.
 *
 * @throws {RangeError} If the names and the other options are too long together.
 * @throws {TypeError} If the base URL is malformed, or the runtime has no WebSocket.
 * @throws {EverstepError} If the base URL or the token is missing.
 */
export function startWorker<Name extends string>(
  options: ConnectOptions<Name>,
  names: readonly Name[],
  time: WorkerTime = MACHINE_TIME,
): Worker {
  const { app, version, host = hostName(), maxConcurrency = DEFAULT_CONCURRENCY } = options;
  const { onProblem = (message) => console.warn(`Worker connection: ${message}`), onState = () => {} } = options;
  const baseUrl = requireOption(options.baseUrl, 'baseUrl', 'EVERSTEP_URL');
  const token = requireOption(options.token, 'token', 'EVERSTEP_TOKEN');
  const Socket = options.WebSocket ?? (globalThis.WebSocket as SocketConstructor | undefined);
  if (!Socket) throw new TypeError('this runtime has no WebSocket: use Node 22 or newer, or pass the option WebSocket');
  const servedWorkflows = new Map(names.map((name) => [name, toServedWorkflow(options.workflows[name], options)]));
  const hello: HelloFrame = {
    ...{ kind: 'hello', connection: CONNECTION_VERSION, protocol: PROTOCOL_VERSION, token, app, workflows: names },
    ...{ maxConcurrency, workerId: crypto.randomUUID(), sdk: SDK_NAME },
    ...(version === undefined ? {} : { version }),
    ...(host === undefined ? {} : { host }),
  };
  checkSize(hello);
  const hooks = options.hooks && options.hooks.length > 0 ? new HookCaller(options.hooks) : undefined;
  let stopListening = (): void => {};
  const worker = new Worker({
    ...{ baseUrl, hello, Socket, onProblem, time },
    perform: (work, isAbandoned) => performWork(servedWorkflows, work, { hooks, isAbandoned }),
    onState: (state) => {
      if (state === 'draining' || state === 'closed') stopListening();
      onState(state);
    },
  });
  stopListening = onDrainSignal(options.drainOn, () => worker.close(DEFAULT_GRACE_MS));
  return worker;
}

/**
 * Connects to the server and serves workflows over the connection. The app needs no public address, and the server
 * needs no permission to call it. It reconnects until it is closed.
 *
 * @example
 * const worker = connect({ app: 'shop', workflows: { order: serve(async (context) => { ... }) } });
 * await worker.connected;
 * await client.trigger(worker.urls.order, { body: { sku: 'A1' } });
 *
 * @throws {RangeError} If an option is invalid.
 * @throws {TypeError} If the base URL is malformed, or the runtime has no WebSocket.
 * @throws {EverstepError} If the base URL or the token is missing.
 */
export function connect<Name extends string>(options: ConnectOptions<Name>): ConnectedWorker<Name> {
  const names = validWorkflowNames(options);
  const worker = startWorker(options, names);
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
