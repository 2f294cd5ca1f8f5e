import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { serve } from '../serve.js';
import type { StepRequest } from '../step-protocol.js';
import { type ConnectOptions, startWorker } from './connect.js';
import { type ConnectionNode, MAX_HELLO_BYTES, type ServiceFrame, type WorkerFrame } from './frames.js';
import type { Worker } from './worker.js';
import type { SocketLike } from './worker-connection.js';
import type { WorkerTime } from './worker-time.js';

const CONNECTING = 0;
const OPEN = 1;
const CLOSED = 3;
const HEARTBEAT_MS = 10_000;
const GRACE_MS = 30_000;
/** Longer than every delay before another attempt. */
const LONG_MS = 31_000;

type Listener = Parameters<SocketLike['addEventListener']>[1];

/** A socket whose other end the test controls. */
class FakeSocket implements SocketLike {
  static all: FakeSocket[] = [];
  readyState = CONNECTING;
  binaryType = 'blob';
  readonly url: string;
  readonly frames: WorkerFrame[] = [];
  private readonly listeners = new Map<string, Listener[]>();

  constructor(url: string) {
    this.url = url;
    FakeSocket.all.push(this);
  }
  get host(): string {
    return new URL(this.url).host;
  }
  addEventListener(type: string, listener: Listener): void {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener]);
  }
  send(data: string): void {
    assert.equal(this.readyState, OPEN, 'sends only on an open socket');
    this.frames.push(...JSON.parse(data));
  }
  close(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.emit('close', {});
  }
  emit(type: string, event: Parameters<Listener>[0]): void {
    for (const listener of this.listeners.get(type) ?? []) listener(event);
  }
  serve(...frames: ServiceFrame[]): void {
    this.emit('message', { data: JSON.stringify(frames) });
  }
  open(): void {
    this.readyState = OPEN;
    this.emit('open', {});
  }
  /** The node accepts the worker. */
  welcome(nodeId: string, nodes: readonly ConnectionNode[] = [{ nodeId }], ...more: ServiceFrame[]): void {
    this.open();
    const limits = { heartbeatMs: HEARTBEAT_MS, maxFrameBytes: 1_000_000 };
    this.serve({ kind: 'welcome', connectionId: `con_${nodeId}`, nodeId, nodes, ...limits }, ...more);
  }
  reject(retry: boolean): void {
    this.open();
    this.serve({ kind: 'rejected', code: retry ? 'unavailable' : 'unauthorized', message: 'no', retry });
  }
  kinds(): readonly string[] {
    return this.frames.map(({ kind }) => kind);
  }
}

const opened = (): readonly FakeSocket[] => FakeSocket.all.filter(({ readyState }) => readyState !== CLOSED);
/** The newest socket. */
function latest(): FakeSocket {
  const socket = FakeSocket.all.at(-1);
  assert.ok(socket);
  return socket;
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A clock that a test advances. */
class TestTime implements WorkerTime {
  private time = 0;
  private timers: { readonly at: number; readonly fire: () => void }[] = [];
  now(): number {
    return this.time;
  }
  after(delayMs: number, fire: () => void): () => void {
    const timer = { at: this.time + delayMs, fire };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }
  endOfTurn(fire: () => void): void {
    setImmediate(fire);
  }
  random(): number {
    return 1;
  }
  move(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const [next] = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.time = next.at;
      next.fire();
    }
    this.time = end;
  }
}

interface Bench {
  readonly worker: Worker;
  readonly problems: string[];
  readonly states: string[];
  move(ms: number): void;
}

function start(options: Partial<ConnectOptions<'flow'>> = {}): Bench {
  FakeSocket.all = [];
  const time = new TestTime();
  const [problems, states]: [string[], string[]] = [[], []];
  const whole: ConnectOptions<'flow'> = {
    ...{ app: 'shop', workflows: { flow: async () => 'done' }, baseUrl: 'https://lb', token: 't', drainOn: [] },
    ...{ WebSocket: FakeSocket, onProblem: (problem) => problems.push(problem), onState: (state) => states.push(state) },
    ...options,
  };
  return { worker: startWorker(whole, ['flow'], time), problems, states, move: (ms) => time.move(ms) };
}

const NODES: readonly ConnectionNode[] = [{ nodeId: 'n1' }, { nodeId: 'n2' }];
const OWN: readonly ConnectionNode[] = [
  { nodeId: 'n1', url: 'https://one' },
  { nodeId: 'n2', url: 'https://two' },
];
const hosts = (): readonly string[] => FakeSocket.all.map(({ host }) => host);

const stepFrame = (id: number): ServiceFrame => {
  const request: StepRequest = {
    protocol: 1,
    run: { key: 'r', id: 'wfr_1', createdAt: 0, workflowUrl: 'worker://shop/flow', labels: [] },
    ...{ messageId: `m${id}`, retried: 0, maxRetries: 3, target: null, known: 1 },
    journal: { from: 0, length: 0, entries: [] },
    input: { body: { encoding: 'utf8', data: '' }, headers: {} },
  };
  return { kind: 'step', id, workflow: 'flow', request };
};

test('a canceled request starts no further step of its group', async () => {
  const executed: string[] = [];
  let endStep = (): void => {};
  const flow = serve(
    async (context: WorkflowContext<unknown>) => {
      for (const name of ['one', 'two', 'three']) {
        await context.run(name, async () => {
          executed.push(name);
          if (name === 'two') await new Promise<void>((resolve) => (endStep = resolve));
        });
      }
    },
    { checkpoint: { maxSteps: 10, maxMs: 60_000 } },
  );
  const { worker } = start({ workflows: { flow } });
  const frame = stepFrame(1);
  assert.ok(frame.kind === 'step');
  const request = { ...(frame.request as StepRequest), checkpoint: { maxSteps: 10, maxChars: 10_000 } };
  latest().welcome('n1', [{ nodeId: 'n1' }], { ...frame, request });
  while (!executed.includes('two')) await turn();
  latest().serve({ kind: 'cancel', id: 1 });
  endStep();
  await turn();
  await turn();
  await worker.close(GRACE_MS);
  assert.deepEqual(executed, ['one', 'two']);
  assert.ok(!latest().kinds().includes('answer'));
});

test('connects to each node that has an address of its own', async () => {
  const { worker } = start();
  latest().welcome('n1', OWN);
  await worker.connected;
  assert.deepEqual(hosts(), ['lb', 'two']);
  latest().welcome('n2', OWN);
  assert.equal(opened().length, 2);
  await worker.close(GRACE_MS);
  assert.equal(opened().length, 0);
});

test('reaches the nodes behind a load balancer through the URL of the server, and closes second connections', async () => {
  const { worker, move } = start();
  const [first] = FakeSocket.all;
  first?.welcome('n1', NODES);
  move(1_000);
  const second = latest();
  second.welcome('n1', NODES);
  await turn();
  assert.deepEqual(second.kinds(), ['hello', 'drain']);
  move(1_000);
  assert.equal(second.readyState, CLOSED);
  assert.equal(first?.readyState, OPEN);
  latest().welcome('n2', NODES);
  move(20_000);
  assert.equal(FakeSocket.all.length, 3);
  assert.equal(worker.state, 'connected');
});

test('answers the work that the server sends over a second connection together with its welcome, or shortly after', async () => {
  const { worker, move } = start();
  const [first] = FakeSocket.all;
  first?.welcome('n1', NODES);
  move(1_000);
  const second = latest();
  second.welcome('n1', NODES, stepFrame(1));
  await turn();
  move(500);
  second.serve(stepFrame(2));
  await turn();
  assert.deepEqual(second.kinds(), ['hello', 'drain', 'answer', 'answer']);
  assert.equal(second.readyState, OPEN);
  move(500);
  assert.equal(second.readyState, CLOSED);
  assert.equal(worker.state, 'connected');
});

test('does not wait for late work on a second connection when the worker is closed', async () => {
  const { worker, move } = start();
  const [first] = FakeSocket.all;
  first?.welcome('n1', NODES);
  move(1_000);
  latest().welcome('n1', NODES);
  await worker.close(GRACE_MS);
  assert.equal(opened().length, 0);
});

test('stops looking for a node that the load balancer never chooses, until the nodes change', () => {
  const { move } = start();
  const [first] = FakeSocket.all;
  first?.welcome('n1', NODES);
  for (let attempt = 0; attempt < 100; attempt++) {
    // Nothing is received for long, so the connection must be kept alive.
    first?.serve({ kind: 'ping' });
    move(20_000);
    if (latest() !== first && latest().readyState === CONNECTING) latest().welcome('n1', NODES);
  }
  assert.equal(FakeSocket.all.length, 1 + 8);
  first?.serve({ kind: 'nodes', nodes: [...NODES, { nodeId: 'n3' }] });
  move(1_000);
  assert.equal(FakeSocket.all.length, 1 + 8 + 1);
});

test('looks for a node through the URL of the server when its own address cannot be reached', () => {
  const { move } = start();
  const [first] = FakeSocket.all;
  first?.welcome('n1', OWN);
  for (let attempt = 0; attempt < 5; attempt++) {
    if (latest().host === 'two') latest().close();
    first?.serve({ kind: 'ping' });
    move(2_000);
  }
  assert.equal(hosts().filter((host) => host === 'lb').length, 2);
  FakeSocket.all.findLast(({ host }) => host === 'lb')?.welcome('n2', OWN);
  const count = FakeSocket.all.length;
  first?.serve({ kind: 'ping' });
  move(20_000);
  assert.equal(FakeSocket.all.length, count);
});

test('gives up a node that no longer exists', () => {
  const { move } = start();
  const [first] = FakeSocket.all;
  first?.welcome('n1', OWN);
  latest().close();
  first?.serve({ kind: 'nodes', nodes: OWN.slice(0, 1) });
  first?.serve({ kind: 'ping' });
  move(20_000);
  assert.deepEqual(hosts(), ['lb', 'two']);
});

test('waits longer before each attempt at the address of a killed node where a new node answers', async () => {
  const { worker, move } = start();
  const [first] = FakeSocket.all;
  const nodes = [
    { nodeId: 'n1', url: 'https://one' },
    { nodeId: 'n2', url: 'https://one' },
  ];
  first?.welcome('n2', nodes);
  const passSeconds = (seconds: number): void => {
    for (let elapsed = 0; elapsed < seconds; elapsed++) {
      first?.serve({ kind: 'ping' });
      if (latest().readyState === CONNECTING) latest().welcome('n2', nodes);
      move(1_000);
    }
  };
  passSeconds(60);
  const dials = hosts().filter((host) => host === 'one').length;
  assert.ok(dials >= 5 && dials <= 8, `${dials} attempts in a minute`);
  first?.serve({ kind: 'nodes', nodes: nodes.slice(1) });
  const count = FakeSocket.all.length;
  passSeconds(60);
  assert.equal(FakeSocket.all.length, count, 'no attempts when the node is no longer listed');
  await worker.close(GRACE_MS);
});

test('does not dial twice when a node has joined again under a new id', () => {
  const { move } = start();
  const [first] = FakeSocket.all;
  first?.welcome('n1', [{ nodeId: 'n1' }]);
  first?.serve({ kind: 'nodes', nodeId: 'n9', nodes: [{ nodeId: 'n9', url: 'https://one' }] });
  move(20_000);
  assert.deepEqual(hosts(), ['lb']);
});

test('waits longer after each connection that the server accepts and closes', () => {
  const { move } = start();
  for (let attempt = 0; attempt < 6; attempt++) {
    latest().welcome('n1');
    latest().close();
    move(LONG_MS);
  }
  const before = FakeSocket.all.length;
  latest().welcome('n1');
  latest().close();
  move(4_000);
  assert.equal(FakeSocket.all.length, before);
  move(LONG_MS);
  latest().welcome('n1');
  for (let beat = 0; beat < 2; beat++) {
    move(5_000);
    latest().serve({ kind: 'ping' });
  }
  latest().close();
  const stable = FakeSocket.all.length;
  move(250);
  assert.equal(FakeSocket.all.length, stable + 1, 'after a stable connection it reconnects soon');
});

test('keeps the connection of a stopping node until its work is answered, and already connects again', async () => {
  let finish = (): void => {};
  const flow = (context: WorkflowContext<unknown>) =>
    context.run('wait', () => new Promise<string>((resolve) => (finish = () => resolve('done'))));
  const { worker, move } = start({ workflows: { flow } });
  const [old] = FakeSocket.all;
  old?.welcome('n1', [{ nodeId: 'n1' }], stepFrame(1));
  await turn();
  old?.serve({ kind: 'drain' });
  assert.equal(worker.state, 'connecting');
  move(1_000);
  latest().welcome('n2');
  assert.equal(worker.state, 'connected');
  assert.equal(old?.readyState, OPEN);
  assert.equal(worker.inFlight, 1);
  finish();
  await turn();
  await turn();
  assert.ok(old?.kinds().includes('answer'), String(old?.kinds()));
  old?.close();
  move(LONG_MS / 2);
  assert.equal(worker.state, 'connected');
  assert.equal(FakeSocket.all.length, 2);
});

test('ends when the server rejects it permanently, and keeps its connection if only one node does', async () => {
  const { worker, move, states } = start();
  latest().reject(true);
  move(1_000);
  latest().reject(false);
  await assert.rejects(worker.connected, { code: 'unauthorized' });
  move(LONG_MS);
  assert.equal(FakeSocket.all.length, 2);
  assert.deepEqual(states, ['closed']);
});

test('keeps working when a single node rejects it permanently', () => {
  const { worker, move } = start();
  const [first] = FakeSocket.all;
  first?.welcome('n1', OWN);
  latest().reject(false);
  first?.serve({ kind: 'ping' });
  move(20_000);
  first?.serve({ kind: 'nodes', nodes: OWN });
  assert.equal(worker.state, 'connected');
  assert.equal(hosts().filter((host) => host === 'two').length, 1);
});

test('can be closed before it is connected, and twice at the same time', async () => {
  const { worker } = start();
  const socket = latest();
  const closing = [worker.close(GRACE_MS), worker.close(GRACE_MS)];
  await Promise.all(closing);
  await assert.rejects(worker.connected, { code: 'closed' });
  socket.open();
  assert.deepEqual(socket.frames, []);
  assert.equal(worker.state, 'closed');
});

test('closes twice at the same time while work is in progress', async () => {
  let finish = (): void => {};
  const flow = (context: WorkflowContext<unknown>) =>
    context.run('wait', () => new Promise<string>((resolve) => (finish = () => resolve('done'))));
  const { worker } = start({ workflows: { flow } });
  latest().welcome('n1', [{ nodeId: 'n1' }], stepFrame(1));
  await turn();
  const closing = Promise.all([worker.close(GRACE_MS), worker.close(GRACE_MS)]);
  finish();
  await closing;
  assert.ok(latest().kinds().includes('answer'));
});

test('rejects names and other options that are too long together, instead of reconnecting forever', async () => {
  // The header of a WebSocket frame takes 14 bytes.
  const maxBytes = MAX_HELLO_BYTES - 14;
  const { worker } = start({ version: '' });
  latest().open();
  const hello = JSON.stringify(latest().frames);
  await worker.close(GRACE_MS);
  const version = 'v'.repeat(maxBytes - hello.length);
  assert.throws(() => start({ version: `${version}v` }), {
    name: 'RangeError',
    message: /take 131059 bytes, .* at most 131058 bytes/,
  });
  assert.doesNotThrow(() => start({ version }));
});

test('tries again when the constructor of the socket fails', () => {
  class Failing extends FakeSocket {
    constructor(url: string) {
      super(url);
      throw new SyntaxError('bad');
    }
  }
  const { problems, worker } = start({ WebSocket: Failing });
  assert.equal(worker.state, 'connecting');
  return turn().then(async () => {
    assert.deepEqual(problems, ['wss://lb/v2/workers/connect: bad']);
    await worker.close(GRACE_MS);
  });
});
