/**
 * Accepts the connections of workers: WebSockets at CONNECT_PATH. Until its first frame is accepted, a connection has a small
 * byte limit and a short timeout. Errors are frames, because clients cannot read the HTTP response to a WebSocket. Cookies are
 * ignored: only the token in the first frame authenticates a worker.
 * Keeps invariant 38.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import {
  CONNECT_PATH,
  type ConnectionNode,
  type HelloFrame,
  type RejectionCode,
  type ServiceFrame,
} from '@everstep/sdk/protocol';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Authority } from '../../accounts/tokens/authority.js';
import type { Caller } from '../../accounts/tokens/caller.js';
import { connectProblem } from '../../accounts/tokens/token-scopes.js';
import { LIMITS } from '../../config/limits.js';
import type { Region } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { unwrapToken } from '../../dialects/index.js';
import type { ReplyBudget } from '../../fairness/reply-budget.js';
import type { WorkSlices } from '../../fairness/work-slices.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { ThrottledLog } from '../../ports/throttled-log.js';
import { readHello } from '../../worker-connections/read-frames.js';
import { CLOSE_CODES, WorkerLink, type WorkerProfile } from '../../worker-connections/worker-link.js';
import type { WorkerPools } from '../../worker-connections/worker-pools.js';
import type { Connections } from '../server/connections.js';
import type { HeldRequests } from '../server/held-requests.js';
import { regionOf } from '../server/region.js';
import { checkOrigin } from '../sessions/same-origin.js';
import { UnacceptedWorkers } from './unaccepted-workers.js';
import { refuseUpgrade, type UpgradeTarget } from './upgrades.js';
import { WorkerCredentials } from './worker-credentials.js';
import { textOf, WorkerSocket } from './worker-socket.js';

export interface AcceptorOptions {
  readonly pools: WorkerPools;
  readonly authority: Authority;
  readonly defaultRegion: Region;
  readonly clock: Clock;
  /** Clock of elapsed time, for timeouts. */
  readonly elapsedClock: Clock;
  readonly log: Log;
  /** Limits the accepted connections. */
  readonly openConnections: HeldRequests;
  /** Memory for messages of workers. */
  readonly replies: ReplyBudget;
  /** Schedules the parsing of long messages, alternating with other work. */
  readonly slices: Pick<WorkSlices, 'run'>;
  /** Id of this node. */
  readonly nodeId: () => string;
  /** The nodes that workers can connect to. If absent, no other process uses the store. */
  readonly cluster?: ConnectionNodes;
  /** Returns an unused id of a connection. */
  readonly newId: () => string;
}

export interface ConnectionNodes {
  /** All nodes, including this one. */
  readonly connectionNodes: readonly ConnectionNode[];
  onNodesChange(listener: () => void): void;
}

/** Reason why a worker is rejected. `canRetry` is true if another attempt can succeed. */
class WorkerRejection extends Error {
  readonly code: RejectionCode;
  readonly canRetry: boolean;

  constructor(code: RejectionCode, message: string, canRetry: boolean) {
    super(message);
    this.code = code;
    this.canRetry = canRetry;
  }
}

// `closeTimeout` is missing in the types of the package.
const SOCKET_OPTIONS = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: LIMITS.maxWorkerMessageBytes,
  // Each fragment takes memory in addition to its bytes, which are counted. Chunks of a fragment are counted in WorkerSocket.
  maxFragments: LIMITS.maxWorkerMessageFragments,
  closeTimeout: LIMITS.workerCloseTimeoutMs,
  // No subprotocol is defined, so the requested one is not echoed.
  handleProtocols: () => false as const,
};

/** Data about a client that is available before the client sends its first frame. */
interface Client {
  readonly host: string | undefined;
  readonly address: string;
}

/** Returns whether a request is for a worker connection. */
function opensWorkerConnection({ method, url, headers }: IncomingMessage): boolean {
  const [path] = (url ?? '').split('?');
  return method === 'GET' && path === CONNECT_PATH && headers.upgrade?.toLowerCase() === 'websocket';
}

const unavailableError = (message: string): ApiError => new ApiError('unavailable', message, { 'retry-after': '1' });

/** Returns why the headers of the request do not permit a connection, or null. */
function headerProblem({ headers, httpVersion }: IncomingMessage): ApiError | null {
  const { host } = headers;
  if (host === undefined || httpVersion !== '1.1')
    return new ApiError('bad-request', 'a worker connection requires HTTP/1.1 with a Host header');
  try {
    // No page of the server connects as a worker, and pages of other origins must not reach a server on localhost.
    checkOrigin({ headers, host });
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

const forwardedFor = ({ headers }: IncomingMessage): string => [headers['x-forwarded-for'] ?? ''].flat().join();

interface UpgradeContext {
  readonly connections: Pick<Connections, 'refusalOf' | 'clientAddressOf' | 'limitedNetworkOf'>;
  readonly isStopping: () => boolean;
}

export class WorkerAcceptor {
  private readonly options: AcceptorOptions;
  private readonly server = new WebSocketServer(SOCKET_OPTIONS);
  private readonly unacceptedWorkers = new UnacceptedWorkers();
  private readonly credentials: WorkerCredentials;
  private readonly rejectionLogs = new Map<RejectionCode, ThrottledLog>();
  private readonly sockets = new Set<WebSocket>();
  private readonly links = new Set<WorkerLink>();
  private isClosing = false;

  constructor(options: AcceptorOptions) {
    this.options = options;
    this.credentials = new WorkerCredentials(options);
    this.server.on('wsClientError', ({ message }, socket) => {
      refuseUpgrade(socket, new ApiError('bad-request', `the WebSocket handshake is invalid: ${message}`));
    });
    options.cluster?.onNodesChange(() => {
      const frame: ServiceFrame = { kind: 'nodes', nodeId: options.nodeId(), nodes: this.nodes };
      for (const link of this.links) link.sendFrame(frame);
    });
  }

  private get nodes(): readonly ConnectionNode[] {
    const { nodeId, cluster } = this.options;
    const nodes = cluster?.connectionNodes ?? [];
    // This node may not have read its own membership yet.
    return nodes.some((node) => node.nodeId === nodeId()) ? nodes : [...nodes, { nodeId: nodeId() }];
  }

  /** Returns the target that takes over the sockets of upgrade requests. */
  asUpgradeTarget({ connections, isStopping }: UpgradeContext): UpgradeTarget {
    const addressOf = (request: IncomingMessage): string => connections.clientAddressOf(request.socket, forwardedFor(request));
    return {
      isFor: opensWorkerConnection,
      refusalOf: (request) => {
        const refusal =
          connections.refusalOf(request.socket) ??
          (isStopping() ? 'the server is stopping; retry later' : null) ??
          this.unacceptedWorkers.refusalOf(connections.limitedNetworkOf(addressOf(request)));
        return refusal === null ? headerProblem(request) : unavailableError(refusal);
      },
      accept: (request, socket, head) => {
        const client = { host: request.headers.host, address: addressOf(request) };
        this.server.handleUpgrade(request, socket, head, (webSocket) =>
          this.waitForHello(webSocket, socket, {
            client,
            onAccepted: this.unacceptedWorkers.add(connections.limitedNetworkOf(client.address)),
          }),
        );
      },
    };
  }

  /** Accepts no more workers. Connections end when their work in flight has ended or is aborted. */
  close(): void {
    this.isClosing = true;
    for (const link of [...this.links]) link.drain();
    for (const socket of [...this.sockets]) socket.close(CLOSE_CODES.goingAway, 'the server is stopping');
  }

  /** Waits for the first message. `onAccepted` is called when the worker no longer counts as unaccepted. */
  private waitForHello(
    socket: WebSocket,
    transport: Socket,
    { client, onAccepted }: { readonly client: Client; readonly onAccepted: () => void },
  ): void {
    const { elapsedClock } = this.options;
    let bytes = 0;
    const countBytes = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > LIMITS.maxWorkerHelloBytes) socket.terminate();
    };
    // Added before the listener of the socket, which may already find the first message in the chunk.
    transport.prependListener('data', countBytes);
    const cancelTimer = elapsedClock.setTimer(elapsedClock.now() + LIMITS.workerHelloTimeoutMs, () => socket.terminate());
    const stopCounting = (): void => {
      cancelTimer();
      onAccepted();
      transport.removeListener('data', countBytes);
      this.sockets.delete(socket);
    };
    this.sockets.add(socket);
    // The close event follows every error.
    socket.on('error', () => {});
    socket.once('close', stopCounting);
    // A worker must not send another message before the welcome frame.
    const terminate = () => socket.terminate();
    socket.once('message', (data, isBinary) => {
      socket.pause();
      socket.once('message', terminate);
      this.verifyHello({ socket, transport }, isBinary ? null : textOf(data), client)
        .then((connect) => {
          socket.removeListener('message', terminate);
          if (socket.readyState !== socket.OPEN) return;
          stopCounting();
          connect();
        })
        .catch((error: unknown) => this.reject(socket, error))
        .finally(() => socket.resume());
    });
  }

  /** Reads the first message and returns the function that connects the worker. Rejects with WorkerRejection. */
  private async verifyHello(
    sockets: { readonly socket: WebSocket; readonly transport: Socket },
    text: string | null,
    client: Client,
  ): Promise<() => void> {
    if (text === null) throw new WorkerRejection('bad-request', 'the first message is not text', false);
    const parsedHello = readHello(text);
    if (!parsedHello.ok) throw new WorkerRejection(parsedHello.code, parsedHello.message, false);
    const { hello } = parsedHello;
    const token = unwrapToken(hello.token);
    const region = this.regionOf(client);
    const caller = await this.callerOf(token, region);
    const problem = connectProblem(caller.scopes, hello.app);
    if (problem !== null) throw new WorkerRejection('forbidden', problem, false);
    return () => {
      this.checkWorkflows(caller, hello);
      const release = this.countConnection(caller);
      const link = this.register(sockets, caller, { hello, client, release });
      const unwatch = this.credentials.watch({
        ...{ token, region, instanceId: caller.instanceId },
        end: (message) => {
          link.sendFrame({ kind: 'rejected', code: 'unauthorized', message, retry: false });
          link.close(CLOSE_CODES.policy, 'the token is no longer valid');
        },
      });
      sockets.socket.once('close', unwatch);
    };
  }

  private regionOf({ host }: Client): Region {
    try {
      return regionOf(host, this.options.defaultRegion);
    } catch (error) {
      if (error instanceof ApiError) throw new WorkerRejection('bad-request', error.message, false);
      throw error;
    }
  }

  private async callerOf(token: string, region: Region): Promise<Caller> {
    const { authority, log } = this.options;
    try {
      const verdict = authority.recall(token, region) ?? (await authority.verify(token, region));
      if (verdict.ok) return verdict.caller;
      throw new WorkerRejection('unauthorized', verdict.message, false);
    } catch (error) {
      if (error instanceof WorkerRejection) throw error;
      log.error({ error: String(error) }, 'could not verify the token of a worker');
      throw new WorkerRejection('unavailable', 'the token could not be verified', true);
    }
  }

  /** Throws WorkerRejection if the workers of the queue instance would serve too many workflows. */
  private checkWorkflows({ instanceId }: Caller, { app, workflows }: HelloFrame): void {
    if (this.options.pools.servedWorkflows.hasRoomFor({ instanceId, app, workflows })) return;
    const limit = LIMITS.maxServedWorkflowsOfInstance;
    const message = `the workers of a queue instance that are connected to one node can serve at most ${limit} workflows; serve fewer workflows, or disconnect workers of other workflows and retry`;
    throw new WorkerRejection('too-many-workflows', message, true);
  }

  /** Counts the connection, and returns the function that ends it. Throws WorkerRejection if a limit is reached. */
  private countConnection({ instanceId }: Caller): () => void {
    if (this.isClosing) throw new WorkerRejection('unavailable', 'the server is stopping', true);
    try {
      return this.options.openConnections.acquire(instanceId);
    } catch (error) {
      if (error instanceof ApiError) throw new WorkerRejection('too-many-connections', error.message, true);
      throw error;
    }
  }

  private register(
    { socket, transport }: { readonly socket: WebSocket; readonly transport: Socket },
    { instanceId, actor }: Caller,
    { hello, client, release }: { readonly hello: HelloFrame; readonly client: Client; readonly release: () => void },
  ): WorkerLink {
    const { pools, clock, elapsedClock, log, nodeId, newId, replies, slices } = this.options;
    const { kind: _kind, token: _token, connection: _connection, protocol: _protocol, ...profile } = hello;
    const workerSocket = new WorkerSocket({ socket, transport, instanceId, replies, slices });
    const connectionId = newId();
    const logFields = { instanceId, connectionId, ...profileFields(profile) };
    const link = new WorkerLink({
      ...{ connectionId, instanceId, profile, connectedAt: clock.now(), elapsedClock },
      heartbeatMs: LIMITS.workerHeartbeatMs,
      socket: workerSocket,
      onSlotsChanged: (changed) => pools.slotsChanged(changed),
      onEnded: (ended, reason, closeCode) => {
        this.links.delete(ended);
        pools.remove(ended);
        const durationMs = clock.now() - ended.connectedAt;
        log.info({ ...logFields, reason, ...(closeCode === undefined ? {} : { closeCode }), durationMs }, 'worker disconnected');
      },
    });
    socket.once('close', release);
    workerSocket.serve(link);
    this.links.add(link);
    link.sendFrame({
      kind: 'welcome',
      connectionId,
      nodeId: nodeId(),
      nodes: this.nodes,
      heartbeatMs: LIMITS.workerHeartbeatMs,
      maxFrameBytes: LIMITS.maxReplyBytes,
    });
    pools.add(link);
    log.info({ ...logFields, caller: actor, callerIp: client.address }, 'worker connected');
    return link;
  }

  private reject(socket: WebSocket, error: unknown): void {
    const rejection = error instanceof WorkerRejection ? error : null;
    if (!rejection) this.options.log.error({ error: String(error) }, 'could not accept a worker');
    const { code, message, canRetry } = rejection ?? new WorkerRejection('unavailable', 'the worker could not be accepted', true);
    this.logOf(code).warn({ code });
    const frame: ServiceFrame = { kind: 'rejected', code, message, retry: canRetry };
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify([frame]));
    socket.close(CLOSE_CODES.policy, code);
  }

  /** Returns the log of rejections with this code. */
  private logOf(code: RejectionCode): ThrottledLog {
    const existingLog = this.rejectionLogs.get(code);
    if (existingLog) return existingLog;
    const log = new ThrottledLog(this.options.log, 'worker rejected');
    this.rejectionLogs.set(code, log);
    return log;
  }
}

const profileFields = ({ app, workerId, host }: WorkerProfile) => ({ app, workerId, ...(host === undefined ? {} : { host }) });
