/** A server that accepts workers in simulated time, and hostile workers that connect to it over real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServiceFrame } from '@everstep/sdk/protocol';
import { type ClientOptions, WebSocket } from 'ws';
import { hashOfToken } from '../../accounts/tokens/named-token.js';
import { SimulatedClock } from '../../clock/testing/simulated-clock.js';
import { ReplyBudget } from '../../fairness/reply-budget.js';
import type { Clock } from '../../ports/clock.js';
import type { TokenScope } from '../../ports/stores/accounts/named-tokens.js';
import { ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { WorkerLink } from '../../worker-connections/worker-link.js';
import { WorkerPools } from '../../worker-connections/worker-pools.js';
import type { HttpApiDependencies } from '../index.js';
import { ApiHarness } from '../testing/api-harness.js';

const MiB = 1024 * 1024;

export interface CloseFrame {
  readonly code: number;
  readonly reason: string;
}

/** The worker side of a connection. */
export class TestWorker {
  readonly socket: WebSocket;
  readonly frames: ServiceFrame[] = [];
  /** Resolves when the connection has ended. */
  readonly closed: Promise<CloseFrame>;
  private readonly listeners = new Set<() => void>();

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      this.frames.push(...(JSON.parse(String(data)) as ServiceFrame[]));
      for (const listener of this.listeners) listener();
    });
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });
  }

  /** Resolves with the first frame of the kind. Rejects if the connection ends before. */
  async frame<Kind extends ServiceFrame['kind']>(kind: Kind): Promise<Extract<ServiceFrame, { kind: Kind }>> {
    const findFrame = () => this.frames.find((frame): frame is Extract<ServiceFrame, { kind: Kind }> => frame.kind === kind);
    if (!findFrame()) {
      const frameArrival = new Promise<void>((resolve) => {
        this.listeners.add(() => {
          if (findFrame()) resolve();
        });
      });
      await Promise.race([frameArrival, this.closed]);
    }
    const frame = findFrame();
    assert.ok(frame, `the connection ended without a frame ${kind}`);
    return frame;
  }

  send(...frames: readonly object[]): void {
    this.socket.send(JSON.stringify(frames));
  }
}

export class WorkerHarness {
  readonly api: ApiHarness;
  readonly port: number;
  readonly pools: WorkerPools;
  readonly clock: SimulatedClock;
  readonly replies: ReplyBudget;
  /** Milliseconds by which the time of the machine is ahead of the clock of elapsed time. */
  readonly wall: { aheadMs: number };
  private createdTokens = 0;

  private constructor(parts: Pick<WorkerHarness, 'api' | 'port' | 'pools' | 'clock' | 'replies' | 'wall'>) {
    this.api = parts.api;
    this.port = parts.port;
    this.pools = parts.pools;
    this.clock = parts.clock;
    this.replies = parts.replies;
    this.wall = parts.wall;
  }

  /** Starts a server. `maxBytes` limits the memory for replies. */
  static async open(overrides: Partial<HttpApiDependencies> = {}, maxBytes = 64 * MiB): Promise<WorkerHarness> {
    const simulated = new SimulatedClock(0);
    const wall = { aheadMs: 0 };
    const endOfTurn: Clock['endOfTurn'] = (fire) => void setImmediate(fire);
    const elapsedClock: Clock = {
      now: () => simulated.now(),
      setTimer: (atMs, fire) => simulated.setTimer(atMs, fire),
      endOfTurn,
    };
    const clock: Clock = {
      now: () => simulated.now() + wall.aheadMs,
      setTimer: (atMs, fire) => simulated.setTimer(atMs - wall.aheadMs, fire),
      endOfTurn,
    };
    const pools = new WorkerPools(clock);
    const replies = new ReplyBudget({ maxBytes, maxReplyBytes: maxBytes / 4 }, ONE_OWNER);
    const api = await ApiHarness.open({ workers: { pools, clock, elapsedClock, replies }, ...overrides });
    const { port } = await api.api.listen({ host: '127.0.0.1', port: 0 });
    return new WorkerHarness({ api, port, pools, clock: simulated, replies, wall });
  }

  /** Creates a named token of an instance. */
  async token(scopes: readonly TokenScope[], instanceId = 'qi_1'): Promise<{ readonly token: string; readonly tokenId: string }> {
    const [tokenId, token] = [`tok_${++this.createdTokens}`, `est_${this.createdTokens}`];
    const record = { tokenId, instanceId, name: 'n', tokenHash: hashOfToken(token), scopes, createdBy: 'ann@w.test' };
    const times = { createdAt: 1, expiresAt: null, revokedAt: null, lastUsedAt: null, replacedBy: null };
    await this.api.store.accounts.createNamedToken({ token: { ...record, ...times } });
    return { token, tokenId };
  }

  /** Opens a connection without a first frame. */
  async dial(options: ClientOptions = {}): Promise<TestWorker> {
    const worker = new TestWorker(new WebSocket(`ws://127.0.0.1:${this.port}/v2/workers/connect`, options));
    await once(worker.socket, 'open');
    return worker;
  }

  hello(fields: object = {}): object {
    const versions = { kind: 'hello', connection: 1, protocol: 1 };
    const app = { app: 'shop', workflows: ['order'], maxConcurrency: 10, workerId: 'w', sdk: 'test' };
    return { ...versions, token: this.api.token, ...app, ...fields };
  }

  /** Opens a connection and sends the first frame. */
  async greet(fields: object = {}): Promise<TestWorker> {
    const worker = await this.dial();
    worker.send(this.hello(fields));
    return worker;
  }

  /** Opens an accepted connection. */
  async connect(fields: object = {}): Promise<{ readonly worker: TestWorker; readonly link: WorkerLink }> {
    const worker = await this.greet(fields);
    const { connectionId } = await worker.frame('welcome');
    const link = this.pools.links.find((candidate) => candidate.connectionId === connectionId);
    assert.ok(link);
    return { worker, link };
  }

  close(): Promise<void> {
    return this.api.close();
  }
}
