/** Tests the memory for messages of workers, and workers that do not read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceFrame } from '@everstep/sdk/protocol';
import type { WebSocket } from 'ws';
import { LIMITS } from '../../config/limits.js';
import { LONG_BYTES, type WorkSlices } from '../../fairness/work-slices.js';
import type { WorkerLink, WorkerRequest } from '../../worker-connections/worker-link.js';
import { WorkerHarness } from './worker-client.fixture.js';

const MiB = 1024 * 1024;
const turn = () => new Promise((resolve) => setImmediate(resolve));

function request(workflowRunId = 'wfr_1'): WorkerRequest {
  const notice = { workflowRunId } as Extract<ServiceFrame, { kind: 'notice' }>['notice'];
  return { kind: 'notice', workflow: 'order', notice };
}

function ask(link: WorkerLink, outcomeRecorded: Promise<void>, sent = request()): Promise<string> {
  const options = { timeoutMs: 3_600_000, signal: new AbortController().signal, outcomeRecorded };
  return link.exchange(sent, options).then(({ kind }) => kind);
}

test('counts the bytes of long messages until their replies are recorded, and waits while the memory is used up', async () => {
  const harness = await WorkerHarness.open({}, 16 * MiB);
  const { maxBytes, maxReplyBytes } = harness.replies.limits;
  const connected = [];
  for (let n = 0; n < 6; n++) connected.push(await harness.connect());
  const records: (() => void)[] = [];
  const outcomes: string[] = [];
  for (const { worker, link } of connected) {
    const recorded = new Promise<void>((resolve) => records.push(resolve));
    void ask(link, recorded).then((kind) => outcomes.push(kind));
    const { id } = await worker.frame('notice');
    worker.send({ kind: 'noticed', id, outcome: 'x'.repeat(maxReplyBytes - 1_000) });
  }
  while (outcomes.length === 0) await turn();
  // The others wait, although their workers have sent everything.
  for (let n = 0; n < 50; n++) await turn();
  assert.ok(outcomes.length < 6, `${outcomes.length} of 6 messages were read`);
  assert.ok(maxBytes - harness.replies.free <= maxBytes);
  while (outcomes.length < 6) {
    for (const record of records) record();
    await turn();
  }
  while (harness.replies.free < maxBytes) await turn();
  assert.deepEqual(new Set(outcomes), new Set(['noticed']));
  for (const { worker } of connected) worker.socket.terminate();
  await harness.close();
});

test('frees the memory of a message whose worker disconnects or whose frames are not expected', async () => {
  const harness = await WorkerHarness.open({}, 16 * MiB);
  const { maxBytes } = harness.replies.limits;
  const { worker } = await harness.connect();
  worker.socket.send('x'.repeat(2 * MiB), { fin: false });
  while (harness.replies.free === maxBytes) await turn();
  worker.socket.terminate();
  while (harness.replies.free < maxBytes) await turn();
  const { worker: stranger } = await harness.connect();
  stranger.socket.send(`[{"kind":"news","text":"${'x'.repeat(2 * MiB)}"}]`);
  await stranger.closed;
  while (harness.replies.free < maxBytes) await turn();
  await harness.close();
});

test('a worker is not silent while a long message arrives', async () => {
  const harness = await WorkerHarness.open();
  const { worker, link } = await harness.connect();
  const { maxBytes } = harness.replies.limits;
  worker.socket.send('x'.repeat(2 * MiB), { fin: false });
  while (maxBytes - harness.replies.free < 2 * MiB) await turn();
  const start = harness.clock.now();
  const passUntil = (seconds: number): void => {
    while (harness.clock.now() < start + seconds * 1_000 && harness.clock.advance());
  };
  // Two MiB may take 32 seconds, in addition to three heartbeats.
  passUntil(60);
  assert.equal(link.isOpen, true);
  passUntil(80);
  assert.equal(link.isOpen, false);
  await worker.closed;
  await harness.close();
});

test('a long message is handled although its worker closes the connection directly after it', async () => {
  let handle = (): void => {};
  const slices: Pick<WorkSlices, 'run'> = {
    run: async (_instanceId, work) => {
      await new Promise<void>((resolve) => (handle = resolve));
      return work();
    },
  };
  const harness = await WorkerHarness.open({ slices });
  const { worker, link } = await harness.connect();
  const outcome = ask(link, Promise.resolve());
  const { id } = await worker.frame('notice');
  worker.send({ kind: 'noticed', id, outcome: 'x'.repeat(MiB) });
  worker.socket.close();
  await worker.closed;
  while (link.isOpen) await turn();
  assert.deepEqual([link.inFlight, link.freeSlots], [1, 0]);
  handle();
  assert.equal(await outcome, 'noticed');
  while (harness.pools.links.length > 0) await turn();
  await harness.close();
});

const LONG: WorkerRequest = {
  kind: 'long-step',
  workflow: 'order',
  requestParts: ['{"journal":{"entries":[', JSON.stringify('ü'.repeat(MiB)), ',', JSON.stringify('x'.repeat(MiB)), ']}}'],
};

test('a long request arrives as one message, and later messages follow it', async () => {
  const harness = await WorkerHarness.open();
  const { worker, link } = await harness.connect();
  const first = ask(link, Promise.resolve(), LONG);
  while (worker.frames.length === 1) {
    if (link.inFlight === 1) void ask(link, Promise.resolve());
    await turn();
  }
  const { id: laterId } = await worker.frame('notice');
  assert.deepEqual(
    worker.frames.slice(0, 4).map(({ kind }) => kind),
    ['welcome', 'incoming', 'step', 'notice'],
  );
  const sent = await worker.frame('step');
  assert.equal(sent.workflow, 'order');
  assert.deepEqual(sent.request, { journal: { entries: ['ü'.repeat(MiB), 'x'.repeat(MiB)] } });
  assert.ok(laterId > sent.id);
  worker.send({ kind: 'noticed', id: sent.id, outcome: 1 });
  assert.equal(await first, 'noticed');
  worker.socket.terminate();
  await harness.close();
});

test('a long request of many small parts arrives, although clients limit the number of fragments of a message', async () => {
  const harness = await WorkerHarness.open();
  const { worker, link } = await harness.connect();
  const entries = Array.from({ length: 20_000 }, (_, n) => `entry ${n}`);
  // Each of the characters has two code units. Because of the x, a fragment of full length would end within a character.
  const last = `${'😀'.repeat(LONG_BYTES)}x${'😀'.repeat(LONG_BYTES)}`;
  const requestParts = ['{"journal":{"entries":[', ...entries.map((entry) => `"${entry}",`), `"${last}"`, ']}}'];
  const asked = ask(link, Promise.resolve(), { ...LONG, requestParts });
  const { id, request: received } = await worker.frame('step');
  assert.deepEqual(received, { journal: { entries: [...entries, last] } });
  worker.send({ kind: 'noticed', id, outcome: 1 });
  assert.equal(await asked, 'noticed');
  worker.socket.terminate();
  await harness.close();
});

test('a connection that ends during a long request loses the request', async () => {
  const harness = await WorkerHarness.open();
  for (const end of ['worker', 'service'] as const) {
    const { worker, link } = await harness.connect();
    worker.socket.pause();
    const outcome = ask(link, Promise.resolve(), { ...LONG, requestParts: Array.from({ length: 40 }, () => 'x'.repeat(MiB)) });
    while (link.freeSlots > 0) await turn();
    if (end === 'service') link.close(1008, 'test');
    else worker.socket.terminate();
    assert.equal(await outcome, 'lost');
    worker.socket.resume();
    await worker.closed;
  }
  await harness.close();
});

test('a change of the time of the machine ends no connection and no request', async () => {
  const harness = await WorkerHarness.open();
  const { worker, link } = await harness.connect();
  const outcome = ask(link, Promise.resolve());
  const { id } = await worker.frame('notice');
  harness.wall.aheadMs = 86_400_000;
  const start = harness.clock.now();
  while (harness.clock.now() < start + 2 * LIMITS.workerHeartbeatMs && harness.clock.advance());
  assert.equal(link.isOpen, true);
  worker.send({ kind: 'noticed', id, outcome: 1 });
  assert.equal(await outcome, 'noticed');
  worker.socket.terminate();
  await harness.close();
});

test('ends the connection of a worker that does not read, without waiting for it', async () => {
  const harness = await WorkerHarness.open();
  const { worker, link } = await harness.connect();
  worker.socket.pause();
  const outcome = ask(link, Promise.resolve(), request('x'.repeat(40 * MiB)));
  while (link.freeSlots > 0) await turn();
  const start = harness.clock.now();
  for (const limitMs = start + 3_600_000; link.isOpen && harness.clock.now() < limitMs; ) {
    harness.clock.advance();
    await turn();
  }
  assert.equal(link.isOpen, false);
  assert.equal(await outcome, 'lost');
  const { details } = harness.api.logged.find(({ message }) => message === 'worker disconnected') ?? {};
  assert.match(String(details?.reason), /the worker (reads too slowly|did not send anything for too long)/);
  worker.socket.resume();
  assert.equal((await worker.closed).code, 1006);
  await harness.close();
});

test('logs the code with which a connection was closed, but no text of the worker', async () => {
  const harness = await WorkerHarness.open();
  const ends: readonly ((socket: WebSocket) => void)[] = [
    (socket) => socket.close(1009, 'secret'),
    (socket) => socket.terminate(),
  ];
  for (const end of ends) {
    const { worker } = await harness.connect();
    end(worker.socket);
    while (harness.pools.links.length > 0) await turn();
  }
  const lines = harness.api.logged.filter(({ message }) => message === 'worker disconnected');
  assert.deepEqual(
    lines.map(({ details: { reason, closeCode } }) => [reason, closeCode]),
    [
      ['the connection was closed', 1009],
      ['the connection was closed', 1006],
    ],
  );
  await harness.close();
});

test('a message over the limit ends the connection', async () => {
  const harness = await WorkerHarness.open();
  const { worker } = await harness.connect();
  worker.socket.send('x'.repeat(LIMITS.maxWorkerMessageBytes + 1));
  assert.equal((await worker.closed).code, 1009);
  await harness.close();
});

test('a message with too many fragments ends the connection', async () => {
  const harness = await WorkerHarness.open();
  const { worker, link } = await harness.connect();
  const sendFragments = (text: string, count: number): void => {
    for (let n = 1; n < count; n++) worker.socket.send(text.charAt(n - 1), { fin: false });
    worker.socket.send(text.slice(count - 1), { fin: true });
  };
  const { maxWorkerMessageFragments: maxFragments } = LIMITS;
  const asked = ask(link, Promise.resolve());
  const { id } = await worker.frame('notice');
  sendFragments(JSON.stringify([{ kind: 'noticed', id, outcome: 'x'.repeat(maxFragments) }]), maxFragments);
  assert.equal(await asked, 'noticed');
  sendFragments(' '.repeat(maxFragments + 1), maxFragments + 1);
  assert.equal((await worker.closed).code, 1008);
  await harness.close();
});
