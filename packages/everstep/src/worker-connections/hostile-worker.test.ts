/** Tests connections whose worker does not follow the protocol, or reads too slowly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceFrame, WorkerFrame } from '@everstep/sdk/protocol';
import fc from 'fast-check';
import { LIMITS } from '../config/limits.js';
import { ConnectedWorkers, HEARTBEAT_MS, type SimulatedWorker, settle } from './connected-workers.fixture.js';
import { readFrames, readHello } from './read-frames.js';
import type { ExchangeOutcome, WorkerRequest } from './worker-link.js';

const REQUEST = {
  kind: 'notice',
  workflow: 'order',
  notice: {} as Extract<ServiceFrame, { kind: 'notice' }>['notice'],
} as const;
const UNASKED = 'the worker sent too many frames that the server did not request';
const TOO_SLOW = 'the worker reads too slowly';

interface Asked {
  readonly outcomes: readonly ExchangeOutcome[];
  readonly abort: () => void;
}

const MiB = 1024 * 1024;
/** A request with a little more than 2 MiB. */
const LONG_REQUEST: WorkerRequest = { ...REQUEST, notice: { body: 'x'.repeat(2 * MiB) } as (typeof REQUEST)['notice'] };

/** Sends a request and collects its outcomes. */
function ask({ link }: SimulatedWorker, outcomeRecorded?: Promise<void>, request: WorkerRequest = REQUEST): Asked {
  const outcomes: ExchangeOutcome[] = [];
  const controller = new AbortController();
  const options = { timeoutMs: 3_600_000, signal: controller.signal, outcomeRecorded };
  void link.exchange(request, options).then((outcome) => outcomes.push(outcome));
  return { outcomes, abort: () => controller.abort() };
}

const repeat = (count: number, frame: WorkerFrame): readonly WorkerFrame[] => Array.from({ length: count }, () => frame);
const reasonOf = ({ closeCalls }: SimulatedWorker): string | undefined => closeCalls[0]?.reason;

test('closes a connection that sends unexpected frames in a loop', () => {
  const strangers: readonly WorkerFrame[] = [
    { kind: 'pong' },
    { kind: 'received', through: 0 },
    { kind: 'received', through: Number.MAX_SAFE_INTEGER },
    { kind: 'too-long', id: 7, bytes: 1 },
    { kind: 'noticed', id: 7, outcome: { kind: 'handled' } },
    { kind: 'answer', id: 7, reply: { protocol: 1, kind: 'journal-needed' } },
  ];
  for (const frame of strangers) {
    const worker = new ConnectedWorkers().connect();
    worker.send(...repeat(LIMITS.maxUnexpectedWorkerFrames, frame));
    assert.equal(reasonOf(worker), undefined, JSON.stringify(frame));
    worker.send(frame);
    assert.equal(reasonOf(worker), UNASKED, JSON.stringify(frame));
  }
  const unknown = new ConnectedWorkers().connect();
  for (let n = 0; n <= LIMITS.maxUnexpectedWorkerFrames; n++) unknown.link.receive('[{"kind":"news"}]');
  assert.equal(reasonOf(unknown), UNASKED);
});

test('permits as many unexpected frames again after each heartbeat interval', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  for (let n = 0; n < 3; n++) {
    worker.send(...repeat(LIMITS.maxUnexpectedWorkerFrames, { kind: 'pong' }));
    await harness.pass(HEARTBEAT_MS);
  }
  assert.equal(reasonOf(worker), undefined);
});

test('a long unexpected frame counts by its size', () => {
  const worker = new ConnectedWorkers().connect();
  const text = 'x'.repeat(LIMITS.maxUnexpectedWorkerFrames * 1024);
  worker.link.receive(`[{"kind":"answer","id":1,"reply":"${text}"}]`);
  assert.equal(reasonOf(worker), UNASKED);
});

test('replies to requests, the first pong after a ping and late replies are not limited', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect({ maxConcurrency: 10 });
  for (let n = 0; n < LIMITS.maxUnexpectedWorkerFrames; n++) {
    const asked = ask(worker);
    const late = ask(worker);
    await worker.turn();
    late.abort();
    const [id = 0, lateId = 0] = worker.receivedIds.slice(-2);
    worker.send({ kind: 'received', through: lateId }, { kind: 'noticed', id, outcome: { kind: 'handled' } });
    worker.send({ kind: 'noticed', id: lateId, outcome: { kind: 'handled' } });
    await settle();
    assert.equal(asked.outcomes[0]?.kind, 'noticed');
    worker.messages.length = 0;
  }
  worker.send(...repeat(LIMITS.maxUnexpectedWorkerFrames, { kind: 'pong' }));
  assert.equal(reasonOf(worker), undefined);
  worker.link.close(1000, 'end');
});

test('a reply that is sent twice has no effect, and its id is not used again', async () => {
  const worker = new ConnectedWorkers().connect();
  const asked = ask(worker);
  await worker.turn();
  worker.respond(1);
  worker.respond(1);
  const next = ask(worker);
  await worker.turn();
  worker.respond(1);
  await settle();
  assert.deepEqual([asked.outcomes.length, next.outcomes.length, worker.receivedIds], [1, 0, [1, 2]]);
  worker.link.close(1000, 'end');
});

test('closes a connection whose message is malformed, too deep, or has too many values or frames', () => {
  const table: readonly (readonly [text: string, reason: RegExp])[] = [
    ['{}', /not an array of frames/],
    ['[]', /not an array of frames/],
    ['[1]', /not an array of frames/],
    ['[null]', /not an array of frames/],
    ['[{"kind":1}]', /has no kind/],
    ['[{"kind":"answer","id":-1}]', /a reply has no id/],
    ['[{"kind":"answer","id":1e300}]', /a reply has no id/],
    ['[{"kind":"received"}]', /has no "through"/],
    ['[{"kind":"pong"}', /is not JSON/],
    ['['.repeat(300) + ']'.repeat(300), /exceeds a limit: nested deeper/],
    [`[{"kind":"answer","id":1,"reply":[${'{},'.repeat(2_000_000)}{}]}]`, /exceeds a limit: more than 2000000/],
    [`[${'{},'.repeat(LIMITS.maxWorkerFrames)}{}]`, /more than 20000 frames/],
  ];
  for (const [text, reason] of table) {
    const worker = new ConnectedWorkers().connect();
    worker.link.receive(text);
    assert.match(reasonOf(worker) ?? '', reason, text.slice(0, 40));
    worker.link.receive(text);
    assert.equal(worker.closeCalls.length, 1);
  }
});

test('calls back when the replies in a message are recorded', async () => {
  const worker = new ConnectedWorkers().connect();
  let record = (): void => {};
  const first = ask(worker, new Promise<void>((resolve) => (record = resolve)));
  ask(worker, Promise.resolve());
  await worker.turn();
  let isRecorded = false;
  const frames = [1, 2].map((id) => ({ kind: 'noticed', id, outcome: { kind: 'handled' } }));
  worker.link.receive(JSON.stringify(frames), () => {
    isRecorded = true;
  });
  await settle();
  assert.deepEqual([first.outcomes.length, isRecorded], [1, false]);
  record();
  await settle();
  assert.equal(isRecorded, true);
  for (const text of ['not JSON', '[{"kind":"pong"}]']) {
    let isDropped = false;
    worker.link.receive(text, () => {
      isDropped = true;
    });
    await settle();
    assert.equal(isDropped, true, text);
  }
});

test('a connection with too many unsent bytes gets no further request until they are sent', async () => {
  const harness = new ConnectedWorkers();
  const [slow, other] = [harness.connect(), harness.connect()];
  const target = { instanceId: 'qi_1', app: 'shop', workflow: 'order', runKey: '' };
  slow.unsentBytes = LIMITS.maxUnsentWorkerBytes + 1;
  assert.equal(harness.pools.pick(target), other.link);
  other.unsentBytes = slow.unsentBytes;
  assert.equal(harness.pools.pick(target), 'busy');
  const started: unknown[] = [];
  harness.pools.waitForFree(target, new AbortController().signal, (link) => started.push(link));
  slow.unsentBytes = 0;
  slow.link.onTransportDrained();
  assert.deepEqual(started, [slow.link]);
  for (const { link } of [slow, other]) link.close(1000, 'end');
});

test('closes a connection that reads nothing for too long, but not one that reads slowly', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  for (let n = 0; n < 20; n++) {
    // The worker reads, although some bytes are always unsent.
    ask(worker).abort();
    worker.link.sendFrame({ kind: 'cancel', id: 1_000 });
    worker.unsentBytes = 10;
    await harness.pass(HEARTBEAT_MS);
    worker.send({ kind: 'pong' });
  }
  assert.equal(reasonOf(worker), undefined);
  const blocked = harness.connect();
  blocked.unsentBytes = LIMITS.minWorkerBytesPerS * 60;
  const until = 3 * HEARTBEAT_MS + 60_000;
  for (let ms = 0; ms < until; ms += HEARTBEAT_MS) {
    await harness.pass(HEARTBEAT_MS);
    blocked.send({ kind: 'pong' });
    worker.send({ kind: 'pong' });
    worker.unsentBytes = 0;
  }
  assert.equal(reasonOf(blocked), undefined);
  await harness.pass(HEARTBEAT_MS);
  assert.equal(reasonOf(blocked), TOO_SLOW);
  worker.link.close(1000, 'end');
});

test('closes a connection that does not read the rest of a request that was given up', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  const given = ask(worker);
  await worker.turn();
  worker.unsentBytes = LIMITS.maxUnsentWorkerBytes + 1;
  given.abort();
  await harness.pass(LIMITS.unreadRequestTimeoutMs - 1);
  assert.equal(reasonOf(worker), undefined);
  await harness.pass(1);
  assert.equal(reasonOf(worker), TOO_SLOW);
});

test('stays open when a request is given up that was read before another request, or that is read slowly', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  const read = ask(worker);
  await worker.turn();
  const unread = ask(worker, undefined, LONG_REQUEST);
  await worker.turn();
  worker.unsentBytes = 2 * MiB;
  read.abort();
  await harness.pass(2 * LIMITS.unreadRequestTimeoutMs);
  assert.equal(reasonOf(worker), undefined);
  unread.abort();
  const minLength = (LIMITS.unreadRequestTimeoutMs / 1_000) * LIMITS.minWorkerBytesPerS;
  for (let n = 0; n < 2; n++) {
    worker.unsentBytes -= minLength;
    await harness.pass(LIMITS.unreadRequestTimeoutMs);
    worker.send({ kind: 'pong' });
  }
  assert.equal(reasonOf(worker), undefined);
  worker.unsentBytes -= minLength - 1;
  await harness.pass(LIMITS.unreadRequestTimeoutMs);
  assert.equal(reasonOf(worker), TOO_SLOW);
});

test('a connection from which the server does not read is not treated as silent', async () => {
  const harness = new ConnectedWorkers();
  const worker = harness.connect();
  worker.isPaused = true;
  await harness.pass(10 * HEARTBEAT_MS);
  assert.equal(reasonOf(worker), undefined);
  worker.isPaused = false;
  await harness.pass(5 * HEARTBEAT_MS);
  assert.equal(reasonOf(worker), 'the worker did not send anything for too long');
});

const HELLO = {
  ...{ kind: 'hello', connection: 1, protocol: 1, token: 't', app: 'shop', workflows: ['order'], maxConcurrency: 1 },
  ...{ workerId: 'w', sdk: 's', host: 'h', version: '1' },
};

test('a hello with a value of the wrong kind is rejected with a reason', () => {
  assert.equal(readHello(JSON.stringify([HELLO])).ok, true);
  const wrong: readonly unknown[] = [
    null,
    true,
    -1,
    1.5,
    '',
    'a\nb',
    'x'.repeat(5_000),
    [],
    [''],
    {},
    { toString: 1 },
    { length: 3 },
  ];
  for (const name of Object.keys(HELLO)) {
    for (const value of wrong) {
      const read = readHello(JSON.stringify([{ ...HELLO, [name]: value }]));
      // A token may have any characters, because it is only compared; so are version numbers.
      const isText = typeof value === 'string' && (name === 'token' || (value === '' && name !== 'app'));
      if (read.ok) assert.ok(isText && name !== 'kind', `${name}: ${JSON.stringify(value)}`);
      else assert.ok(read.message.length < 300, read.message);
    }
  }
});

/** Values as a hostile or faulty worker might send them. */
const value = fc.oneof(fc.jsonValue(), fc.integer(), fc.constantFrom('answer', 'pong', 'drain', '__proto__', 2 ** 53, -0));
const frame = fc.record(
  {
    kind: fc.oneof(fc.constantFrom('answer', 'noticed', 'too-long', 'received', 'pong', 'drain', 'hello'), value),
    id: fc.oneof(fc.integer({ min: 0, max: 12 }), value),
    through: fc.oneof(fc.integer({ min: 0, max: 12 }), value),
    bytes: value,
    reply: value,
    outcome: value,
  },
  { requiredKeys: [] },
);
const message = fc.oneof(
  fc.array(frame, { maxLength: 8 }).map((frames) => JSON.stringify(frames)),
  fc.json(),
  fc.string(),
  fc.array(frame, { maxLength: 3 }).map((frames) => JSON.stringify(frames).slice(0, -1)),
);
const RUNS = { seed: 20, numRuns: 300 };

test('reading any message returns frames or a short reason', () => {
  fc.assert(
    fc.property(message, (text) => {
      const frames = readFrames(text);
      if (typeof frames === 'string') assert.ok(frames.length < 300);
      else assert.ok(frames.length > 0);
      const hello = readHello(text);
      assert.ok(!hello.ok && hello.message.length < 300);
    }),
    RUNS,
  );
  const mutated = fc.record(
    Object.fromEntries(Object.entries(HELLO).map(([name, own]) => [name, fc.oneof(fc.constant(own), value)])),
  );
  fc.assert(
    fc.property(mutated, (hello) => {
      const read = readHello(JSON.stringify([hello]));
      if (read.ok) assert.equal(read.hello.app, 'shop');
    }),
    RUNS,
  );
});

test('any messages settle each request at most once, and never leave one open after the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 12 }), fc.integer({ min: 0, max: 6 }), async (texts, requests) => {
      const worker = new ConnectedWorkers().connect({ maxConcurrency: 10 });
      const asked = Array.from({ length: requests }, () => ask(worker));
      await worker.turn();
      for (const text of texts) worker.link.receive(text);
      await settle();
      const settledOnes = asked.filter(({ outcomes }) => outcomes.length > 0).length;
      assert.equal(worker.link.inFlight, requests - settledOnes);
      assert.ok(worker.link.freeSlots >= 0 && worker.closeCalls.length <= 1);
      worker.lose();
      await settle();
      assert.ok(asked.every(({ outcomes }) => outcomes.length === 1));
    }),
    { ...RUNS, numRuns: 100 },
  );
});
