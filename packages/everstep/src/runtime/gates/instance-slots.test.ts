/** Rates of an instance with a limited number of slots. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsIn, GateHarness, INSTANCE } from './gates.fixture.js';

const OTHER = 'http://other:80';

function limitedTo(max: number | (() => number)): GateHarness {
  const harness = new GateHarness();
  const now = typeof max === 'number' ? () => max : max;
  harness.slotsOf = (instanceId) => (instanceId === INSTANCE ? now() : Number.POSITIVE_INFINITY);
  return harness;
}

test('starts of a rate are granted only if the instance has free slots, at all destinations together', async () => {
  const harness = limitedTo(2);
  await harness.trigger({ key: 'k', rate: 5, periodMs: 1_000 });
  for (let i = 0; i < 4; i++) harness.offerMany(2, 'k', { origin: `http://app${i}:80` });
  await harness.passTime(10);
  assert.deepEqual([harness.starts.length, harness.store.keys.get('k')?.window?.granted], [2, 2]);
  for (const runKey of ['r0', 'r1', 'r2']) {
    harness.endRun(runKey);
    await harness.passTime(10);
  }
  assert.equal(harness.starts.length, 5);
  harness.endRun('r3');
  await harness.passTime(10);
  assert.equal(harness.starts.length, 5);
  await harness.passTime(1_000);
  assert.equal(harness.starts.length, 6);
});

test('keys of an instance without free slots do not delay those of another at the same destination', async () => {
  const harness = limitedTo(1);
  harness.offer(null);
  await harness.passTime(10);
  await harness.trigger({ key: 'k', rate: 5, periodMs: 1_000 });
  harness.offerMany(3, 'k');
  await harness.passTime(10);
  assert.deepEqual(harness.startedRuns, ['r0']);
  harness.offer('k', { runKey: 'theirs', instanceId: 'qi_2' });
  await harness.passTime(10);
  assert.deepEqual(harness.startedRuns, ['r0', 'theirs']);
});

test('keys of one instance take turns for its slots', async () => {
  const harness = limitedTo(1);
  harness.endpoint = endsIn(() => 10);
  for (const key of ['a', 'b']) await harness.trigger({ key, rate: 100, periodMs: 60_000 });
  for (let i = 0; i < 6; i++) harness.offer('a', { runKey: `a${i}` });
  for (let i = 0; i < 6; i++) harness.offer('b', { runKey: `b${i}`, origin: OTHER });
  let max = 0;
  harness.onStart = () => {
    max = Math.max(max, harness.inFlight.size);
  };
  await harness.passTime(1_000);
  assert.deepEqual([harness.starts.length, max], [12, 1]);
  const firstSix = harness.startedRuns.slice(0, 6).filter((runKey) => runKey.startsWith('b')).length;
  assert.equal(firstSix, 3);
});

test('lowering a limit while starts are being stored holds them back, and raising it permits more', async () => {
  let max = 4;
  const harness = limitedTo(() => max);
  await harness.trigger({ key: 'k', rate: 10, periodMs: 60_000 });
  await harness.passTime(10);
  harness.store.latencyMs = () => 5;
  harness.offerMany(8, 'k');
  await harness.passTime(2);
  max = 1;
  await harness.passTime(20);
  assert.equal(harness.starts.length, 1);
  max = 3;
  harness.endRun('r0');
  await harness.passTime(20);
  assert.equal(harness.starts.length, 4);
});
