import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StepRequest } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import { type WorkerChange, workersOf } from '../ports/workers.js';
import { ConnectedWorkers, type SimulatedWorker } from './connected-workers.fixture.js';
import type { WorkerLink } from './worker-link.js';
import type { WorkerTarget } from './worker-pools.js';

const ORDER = 'worker://shop/order';
const ORDERS = workersOf('qi_1', ORDER);
const TARGET = { instanceId: 'qi_1', app: 'shop', workflow: 'order', runKey: '' };
const POOL = 'qi_1 worker://shop';
const never = new AbortController().signal;

function occupy(link: WorkerLink | null, workflow = 'order'): void {
  const request = { kind: 'step', workflow, request: {} as StepRequest } as const;
  void link?.exchange(request, { timeoutMs: 60_000, signal: never });
}

/** Sends the request immediately, as its callers do. Returns the chosen worker. */
function sendTo(harness: ConnectedWorkers, target: WorkerTarget = TARGET): WorkerLink | 'busy' | null {
  const picked = harness.pools.pick(target);
  if (picked !== 'busy') occupy(picked, target.workflow);
  return picked;
}

it('picks the least loaded connection that serves the workflow', () => {
  const harness = new ConnectedWorkers();
  const [a, b] = [harness.connect({ maxConcurrency: 3 }), harness.connect({ maxConcurrency: 2 })];
  harness.connect({ workflows: ['refund'] });
  harness.connect({ app: 'bank' });
  const loads = Array.from({ length: 6 }, () => {
    sendTo(harness);
    return [a.link.inFlight, b.link.inFlight].sort();
  });
  assert.deepEqual(loads, [
    [0, 1],
    [1, 1],
    [1, 2],
    [2, 2],
    [2, 3],
    [2, 3],
  ]);
  assert.equal(sendTo(harness), 'busy');
  assert.equal(sendTo(harness, { ...TARGET, workflow: 'unknown' }), null);
  assert.equal(sendTo(harness, { ...TARGET, instanceId: 'qi_2' }), null);
});

it('picks the connection that holds the run, until it is full, drains or has ended', () => {
  const harness = new ConnectedWorkers();
  const [a, b] = [harness.connect(), harness.connect()];
  const target = { ...TARGET, runKey: 'r1' };
  const send = () => sendTo(harness, target);
  occupy(b.link);
  harness.pools.recordReply(b.link, 'r1', true);
  assert.equal(send(), b.link);
  assert.equal(send(), a.link, 'it is full');
  b.respond(1);
  b.respond(2);
  assert.equal(b.link.inFlight, 0);
  assert.equal(harness.pools.pick(target), b.link);
  harness.pools.recordReply(b.link, 'r1', false);
  occupy(b.link);
  occupy(b.link);
  assert.equal(harness.pools.pick(target), a.link, 'no connection holds it any longer');
  harness.pools.recordReply(a.link, 'r1', true);
  a.send({ kind: 'drain' });
  assert.equal(harness.pools.pick(target), 'busy');
  b.respond(3);
  a.lose();
  b.link.receive('[{"kind":"answer","id":3,"reply":{}}]');
  assert.equal(harness.pools.pick(target), b.link);
});

it('ignores that an ended connection held a run', () => {
  const harness = new ConnectedWorkers();
  const [a, b] = [harness.connect(), harness.connect()];
  harness.pools.recordReply(a.link, 'r1', true);
  a.lose();
  assert.equal(harness.pools.pick({ ...TARGET, runKey: 'r1' }), b.link);
  b.lose();
  assert.equal(harness.pools.pick({ ...TARGET, runKey: 'r1' }), null);
});

function wait(
  harness: ConnectedWorkers,
  name: string,
  log: string[],
  workers: Readonly<Record<string, SimulatedWorker>>,
  more = {},
) {
  const control = new AbortController();
  harness.pools.waitForFree({ ...TARGET, ...more }, control.signal, (link) => {
    occupy(link);
    const worker = Object.entries(workers).find(([, each]) => each.link === link)?.[0] ?? 'none';
    log.push(`${name} to ${worker}`);
  });
  return control;
}

it('assigns one waiting request to each slot that becomes free, in order', () => {
  const harness = new ConnectedWorkers();
  const a = harness.connect({ maxConcurrency: 1 });
  const log: string[] = [];
  occupy(a.link);
  for (const name of ['first', 'second', 'third']) wait(harness, name, log, { a });
  assert.deepEqual(log, []);
  a.link.receive('[{"kind":"answer","id":1,"reply":{}}]');
  assert.deepEqual(log, ['first to a']);
  assert.equal(a.link.inFlight, 1);
  const b = harness.connect({ maxConcurrency: 1 });
  assert.equal(b.link.inFlight + a.link.inFlight, 2);
  assert.equal(log.length, 2);
  a.link.receive('[{"kind":"answer","id":2,"reply":{}}]');
  assert.deepEqual(log.at(-1), 'third to a');
});

it('does not make a request wait behind a request for another workflow', () => {
  const harness = new ConnectedWorkers();
  const a = harness.connect({ maxConcurrency: 1 });
  const b = harness.connect({ maxConcurrency: 1, workflows: ['refund'] });
  const log: string[] = [];
  occupy(a.link);
  occupy(b.link);
  wait(harness, 'order', log, { a, b });
  wait(harness, 'refund', log, { a, b }, { workflow: 'refund' });
  b.link.receive('[{"kind":"answer","id":1,"reply":{}}]');
  assert.deepEqual(log, ['refund to b']);
});

it('ends the wait of a request that is aborted, or that no connection serves any longer', () => {
  const harness = new ConnectedWorkers();
  const a = harness.connect({ maxConcurrency: 1 });
  const log: string[] = [];
  occupy(a.link);
  const control = wait(harness, 'aborted', log, { a });
  wait(harness, 'left', log, { a });
  control.abort();
  assert.deepEqual(log, ['aborted to none']);
  a.lose();
  assert.deepEqual(log, ['aborted to none', 'left to none']);
  wait(harness, 'late', log, { a });
  assert.equal(log.at(-1), 'late to none');
});

it('returns since when no worker serves a workflow', async () => {
  const harness = new ConnectedWorkers();
  const { pools, clock } = harness;
  const startedAt = clock.now();
  const since = () => pools.missingSince('qi_1', ORDER);
  assert.equal(since(), startedAt);
  await harness.pass(500);
  const [a, b] = [harness.connect(), harness.connect()];
  assert.equal(since(), null);
  assert.equal(pools.missingSince('qi_1', 'worker://shop/refund'), startedAt);
  assert.equal(pools.missingSince('qi_2', ORDER), startedAt);
  assert.equal(pools.missingSince('qi_1', 'http://shop/order'), null);
  a.lose();
  assert.equal(since(), null);
  await harness.pass(500);
  b.lose();
  assert.equal(since(), startedAt + 1_000);
});

it('returns since when no worker serves a workflow while other workers of the app are connected', async () => {
  const harness = new ConnectedWorkers();
  const { pools, clock } = harness;
  const since = (workflow: string) => pools.missingSince('qi_1', `worker://shop/${workflow}`);
  harness.connect({ workflows: ['invoice'] });
  const order = harness.connect({ workflows: ['order', 'refund'] });
  await harness.pass(500);
  order.lose();
  const lostAt = clock.now();
  await harness.pass(500);
  const again = harness.connect({ workflows: ['order'] });
  assert.deepEqual([since('invoice'), since('order'), since('refund')], [null, null, lostAt]);
  await harness.pass(500);
  again.send({ kind: 'drain' });
  const drainedAt = clock.now();
  await harness.pass(500);
  again.lose();
  assert.deepEqual([since('invoice'), since('order'), since('refund')], [null, drainedAt, lostAt]);
});

it('counts the slots of open connections, and reports each change', () => {
  const harness = new ConnectedWorkers();
  const changes: WorkerChange[] = [];
  harness.pools.onChange((change) => changes.push(change));
  const a = harness.connect({ maxConcurrency: 3 });
  harness.connect({ maxConcurrency: 4 });
  assert.equal(harness.pools.freeSlots(ORDERS), 7);
  assert.deepEqual(changes, [
    { instanceId: 'qi_1', app: 'shop' },
    { instanceId: 'qi_1', app: 'shop' },
  ]);
  a.send({ kind: 'drain' });
  assert.equal(harness.pools.freeSlots(ORDERS), 4);
  a.lose();
  assert.equal(changes.length, 4);
  assert.deepEqual([harness.pools.freeSlots(ORDERS), harness.pools.linksOf('qi_1').length], [4, 1]);
});

/** Reserves a slot for a delivery that starts. */
function start({ pools }: ConnectedWorkers, key: string, workflow = 'order', heldKey?: string): boolean {
  const workers = workersOf('qi_1', `worker://shop/${workflow}`);
  return pools.reserve({ key, workers, runKey: key, isCounted: false }, heldKey);
}

const freeOf = ({ pools }: ConnectedWorkers, ...workflows: readonly string[]): readonly number[] =>
  workflows.map((workflow) => pools.freeSlots(workersOf('qi_1', `worker://shop/${workflow}`)));

it('reserves slots only of the connections that serve the workflow, and workflows share the slots of a connection', () => {
  const harness = new ConnectedWorkers();
  const free = () => freeOf(harness, 'order', 'report', 'ship');
  assert.deepEqual(free(), Array(3).fill(Number.POSITIVE_INFINITY), 'no worker serves them');
  assert.equal(start(harness, 'too early'), false);
  harness.connect({ workflows: ['report', 'ship'], maxConcurrency: 2 });
  harness.connect({ workflows: ['order'], maxConcurrency: 3 });
  assert.deepEqual(free(), [3, 2, 2]);
  start(harness, 'report', 'report');
  assert.deepEqual(free(), [3, 1, 1]);
  start(harness, 'ship', 'ship');
  assert.equal(start(harness, 'report 2', 'report'), false);
  assert.deepEqual(free(), [3, 0, 0]);
  for (const key of ['report', 'ship']) harness.pools.release(key);
  assert.deepEqual(free(), [3, 2, 2]);
});

it('reserves slots of connections that serve few workflows first, so that the others remain for other workflows', () => {
  const harness = new ConnectedWorkers();
  harness.connect({ workflows: ['order', 'report'], maxConcurrency: 1 });
  harness.connect({ workflows: ['order'], maxConcurrency: 1 });
  start(harness, 'order');
  assert.deepEqual(freeOf(harness, 'order', 'report'), [1, 1]);
  start(harness, 'order 2');
  assert.deepEqual(freeOf(harness, 'order', 'report'), [0, 0]);
});

it('passes a held slot to the delivery that starts, or uses the connection that holds its run', () => {
  const harness = new ConnectedWorkers();
  const [a, b] = [harness.connect({ maxConcurrency: 1 }), harness.connect({ maxConcurrency: 1 })];
  start(harness, 'held a');
  start(harness, 'held b');
  assert.equal(start(harness, 'first', 'order', 'held a'), true);
  assert.deepEqual(freeOf(harness, 'order'), [0]);
  harness.pools.release('first');
  assert.deepEqual(freeOf(harness, 'order'), [1]);
  const holder = sendTo(harness, { ...TARGET, deliveryKey: 'held b' }) === a.link ? b : a;
  harness.pools.recordReply(holder.link, 'second', true);
  assert.equal(start(harness, 'second', 'order', 'held b'), true);
  assert.deepEqual(freeOf(harness, 'order'), [1]);
  assert.equal(harness.pools.pick({ ...TARGET, deliveryKey: 'second' }), holder.link);
});

it('sends a delivery over the connection with its slot, even if another one is less loaded', () => {
  const harness = new ConnectedWorkers();
  const both = harness.connect({ maxConcurrency: 1, workflows: ['order', 'report'] });
  const many = harness.connect({ maxConcurrency: 9 });
  start(harness, 'report', 'report');
  start(harness, 'order');
  assert.equal(sendTo(harness, { ...TARGET, deliveryKey: 'order' }), many.link);
  assert.equal(sendTo(harness, { ...TARGET, workflow: 'report', deliveryKey: 'report' }), both.link);
});

it('moves the slot of a delivery whose connection is lost to the connection that gets the request', () => {
  const harness = new ConnectedWorkers();
  const a = harness.connect({ maxConcurrency: 1 });
  start(harness, 'first');
  const b = harness.connect({ maxConcurrency: 2 });
  a.lose();
  assert.deepEqual(freeOf(harness, 'order'), [2]);
  assert.equal(sendTo(harness, { ...TARGET, deliveryKey: 'first' }), b.link);
  assert.deepEqual(freeOf(harness, 'order'), [1]);
  harness.pools.release('first');
  assert.deepEqual(freeOf(harness, 'order'), [2]);
});

it('reports the workflows of connections that had no free slot and have one, and of those that join or leave', () => {
  const harness = new ConnectedWorkers();
  const { pools } = harness;
  const freed = () => pools.takeFreed().map(({ workers }) => [...workers]);
  const a = harness.connect({ workflows: ['order'], maxConcurrency: 2 });
  assert.deepEqual(freed(), [[ORDERS]]);
  start(harness, 'first');
  pools.release('first');
  assert.deepEqual(freed(), [], 'it had a free slot');
  for (const key of ['first', 'second']) start(harness, key);
  pools.release('first');
  start(harness, 'third');
  assert.deepEqual(freed(), [], 'the slot is taken again');
  pools.release('second');
  assert.deepEqual(freed(), [[ORDERS]]);
  a.lose();
  assert.deepEqual(freed(), [[ORDERS]]);
  pools.release('third');
  assert.deepEqual(freed(), []);
});

it('compares only a few of a thousand connections for a delivery', () => {
  const harness = new ConnectedWorkers();
  const workflows = Array.from({ length: 50 }, (_, index) => `w${index}`);
  for (let n = 0; n < 1_000; n++) harness.connect({ workflows, maxConcurrency: 2 });
  let readCount = 0;
  for (const link of harness.pools.links)
    for (const name of ['freeSlots', 'inFlight', 'isOpen'] as const) {
      const value = link[name];
      Object.defineProperty(link, name, {
        get: () => {
          readCount++;
          return value;
        },
      });
    }
  const target = { ...TARGET, workflow: 'w7' };
  const chosen = new Set<unknown>();
  for (let n = 0; n < 1_000; n++) {
    start(harness, `d${n}`, 'w7');
    chosen.add(harness.pools.pick({ ...target, deliveryKey: `d${n}` }));
  }
  assert.equal(chosen.size, 1_000, 'all connections get the same number of deliveries');
  assert.deepEqual(freeOf(harness, 'w7', 'w8'), [1_000, 1_000]);
  assert.equal(readCount, 1_000, 'a connection is read only to send its request');
});

it('counts the workflows of open connections, with a limit for each queue instance', () => {
  const harness = new ConnectedWorkers();
  const { servedWorkflows } = harness.pools;
  const names = (from: number, count: number) => Array.from({ length: count }, (_, n) => `flow-${from + n}`);
  const offer = (app: string, workflows: readonly string[], instanceId = 'qi_1') =>
    servedWorkflows.hasRoomFor({ instanceId, app, workflows });
  const first = harness.connect({ workflows: ['refund', 'order', 'order'] });
  const second = harness.connect({ workflows: ['ship', 'order'] });
  assert.deepEqual(servedWorkflows.namesOf(POOL), ['order', 'refund', 'ship']);
  first.send({ kind: 'drain' });
  assert.deepEqual(servedWorkflows.namesOf(POOL), ['order', 'ship']);
  first.lose();
  second.lose();
  assert.deepEqual(servedWorkflows.namesOf(POOL), []);

  for (let n = 0; n < LIMITS.maxServedWorkflowsOfInstance; n += 1_000)
    harness.connect({ app: `app-${n % 2_000}`, workflows: names(n, 1_000) });
  assert.equal(offer('app-0', names(0, 1_000)), true, 'these names are already served');
  assert.equal(offer('app-0', ['new']), false);
  assert.equal(offer('app-1000', ['flow-0']), false, 'another app serves another workflow');
  assert.equal(offer('app-0', ['new'], 'qi_2'), true);
  for (const link of harness.pools.links.slice(0, 1)) link.end();
  assert.equal(offer('app-0', ['new']), true);
});
