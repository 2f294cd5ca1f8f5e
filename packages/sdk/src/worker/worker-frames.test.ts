/** The frames of a worker in simulated time. The test plays the server. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import type { StepRequest } from '../step-protocol.js';
import { startWorker } from './connect.js';
import type { HelloFrame, ServiceFrame, WorkerFrame } from './frames.js';
import type { SocketLike } from './worker-connection.js';
import type { WorkerTime } from './worker-time.js';

const HEARTBEAT_MS = 1_000;

class FakeTime implements WorkerTime {
  private time = 0;
  private timers: { readonly at: number; readonly fire: () => void }[] = [];
  private turn: (() => void)[] = [];

  now = (): number => this.time;
  random = (): number => 0.5;
  after = (delayMs: number, fire: () => void): (() => void) => {
    const timer = { at: this.time + delayMs, fire };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  };
  endOfTurn = (fire: () => void): void => {
    this.turn.push(fire);
  };

  get timerCount(): number {
    return this.timers.length;
  }
  /** Runs everything that does not wait for a timer. */
  async settle(): Promise<void> {
    do {
      for (let hop = 0; hop < 5; hop++) await new Promise((resolve) => setImmediate(resolve));
      for (const fire of this.turn.splice(0)) fire();
    } while (this.turn.length > 0);
  }
  /** Blocks the event loop: the timers that become due fire afterward, all late. */
  async block(ms: number): Promise<void> {
    this.time += ms;
    await this.pass(0);
  }
  async pass(ms: number): Promise<void> {
    const until = this.time + ms;
    for (;;) {
      await this.settle();
      const [next] = this.timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.time = Math.max(this.time, next.at);
      next.fire();
    }
    this.time = until;
  }
}

type Listener = Parameters<SocketLike['addEventListener']>[1];

/** A connection as the server sees it. */
class ServiceSocket implements SocketLike {
  readyState = 0;
  binaryType = 'blob';
  readonly messages: (readonly (WorkerFrame | HelloFrame)[])[] = [];
  private readonly listeners = new Map<string, Listener[]>();

  addEventListener(type: string, listener: Listener): void {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener]);
  }
  send(data: string): void {
    this.messages.push(JSON.parse(data));
  }
  close(): void {
    this.readyState = 3;
  }
  emit(type: string, event: Parameters<Listener>[0] = {}): void {
    for (const listener of this.listeners.get(type) ?? []) listener(event);
  }

  sendFrame(...frames: readonly ServiceFrame[]): void {
    this.emit('message', { data: JSON.stringify(frames) });
  }
  welcome(maxFrameBytes = 1_000): void {
    this.readyState = 1;
    this.emit('open');
    const nodes = [{ nodeId: 'n' }];
    this.sendFrame({ kind: 'welcome', connectionId: 'c', nodeId: 'n', nodes, heartbeatMs: HEARTBEAT_MS, maxFrameBytes });
  }
  /** The frames after the first one. */
  get frames(): readonly (WorkerFrame | HelloFrame)[] {
    return this.messages.slice(1).flat();
  }
}

function start(code: (name: string) => Promise<unknown> = async () => 'done') {
  const sockets: ServiceSocket[] = [];
  const time = new FakeTime();
  const problems: string[] = [];
  class Socket extends ServiceSocket {
    constructor() {
      super();
      sockets.push(this);
    }
  }
  const worker = startWorker(
    {
      ...{ app: 'shop', baseUrl: 'http://service', token: 't', drainOn: [], onProblem: (message) => problems.push(message) },
      workflows: { order: (context: WorkflowContext<unknown>) => context.run('step', () => code(context.runId)) },
      WebSocket: Socket,
    },
    ['order'],
    time,
  );
  const socket = (index = sockets.length - 1): ServiceSocket => sockets[index] ?? assert.fail('the worker did not connect');
  return { worker, sockets, socket, time, problems };
}

function stepFrame(id: number): ServiceFrame {
  const request: StepRequest = {
    protocol: 1,
    run: { key: `k${id}`, id: `r${id}`, createdAt: 1, workflowUrl: 'worker://shop/order', labels: [] },
    ...{ messageId: 'm', retried: 0, maxRetries: 3, target: null, known: 1 },
    journal: { from: 0, length: 0, entries: [] },
    input: { body: { encoding: 'utf8', data: '1' }, contentType: 'application/json', headers: {} },
  };
  return { kind: 'step', id, workflow: 'order', request };
}

const kinds = (frames: readonly (WorkerFrame | HelloFrame)[]) =>
  frames.map((frame) =>
    'id' in frame ? `${frame.kind} ${frame.id}` : 'through' in frame ? `${frame.kind} ${frame.through}` : frame.kind,
  );

it('answers work in one message for each turn, without a separate frame for its start', async () => {
  const { worker, socket, time } = start();
  socket().welcome();
  await worker.connected;
  socket().sendFrame(stepFrame(1), stepFrame(2));
  await time.settle();
  assert.deepEqual(kinds(socket().frames), ['answer 1', 'answer 2']);
  assert.equal(socket().messages.length, 2);
  await worker.close(0);
  assert.equal(time.timerCount, 0);
});

it('reports work that takes longer as started', async () => {
  const { worker, socket, time } = start(() => new Promise(() => {}));
  socket().welcome();
  socket().sendFrame(stepFrame(1), stepFrame(2));
  await time.settle();
  assert.deepEqual([kinds(socket().frames), worker.inFlight], [['received 2'], 2]);
  socket().sendFrame({ kind: 'cancel', id: 1 });
  assert.equal(worker.inFlight, 1);
  await Promise.all([worker.close(0), time.pass(1)]);
});

it('replaces an answer that is too long for the server', async () => {
  const { worker, socket, time } = start(async () => 'x'.repeat(2_000));
  socket().welcome();
  socket().sendFrame(stepFrame(1));
  await time.settle();
  assert.deepEqual(kinds(socket().frames), ['too-long 1']);
  await worker.close(0);
});

it('waits longer for a message that the server has announced, and shows meanwhile that it is alive', async () => {
  const { worker, sockets, socket, time, problems } = start();
  socket().welcome();
  socket().sendFrame({ kind: 'incoming', transferMs: 10 * HEARTBEAT_MS });
  await time.pass(12.5 * HEARTBEAT_MS);
  assert.deepEqual([problems, kinds(socket().frames)], [[], Array.from({ length: 12 }, () => 'pong')]);
  socket().sendFrame(stepFrame(1));
  await time.pass(2.5 * HEARTBEAT_MS);
  assert.deepEqual([problems, kinds(socket().frames).slice(12)], [[], ['answer 1']]);
  await time.pass(HEARTBEAT_MS);
  assert.deepEqual([problems.length, sockets.length], [1, 2]);
  socket().welcome();
  socket().sendFrame({ kind: 'incoming', transferMs: 10 * HEARTBEAT_MS });
  await time.pass(13 * HEARTBEAT_MS + 200);
  assert.equal(problems.length, 2);
  await worker.close(0);
});

it('reports why a connection was lost', async () => {
  const interrupted = 'the connection could not be opened or was interrupted';
  const table: readonly (readonly [type: string, event: Parameters<Listener>[0], message: string])[] = [
    ['error', { message: 'Max payload size exceeded' }, `${interrupted} (Max payload size exceeded)`],
    ['error', { message: '', error: new Error('refused') }, `${interrupted} (refused)`],
    ['error', {}, interrupted],
    ['close', { code: 1006, reason: '' }, 'the connection was closed (code 1006)'],
    ['close', { code: 1008, reason: 'the worker reads too slowly' }, 'the worker reads too slowly (code 1008)'],
    ['close', {}, 'the connection was closed'],
  ];
  for (const [type, event, message] of table) {
    const { worker, socket, problems } = start();
    socket().welcome();
    socket().emit(type, event);
    assert.deepEqual(problems, [`ws://service/v2/workers/connect: ${message}`]);
    await worker.close(0);
  }
});

it('reads what has arrived before it gives up a connection after a blocked event loop', async () => {
  const { worker, socket, time, problems } = start();
  socket().welcome();
  await time.block(10 * HEARTBEAT_MS);
  assert.deepEqual(problems, []);
  socket().sendFrame({ kind: 'ping' });
  await time.pass(2.5 * HEARTBEAT_MS);
  assert.deepEqual(problems, []);
  await time.block(10 * HEARTBEAT_MS);
  assert.deepEqual(problems, []);
  await time.pass(HEARTBEAT_MS);
  assert.equal(problems.length, 1);
  await worker.close(0);
});

it('gives up a connection on which nothing arrives for three heartbeats', async () => {
  const { worker, sockets, socket, time, problems } = start();
  socket().welcome();
  for (let beat = 0; beat < 10; beat++) {
    await time.pass(HEARTBEAT_MS);
    socket().sendFrame({ kind: 'ping' });
  }
  assert.deepEqual([kinds(socket().frames), problems], [Array.from({ length: 10 }, () => 'pong'), []]);
  await time.pass(3 * HEARTBEAT_MS + 200);
  assert.deepEqual([problems.length, sockets.length], [1, 2]);
  await worker.close(0);
});
