/**
 * Accepts the connections of workers: WebSockets at CONNECT_PATH. A connection without a valid first frame gets no further
 * than a few KiB and seconds. Errors are frames, because clients cannot read the HTTP response to a WebSocket.
 * Keeps invariant 38.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { CONNECT_PATH, type HelloFrame, type RejectionCode, type ServiceFrame } from '@everstep/sdk/protocol';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { Authority } from '../../accounts/tokens/authority.js';
import type { Caller } from '../../accounts/tokens/caller.js';
import { LIMITS } from '../../config/limits.js';
import type { Region } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { bareToken } from '../../dialects/index.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { readHello } from '../../worker-connections/read-frames.js';
import { CLOSE, WorkerLink, type WorkerProfile } from '../../worker-connections/worker-link.js';
import type { WorkerPools } from '../../worker-connections/worker-pools.js';
import { authenticate } from '../admission/authentication.js';
import type { Connections } from '../server/connections.js';
import { regionOf } from '../server/region.js';
import type { UpgradeTarget } from './upgrades.js';

export interface AcceptorOptions {
  readonly pools: WorkerPools;
  readonly authority: Authority;
  readonly defaultRegion: Region;
  readonly clock: Clock;
  readonly log: Log;
  /** Id of this node. */
  readonly nodeId: () => string;
  /** Returns an unused id of a connection. */
  readonly newId: () => string;
}

/** Why a worker is rejected. `retry`: another attempt can succeed. */
class Rejected extends Error {
  readonly code: RejectionCode;
  readonly retry: boolean;

  constructor(code: RejectionCode, message: string, retry: boolean) {
    super(message);
    this.code = code;
    this.retry = retry;
  }
}

function opensConnection({ method, url, headers }: IncomingMessage): boolean {
  const [path] = (url ?? '').split('?');
  return method === 'GET' && path === CONNECT_PATH && headers.upgrade?.toLowerCase() === 'websocket';
}

function textOf(data: RawData): string {
  if (Buffer.isBuffer(data)) return data.toString('utf8');
  return Array.isArray(data) ? Buffer.concat(data).toString('utf8') : Buffer.from(data).toString('utf8');
}

export class WorkerAcceptor {
  private readonly options: AcceptorOptions;
  private readonly server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: LIMITS.maxWorkerMessageBytes,
  });
  private readonly sockets = new Set<WebSocket>();
  private readonly links = new Set<WorkerLink>();
  private closing = false;

  constructor(options: AcceptorOptions) {
    this.options = options;
  }

  /** Returns what takes over the sockets of upgrade requests. `connections` may refuse them. */
  asUpgradeTarget(connections: Pick<Connections, 'refusalOf'>, isStopping: () => boolean): UpgradeTarget {
    return {
      isFor: opensConnection,
      refusalOf: ({ socket }) => connections.refusalOf(socket) ?? (isStopping() ? 'the server is stopping; retry later' : null),
      accept: (request, socket, head) =>
        this.server.handleUpgrade(request, socket, head, (webSocket) => this.open(webSocket, socket, request.headers.host)),
    };
  }

  /** Accepts no more workers. Connections end when their work in flight is answered or aborted. */
  close(): void {
    this.closing = true;
    for (const link of [...this.links]) link.drain();
    for (const socket of [...this.sockets]) socket.close(CLOSE.goingAway, 'the service stops');
  }

  private open(socket: WebSocket, transport: Duplex, host: string | undefined): void {
    const { clock } = this.options;
    // Until the worker is accepted, only few bytes are read from it.
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > LIMITS.maxWorkerHelloBytes) socket.terminate();
    };
    transport.prependListener('data', count);
    const cancelTimer = clock.setTimer(clock.now() + LIMITS.workerHelloTimeoutMs, () => socket.terminate());
    const settled = (): void => {
      cancelTimer();
      transport.removeListener('data', count);
      this.sockets.delete(socket);
    };
    this.sockets.add(socket);
    // The close event follows every error.
    socket.on('error', () => {});
    socket.once('close', settled);
    socket.once('message', (data, isBinary) => {
      // The next frames of an impatient worker arrive once it is connected.
      socket.pause();
      this.greet(socket, isBinary ? null : textOf(data), host).then(
        () => {
          settled();
          socket.resume();
        },
        (error: unknown) => {
          settled();
          socket.resume();
          this.reject(socket, error);
        },
      );
    });
  }

  /** Reads the first message and registers the worker. Rejects with Rejected. */
  private async greet(socket: WebSocket, text: string | null, host: string | undefined): Promise<void> {
    if (text === null) throw new Rejected('bad-request', 'the first message is not text', false);
    const read = readHello(text);
    if (!read.ok) throw new Rejected(read.code, read.message, false);
    if (this.closing) throw new Rejected('unavailable', 'the service stops', true);
    const { hello } = read;
    const caller = await this.callerOf(hello, host);
    // The connection may have ended in the meantime.
    if (socket.readyState !== socket.OPEN) return;
    const { pools } = this.options;
    if (pools.linksOf(caller.instanceId).length >= LIMITS.maxWorkersOfInstance)
      throw new Rejected(
        'too-many-connections',
        `the queue instance already has ${LIMITS.maxWorkersOfInstance} connected workers`,
        true,
      );
    this.register(socket, caller.instanceId, hello);
  }

  private async callerOf({ token }: HelloFrame, host: string | undefined): Promise<Caller> {
    const { authority, defaultRegion, log } = this.options;
    try {
      return await authenticate(authority, bareToken(token), regionOf(host, defaultRegion), 'write');
    } catch (error) {
      if (!(error instanceof ApiError)) {
        log.error({ error: String(error) }, 'could not verify the token of a worker');
        throw new Rejected('unavailable', 'the token could not be verified', true);
      }
      throw new Rejected(error.code === 'bad-token' ? 'unauthorized' : 'forbidden', error.message, false);
    }
  }

  private register(socket: WebSocket, instanceId: string, hello: HelloFrame): void {
    const { pools, clock, log, nodeId, newId } = this.options;
    const { kind: _kind, token: _token, connection: _connection, protocol: _protocol, ...profile } = hello;
    const about = { instanceId, ...shownProfile(profile) };
    const link = new WorkerLink({
      ...{ connectionId: newId(), instanceId, profile, clock },
      heartbeatMs: LIMITS.workerHeartbeatMs,
      socket: {
        send: (message) => {
          if (socket.readyState === socket.OPEN) socket.send(message);
        },
        close: (code, reason) => socket.close(code, reason),
      },
      changed: (changed) => pools.placesChanged(changed),
      ended: (ended) => {
        this.links.delete(ended);
        pools.remove(ended);
        log.info({ ...about, connectionId: ended.connectionId }, 'worker disconnected');
      },
    });
    socket.on('message', (data, isBinary) => {
      if (isBinary) link.close(CLOSE.policy, 'a message is not text');
      else link.receive(textOf(data));
    });
    socket.once('close', () => link.end());
    this.links.add(link);
    link.tell({
      kind: 'welcome',
      connectionId: link.connectionId,
      nodeId: nodeId(),
      nodes: [{ nodeId: nodeId() }],
      heartbeatMs: LIMITS.workerHeartbeatMs,
      maxFrameBytes: LIMITS.maxReplyBytes,
    });
    pools.add(link);
    log.info({ ...about, connectionId: link.connectionId }, 'worker connected');
  }

  private reject(socket: WebSocket, error: unknown): void {
    const known = error instanceof Rejected ? error : null;
    if (!known) this.options.log.error({ error: String(error) }, 'could not accept a worker');
    const frame: ServiceFrame = {
      kind: 'rejected',
      code: known?.code ?? 'unavailable',
      message: known?.message ?? 'the worker could not be accepted',
      retry: known?.retry ?? true,
    };
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify([frame]));
    socket.close(CLOSE.policy, frame.code);
  }
}

const shownProfile = ({ app, workerId, host }: WorkerProfile) => ({ app, workerId, ...(host === undefined ? {} : { host }) });
