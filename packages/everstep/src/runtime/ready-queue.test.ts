import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadyQueue } from './ready-queue.js';

test('destinations take turns for a place, so that two that are busy do not keep out a third', () => {
  const queue = new ReadyQueue({ maxInFlight: 4, maxInFlightPerHost: 2 });
  const started: { host: string; runKey: string }[] = [];
  const drain = () => queue.drain(Number.POSITIVE_INFINITY, (host, { runKey }) => started.push({ host, runKey }));
  for (const host of ['a', 'b', 'c']) for (let i = 0; i < 10; i++) queue.add(host, { runKey: `${host}${i}`, slot: 1 }, true, 0);
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
  for (let i = 0; i < 5; i++) queue.add('a', { runKey: `r${i}`, slot: 1 }, true, 0);
  const started: string[] = [];
  queue.drain(0, (_host, { runKey }) => started.push(runKey));
  assert.deepEqual(started, ['r0', 'r1', 'r2']);
});
