import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ready, ReadyQueue } from './ready-queue.js';

const task = (runKey: string, instanceId = 'qi_1'): Ready => ({
  runKey,
  slot: 1,
  passage: { instanceId, flowControlKey: null, origin: 'http://a' },
});

test('destinations take turns for a place, so that two that are busy do not keep out a third', () => {
  const queue = new ReadyQueue({ maxInFlight: 4, maxInFlightPerHost: 2 });
  const started: { host: string; runKey: string }[] = [];
  const drain = () => queue.drain(Number.POSITIVE_INFINITY, (host, { runKey }) => started.push({ host, runKey }));
  for (const host of ['a', 'b', 'c']) for (let i = 0; i < 10; i++) queue.add(host, task(`${host}${i}`), 'begun', 0);
  drain();
  for (let i = 0; i < 12; i++) {
    const over = started[i];
    assert.ok(over);
    queue.done(over.host, { runKey: over.runKey, slot: 1 });
    drain();
  }
  const served = (host: string) => started.filter((other) => other.host === host).length;
  assert.deepEqual([served('a'), served('b'), served('c')].sort(), [5, 5, 6]);
});

test('a queue of one destination is emptied in order up to its limit', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 3 });
  for (let i = 0; i < 5; i++) queue.add('a', task(`r${i}`), 'begun', 0);
  const started: string[] = [];
  queue.drain(0, (_host, { runKey }) => started.push(runKey));
  assert.deepEqual(started, ['r0', 'r1', 'r2']);
});

test('it tells how many more could start at once, for a destination and in all', () => {
  const queue = new ReadyQueue({ maxInFlight: 4, maxInFlightPerHost: 3 });
  assert.equal(queue.room('a'), 3);
  for (const key of ['r0', 'r1']) queue.add('a', task(key), 'begun', 0);
  assert.deepEqual([queue.room('a'), queue.room('b')], [1, 3]);
  queue.drain(0, () => {});
  assert.deepEqual([queue.room('a'), queue.room('b')], [1, 2]);
  assert.deepEqual([queue.isInFlight(task('r0')), queue.isInFlight(task('r9'))], [true, false]);
  queue.done('a', task('r0'));
  assert.equal(queue.room('a'), 2);
});

/** Starts what it may, and ends as many as began first. */
class Work {
  readonly queue: ReadyQueue;
  readonly started: string[] = [];
  private readonly flying: { readonly host: string; readonly task: Ready }[] = [];
  constructor(queue: ReadyQueue) {
    this.queue = queue;
  }
  drain(freshAllowed = Number.POSITIVE_INFINITY): void {
    this.queue.drain(freshAllowed, (host, task) => {
      this.started.push(task.runKey);
      this.flying.push({ host, task });
    });
  }
  endOne(): void {
    const first = this.flying.shift();
    if (first) this.queue.done(first.host, first.task);
  }
}

test('of the places for which others wait every second one may be promised, and nothing else takes it', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 2 });
  const work = new Work(queue);
  for (let i = 0; i < 20; i++) queue.add('a', task(`other${i}`), 'begun', 0);
  work.drain();
  assert.equal(queue.room('a'), 0);
  for (let turn = 0; turn < 8; turn++) {
    work.endOne();
    if (queue.room('a') > 0) {
      queue.promise('a', 'qi_1', 1);
      work.drain();
      queue.promise('a', 'qi_1', -1);
      queue.add('a', task(`counted${turn}`), 'counted', 0);
    }
    work.drain();
  }
  const counted = work.started.filter((runKey) => runKey.startsWith('counted'));
  assert.deepEqual([work.started.length, counted.length], [10, 4]);
});

test('many that wait for one destination leave the room at another as it is', () => {
  const queue = new ReadyQueue({ maxInFlight: 8, maxInFlightPerHost: 4 });
  for (let i = 0; i < 100; i++) queue.add('slow', task(`slow${i}`), 'begun', 0);
  new Work(queue).drain();
  assert.deepEqual([queue.room('slow'), queue.room('idle')], [0, 4]);
});

test('when all places are taken a destination at which nothing waits gets its turn as well', () => {
  const queue = new ReadyQueue({ maxInFlight: 2, maxInFlightPerHost: 2 });
  const work = new Work(queue);
  for (const host of ['a', 'b']) for (let i = 0; i < 10; i++) queue.add(host, task(`${host}${i}`), 'begun', 0);
  work.drain();
  work.endOne();
  assert.equal(queue.room('c'), 1);
  queue.promise('c', 'qi_1', 1);
  work.drain();
  assert.equal(work.started.length, 2);
  work.endOne();
  assert.deepEqual([queue.room('c') > 1, queue.free('a')], [false, 1]);
  work.drain();
  assert.equal(work.started.length, 3);
});

test('a counted start does not wait until a burst of new runs is over', () => {
  const queue = new ReadyQueue({ maxInFlight: 8, maxInFlightPerHost: 8 });
  const work = new Work(queue);
  for (let i = 0; i < 100; i++) queue.add('a', task(`new${i}`), 'fresh', 0);
  work.drain(0);
  assert.equal(queue.room('a'), 4);
  queue.add('a', task('counted'), 'counted', 0);
  work.drain(0);
  assert.deepEqual(work.started, ['counted']);
});

test('an instance that has as many in flight as it may keeps no other from the same destination', () => {
  const maxInFlightOf = (id: string) => (id === 'qi_1' ? 2 : null);
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxInFlightOf });
  for (let i = 0; i < 4; i++) queue.add('a', task(`r${i}`), 'begun', 0);
  for (let i = 0; i < 4; i++) queue.add('a', task(`s${i}`, 'qi_2'), 'begun', 0);
  queue.add('b', task('r4'), 'begun', 0);
  const started: string[] = [];
  const drain = () => queue.drain(0, (_host, { runKey }) => started.push(runKey));
  drain();
  assert.deepEqual(started, ['r0', 'r4', 's0', 's1', 's2', 's3']);
  assert.deepEqual([queue.inFlightOf('qi_1'), queue.inFlightOf('qi_2')], [2, 4]);
  assert.equal(queue.room('a'), 4);
  queue.done('b', task('r4'));
  drain();
  assert.deepEqual(started.slice(6), ['r1']);
});

test('it tells how many more of an instance could start at once, also after its limit was lowered or raised', () => {
  let most: number | null = 3;
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxInFlightOf: () => most });
  const work = new Work(queue);
  for (let i = 0; i < 5; i++) queue.add(`h${i}`, task(`r${i}`), 'begun', 0);
  work.drain();
  assert.deepEqual([work.started.length, queue.freeOf('qi_1')], [3, 0]);
  most = 2;
  work.endOne();
  work.drain();
  assert.deepEqual([work.started.length, queue.freeOf('qi_1')], [3, 0]);
  work.endOne();
  work.drain();
  assert.equal(work.started.length, 4);
  most = null;
  work.drain();
  assert.deepEqual([work.started.length, queue.roomOf('qi_1')], [5, Number.POSITIVE_INFINITY]);
});

test('of the places of an instance for which others wait every second one may be promised, and nothing else takes it', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxInFlightOf: () => 1 });
  const work = new Work(queue);
  for (let i = 0; i < 20; i++) queue.add('a', task(`other${i}`), 'begun', 0);
  work.drain();
  assert.equal(queue.roomOf('qi_1'), 0);
  for (let turn = 0; turn < 8; turn++) {
    work.endOne();
    if (queue.roomOf('qi_1') > 0) {
      queue.promise('b', 'qi_1', 1);
      work.drain();
      assert.equal(queue.inFlight, 0);
      queue.promise('b', 'qi_1', -1);
      queue.add('b', task(`counted${turn}`), 'counted', 0);
    }
    work.drain();
    assert.equal(queue.inFlight, 1);
  }
  const counted = work.started.filter((runKey) => runKey.startsWith('counted'));
  assert.deepEqual([work.started.length, counted.length], [9, 4]);
});
