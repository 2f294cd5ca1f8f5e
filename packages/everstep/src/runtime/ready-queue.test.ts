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
  for (const host of ['a', 'b', 'c']) for (let i = 0; i < 10; i++) queue.add(host, task(`${host}${i}`), true, 0);
  drain();
  for (let i = 0; i < 12; i++) {
    const over = started[i];
    assert.ok(over);
    queue.done({ runKey: over.runKey, slot: 1 });
    drain();
  }
  const served = (host: string) => started.filter((other) => other.host === host).length;
  assert.deepEqual([served('a'), served('b'), served('c')].sort(), [5, 5, 6]);
});

test('a queue of one destination is emptied in order up to its limit', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 3 });
  for (let i = 0; i < 5; i++) queue.add('a', task(`r${i}`), true, 0);
  const started: string[] = [];
  queue.drain(0, (_host, { runKey }) => started.push(runKey));
  assert.deepEqual(started, ['r0', 'r1', 'r2']);
});

test('it tells how many more could start at once, for a destination and in all', () => {
  const queue = new ReadyQueue({ maxInFlight: 4, maxInFlightPerHost: 3 });
  assert.equal(queue.room('a'), 3);
  for (const key of ['r0', 'r1']) queue.add('a', task(key), true, 0);
  assert.deepEqual([queue.room('a'), queue.room('b')], [1, 2]);
  queue.drain(0, () => {});
  assert.deepEqual([queue.isInFlight(task('r0')), queue.isInFlight(task('r9'))], [true, false]);
  queue.done(task('r0'));
  assert.equal(queue.room('a'), 2);
});

test('an instance that has as many in flight as it may keeps no other from the same destination', () => {
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxInFlightOf: (id) => (id === 'qi_1' ? 2 : 10) });
  for (let i = 0; i < 4; i++) queue.add('a', task(`r${i}`), true, 0);
  for (let i = 0; i < 4; i++) queue.add('a', task(`s${i}`, 'qi_2'), true, 0);
  queue.add('b', task('r4'), true, 0);
  const started: string[] = [];
  const drain = () => queue.drain(0, (_host, { runKey }) => started.push(runKey));
  drain();
  assert.deepEqual(started, ['r0', 's0', 'r4', 's1', 's2', 's3']);
  queue.done(task('r4'));
  drain();
  assert.deepEqual(started.slice(6), ['r1']);
});

test('it tells how many more of an instance could start at once, also after its limit was lowered', () => {
  let most = 3;
  const queue = new ReadyQueue({ maxInFlight: 10, maxInFlightPerHost: 10, maxInFlightOf: () => most });
  queue.add('a', task('r0'), true, 0);
  assert.equal(queue.roomOf('qi_1'), 2);
  queue.add('b', task('r1'), true, 0);
  queue.drain(0, () => {});
  most = 1;
  assert.equal(queue.roomOf('qi_1'), 0);
  queue.done(task('r0'));
  assert.equal(queue.roomOf('qi_1'), 0);
  queue.done(task('r1'));
  assert.equal(queue.roomOf('qi_1'), 1);
});
