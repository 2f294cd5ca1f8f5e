import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { StepRequest } from '@everstep/sdk/protocol';
import type { WorkerChange } from '../ports/workers.js';
import { ConnectedWorkers, type PlayedWorker } from './connected-workers.fixture.js';
import type { WorkerLink } from './worker-link.js';

const TARGET = { instanceId: 'qi_1', app: 'shop', workflow: 'order', runKey: '' };
const POOL = 'qi_1 worker://shop';
const never = new AbortController().signal;

function occupy(link: WorkerLink | null, workflow = 'order'): void {
  const request = { kind: 'step', workflow, request: {} as StepRequest } as const;
  void link?.exchange(request, { timeoutMs: 60_000, signal: never });
}

/** Sends the request immediately, as its callers do. Returns the chosen worker. */
function sendTo(world: ConnectedWorkers, target = TARGET): WorkerLink | 'busy' | null {
  const picked = world.pools.pick(target);
  if (picked !== 'busy') occupy(picked, target.workflow);
  return picked;
}

it('picks the least loaded connection that serves the workflow', () => {
  const world = new ConnectedWorkers();
  const [a, b] = [world.connect({ maxConcurrency: 3 }), world.connect({ maxConcurrency: 2 })];
  world.connect({ workflows: ['refund'] });
  world.connect({ app: 'bank' });
  const loads = Array.from({ length: 6 }, () => {
    sendTo(world);
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
  assert.equal(sendTo(world), 'busy');
  assert.equal(sendTo(world, { ...TARGET, workflow: 'unknown' }), null);
  assert.equal(sendTo(world, { ...TARGET, instanceId: 'qi_2' }), null);
});

it('picks the connection that holds the run, until it is full, drains or has ended', () => {
  const world = new ConnectedWorkers();
  const [a, b] = [world.connect(), world.connect()];
  const target = { ...TARGET, runKey: 'r1' };
  const send = () => sendTo(world, target);
  occupy(b.link);
  world.pools.answered(b.link, 'r1', true);
  assert.equal(send(), b.link);
  assert.equal(send(), a.link, 'it is full');
  b.respond(1);
  b.respond(2);
  assert.equal(b.link.inFlight, 0);
  assert.equal(world.pools.pick(target), b.link);
  world.pools.answered(b.link, 'r1', false);
  occupy(b.link);
  occupy(b.link);
  assert.equal(world.pools.pick(target), a.link, 'no connection holds it any longer');
  world.pools.answered(a.link, 'r1', true);
  a.send({ kind: 'drain' });
  assert.equal(world.pools.pick(target), 'busy');
  b.respond(3);
  a.lose();
  b.link.receive('[{"kind":"answer","id":3,"reply":{}}]');
  assert.equal(world.pools.pick(target), b.link);
});

it('ignores that an ended connection held a run', () => {
  const world = new ConnectedWorkers();
  const [a, b] = [world.connect(), world.connect()];
  world.pools.answered(a.link, 'r1', true);
  a.lose();
  assert.equal(world.pools.pick({ ...TARGET, runKey: 'r1' }), b.link);
  b.lose();
  assert.equal(world.pools.pick({ ...TARGET, runKey: 'r1' }), null);
});

function wait(world: ConnectedWorkers, name: string, log: string[], workers: Readonly<Record<string, PlayedWorker>>, more = {}) {
  const control = new AbortController();
  world.pools.waitForFree({ ...TARGET, ...more }, control.signal, (link) => {
    occupy(link);
    const worker = Object.entries(workers).find(([, each]) => each.link === link)?.[0] ?? 'none';
    log.push(`${name} to ${worker}`);
  });
  return control;
}

it('assigns one waiting request to each slot that becomes free, in order', () => {
  const world = new ConnectedWorkers();
  const a = world.connect({ maxConcurrency: 1 });
  const log: string[] = [];
  occupy(a.link);
  for (const name of ['first', 'second', 'third']) wait(world, name, log, { a });
  assert.deepEqual(log, []);
  a.link.receive('[{"kind":"answer","id":1,"reply":{}}]');
  assert.deepEqual(log, ['first to a']);
  assert.equal(a.link.inFlight, 1);
  const b = world.connect({ maxConcurrency: 1 });
  assert.equal(b.link.inFlight + a.link.inFlight, 2);
  assert.equal(log.length, 2);
  a.link.receive('[{"kind":"answer","id":2,"reply":{}}]');
  assert.deepEqual(log.at(-1), 'third to a');
});

it('does not make a request wait behind a request for another workflow', () => {
  const world = new ConnectedWorkers();
  const a = world.connect({ maxConcurrency: 1 });
  const b = world.connect({ maxConcurrency: 1, workflows: ['refund'] });
  const log: string[] = [];
  occupy(a.link);
  occupy(b.link);
  wait(world, 'order', log, { a, b });
  wait(world, 'refund', log, { a, b }, { workflow: 'refund' });
  b.link.receive('[{"kind":"answer","id":1,"reply":{}}]');
  assert.deepEqual(log, ['refund to b']);
});

it('ends the wait of a request that is aborted, or that no connection serves any longer', () => {
  const world = new ConnectedWorkers();
  const a = world.connect({ maxConcurrency: 1 });
  const log: string[] = [];
  occupy(a.link);
  const control = wait(world, 'aborted', log, { a });
  wait(world, 'left', log, { a });
  control.abort();
  assert.deepEqual(log, ['aborted to none']);
  a.lose();
  assert.deepEqual(log, ['aborted to none', 'left to none']);
  wait(world, 'late', log, { a });
  assert.equal(log.at(-1), 'late to none');
});

it('returns since when no worker serves a workflow', async () => {
  const world = new ConnectedWorkers();
  const { pools, clock } = world;
  const startedAt = clock.now();
  const since = () => pools.missingSince('qi_1', 'worker://shop/order');
  assert.equal(since(), startedAt);
  await world.pass(500);
  const [a, b] = [world.connect(), world.connect()];
  assert.equal(since(), null);
  assert.equal(pools.missingSince('qi_1', 'worker://shop/refund'), startedAt);
  assert.equal(pools.missingSince('qi_2', 'worker://shop/order'), startedAt);
  assert.equal(pools.missingSince('qi_1', 'http://shop/order'), null);
  a.lose();
  assert.equal(since(), null);
  await world.pass(500);
  b.lose();
  assert.equal(since(), startedAt + 1_000);
});

it('counts the slots of open connections, and reports each change', () => {
  const world = new ConnectedWorkers();
  const changes: WorkerChange[] = [];
  world.pools.onChange((change) => changes.push(change));
  const a = world.connect({ maxConcurrency: 3 });
  world.connect({ maxConcurrency: 4 });
  assert.equal(world.pools.capacityOf(POOL), 7);
  assert.deepEqual(changes, [
    { instanceId: 'qi_1', app: 'shop' },
    { instanceId: 'qi_1', app: 'shop' },
  ]);
  a.send({ kind: 'drain' });
  assert.equal(world.pools.capacityOf(POOL), 4);
  a.lose();
  assert.equal(changes.length, 4);
  assert.deepEqual([world.pools.capacityOf(POOL), world.pools.linksOf('qi_1').length], [4, 1]);
});
