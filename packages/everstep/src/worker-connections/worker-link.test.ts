import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StepRequest } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import { ConnectedWorkers, HEARTBEAT_MS, type SimulatedWorker, settle } from './connected-workers.fixture.js';
import type { ExchangeOutcome } from './worker-link.js';

/** Returns a request whose content does not matter to a connection. */
const requestOf = (data: unknown) => ({ kind: 'step', workflow: 'order', request: data as StepRequest }) as const;

/** Sends a request, and notes its outcome when it is known. */
function ask({ link }: SimulatedWorker, { timeoutMs = 60_000, data = {} as unknown } = {}) {
  const control = new AbortController();
  const asked = { outcome: null as ExchangeOutcome | null, sent: 0, abort: () => control.abort() };
  const onSent = () => {
    asked.sent++;
  };
  void link.exchange(requestOf(data), { timeoutMs, signal: control.signal, onSent }).then((outcome) => {
    asked.outcome = outcome;
  });
  return asked;
}

it('sends the frames of a turn in one message, and calls onSent when they are sent', async () => {
  const worker = new ConnectedWorkers().connect();
  const [first, second] = [ask(worker), ask(worker)];
  assert.deepEqual([worker.messages.length, first.sent, second.sent], [0, 0, 0]);
  await worker.turn();
  assert.deepEqual(
    worker.messages.map((message) => message.map(({ kind }) => kind)),
    [['step', 'step']],
  );
  assert.deepEqual([first.sent, second.sent], [1, 1]);
  worker.respond(2);
  worker.respond(1);
  await worker.turn();
  assert.deepEqual([first.outcome?.kind, second.outcome?.kind, first.sent], ['replied', 'replied', 1]);
});

it('splits frames over several messages when they are long', async () => {
  const worker = new ConnectedWorkers().connect({ maxConcurrency: 10 });
  for (let i = 0; i < 5; i++) ask(worker, { data: 'x'.repeat(600_000) });
  await worker.turn();
  const steps = worker.messages.filter((message) => message.some(({ kind }) => kind === 'step'));
  assert.deepEqual(
    steps.map(({ length }) => length),
    [1, 1, 1, 1, 1],
  );
  assert.deepEqual(worker.receivedIds, [1, 2, 3, 4, 5]);
});

it('announces a long message with the time that it may take', async () => {
  const worker = new ConnectedWorkers().connect({ maxConcurrency: 10 });
  const mebibyte = 1024 * 1024;
  ask(worker, { data: 'x'.repeat(400_000) });
  ask(worker, { data: 'ü'.repeat(mebibyte) });
  await worker.turn();
  const parts = ['"', 'x'.repeat(mebibyte), '"'];
  const options = { timeoutMs: 1_000_000, signal: new AbortController().signal };
  void worker.link.exchange({ kind: 'long-step', workflow: 'order', requestParts: parts }, options);
  await worker.turn();
  assert.deepEqual(
    worker.frames.map((frame) => [frame.kind, frame.kind === 'incoming' && Math.floor(frame.transferMs / 1_000)]),
    [
      ['step', false],
      ['incoming', 32],
      ['step', false],
      ['incoming', 16],
      ['step', false],
    ],
  );
});

it('cancels a request that times out, and ignores its late reply', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  const asked = ask(worker, { timeoutMs: 1_000 });
  await worker.turn();
  await harness.pass(1_000);
  assert.deepEqual([asked.outcome, worker.count('cancel'), worker.link.inFlight], [{ kind: 'timed-out' }, 1, 0]);
  worker.respond(1);
  worker.respond(99);
  worker.send({ kind: 'noticed', id: 98, outcome: { kind: 'handled' } });
  const next = ask(worker);
  await worker.turn();
  assert.equal(next.outcome, null);
  assert.deepEqual(worker.closeCalls, []);
});

it('times out each request at its own time', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect({ maxConcurrency: 9 });
  const asked = [300, 100, 200, 500].map((timeoutMs) => ask(worker, { timeoutMs }));
  const outcomes = () => asked.map(({ outcome }) => outcome?.kind ?? 'waits');
  await worker.turn();
  await harness.pass(150);
  assert.deepEqual(outcomes(), ['waits', 'timed-out', 'waits', 'waits']);
  const late = ask(worker, { timeoutMs: 20 });
  await harness.pass(20);
  assert.equal(late.outcome?.kind, 'timed-out');
  worker.respond(4);
  await harness.pass(200);
  assert.deepEqual(outcomes(), ['timed-out', 'timed-out', 'timed-out', 'replied']);
});

it('cancels a request that is aborted, and does not send it if it is still unsent', async () => {
  const worker = new ConnectedWorkers().connect();
  const early = ask(worker);
  early.abort();
  const late = ask(worker);
  await worker.turn();
  late.abort();
  await worker.turn();
  assert.deepEqual([early.outcome, early.sent], [{ kind: 'aborted' }, 0]);
  assert.deepEqual([late.outcome, late.sent], [{ kind: 'aborted' }, 1]);
  assert.deepEqual(
    worker.frames.map((frame) => [frame.kind, 'id' in frame && frame.id]),
    [
      ['step', 2],
      ['cancel', 2],
    ],
  );
});

it('knows which of the lost requests had started', async () => {
  const worker = new ConnectedWorkers().connect({ maxConcurrency: 5 });
  const asked = [ask(worker), ask(worker), ask(worker)];
  await worker.turn();
  worker.send({ kind: 'received', through: 1 });
  worker.respond(2);
  worker.lose();
  await settle();
  assert.deepEqual(
    asked.map(({ outcome }) => (outcome?.kind === 'lost' ? outcome.started : outcome?.kind)),
    [true, 'replied', false],
  );
  assert.equal((await worker.link.exchange(requestOf({}), { timeoutMs: 1, signal: new AbortController().signal })).kind, 'lost');
});

it('does not accept that a worker has started an unsent request', async () => {
  const worker = new ConnectedWorkers().connect();
  worker.send({ kind: 'received', through: 1_000 });
  const asked = ask(worker);
  await worker.turn();
  worker.lose();
  await settle();
  assert.deepEqual(asked.outcome, { kind: 'lost', started: false });
});

it('sends other unsent frames when it closes, but no requests', async () => {
  const worker = new ConnectedWorkers().connect();
  const asked = ask(worker);
  worker.link.sendFrame({ kind: 'ping' });
  worker.link.close(1008, 'a reason');
  await settle();
  assert.deepEqual(
    worker.frames.map(({ kind }) => kind),
    ['ping'],
  );
  assert.deepEqual([asked.outcome, asked.sent], [{ kind: 'lost', started: false }, 0]);
  assert.deepEqual(worker.closeCalls, [{ code: 1008, reason: 'a reason' }]);
});

it('sends a ping when nothing was sent or received for a heartbeat', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  for (let beat = 1; beat <= 20; beat++) {
    await harness.pass(HEARTBEAT_MS);
    worker.send({ kind: 'pong' });
  }
  assert.ok(worker.count('ping') >= 10, `${worker.count('ping')} pings`);
  assert.deepEqual(worker.closeCalls, []);
});

it('closes the connection of a worker that is silent for too long, and its requests are lost', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  const asked = ask(worker, { timeoutMs: 1_000_000 });
  await harness.pass(3 * HEARTBEAT_MS);
  assert.deepEqual(worker.closeCalls, []);
  await harness.pass(2 * HEARTBEAT_MS);
  assert.deepEqual([worker.closeCalls.length, asked.outcome], [1, { kind: 'lost', started: false }]);
  // No timer is left.
  assert.equal(harness.clock.advance(), false);
});

it('reads what a worker has sent before it treats it as silent after a blocked event loop', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  worker.unsentBytes = 10;
  await harness.block(10 * HEARTBEAT_MS);
  assert.deepEqual(worker.closeCalls, []);
  worker.unsentBytes = 0;
  worker.send({ kind: 'pong' });
  await harness.pass(HEARTBEAT_MS);
  assert.deepEqual(worker.closeCalls, []);
  await harness.block(10 * HEARTBEAT_MS);
  assert.deepEqual(worker.closeCalls, []);
  await harness.pass(HEARTBEAT_MS);
  assert.equal(worker.closeCalls.length, 1);
});

it('waits for a long message while it arrives at the minimum rate, but not for one that arrives more slowly', async () => {
  for (const [bytesPerS, isInTime] of [
    [LIMITS.minWorkerBytesPerS, true],
    [LIMITS.minWorkerBytesPerS / 100, false],
  ] as const) {
    const harness = new ConnectedWorkers();
    const worker = harness.connect();
    const asked = ask(worker, { timeoutMs: 1_000_000 });
    await worker.turn();
    for (let second = 0; second < 200; second++) {
      worker.link.onBytes(bytesPerS);
      await harness.pass(1_000);
    }
    assert.equal(worker.closeCalls.length, isInTime ? 0 : 1);
    if (isInTime) worker.respond();
    await settle();
    assert.equal(asked.outcome?.kind, isInTime ? 'replied' : 'lost');
    // The bytes of earlier messages do not count.
    await harness.pass(5 * HEARTBEAT_MS);
    assert.equal(worker.closeCalls.length, 1);
  }
});

it('closes a drained connection when the last request has ended, however it ended', async () => {
  for (const end of ['answer', 'timeout', 'abort'] as const) {
    const harness = new ConnectedWorkers();
    const worker = harness.connect();
    const asked = ask(worker, { timeoutMs: 1_000 });
    await worker.turn();
    worker.link.drain();
    await worker.turn();
    assert.deepEqual([worker.count('drain'), worker.closeCalls.length, worker.link.freeSlots], [1, 0, 0]);
    if (end === 'answer') worker.respond();
    else if (end === 'abort') asked.abort();
    else await harness.pass(1_000);
    await worker.turn();
    assert.notEqual(asked.outcome, null);
    assert.deepEqual(worker.closeCalls, [{ code: 1001, reason: 'the server is stopping' }], end);
  }
});

it('sends no more work to a worker that drains, and accepts its replies', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  const asked = ask(worker);
  await worker.turn();
  worker.send({ kind: 'drain' });
  assert.deepEqual([worker.link.isOpen, worker.link.freeSlots], [false, 0]);
  assert.equal(harness.pools.pick({ instanceId: 'qi_1', app: 'shop', workflow: 'order', runKey: '' }), null);
  worker.respond();
  await settle();
  assert.deepEqual([asked.outcome?.kind, worker.closeCalls], ['replied', []]);
});

for (const text of ['', '{', '{}', '[1]', '[{"kind":"answer"}]', '[{"kind":"received","through":-1}]', `${'['.repeat(300)}`]) {
  it(`closes the connection after a malformed message (${text.slice(0, 40)})`, async () => {
    const worker = new ConnectedWorkers().connect();
    const asked = ask(worker);
    worker.link.receive(text);
    await settle();
    assert.deepEqual([worker.closeCalls[0]?.code, asked.outcome], [1008, { kind: 'lost', started: false }]);
  });
}

it('ignores frames of an unknown kind, which a newer worker sends', () => {
  const worker = new ConnectedWorkers().connect();
  worker.link.receive('[{"kind":"weather","rain":true},{"kind":"drain"}]');
  assert.deepEqual([worker.closeCalls, worker.link.isDraining], [[], true]);
});
