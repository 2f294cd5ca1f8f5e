/** Rates of an instance with a limited number of slots. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsIn, GateWorld, INSTANCE } from './gates.fixture.js';

const OTHER = 'http://other:80';

function limitedTo(most: number | (() => number)): GateWorld {
  const world = new GateWorld();
  const now = typeof most === 'number' ? () => most : most;
  world.slotsOf = (instanceId) => (instanceId === INSTANCE ? now() : Number.POSITIVE_INFINITY);
  return world;
}

test('starts of a rate are granted only if the instance has free slots, at all destinations together', async () => {
  const world = limitedTo(2);
  await world.trigger({ key: 'k', rate: 5, periodMs: 1_000 });
  for (let i = 0; i < 4; i++) world.offerMany(2, 'k', { origin: `http://app${i}:80` });
  await world.pass(10);
  assert.deepEqual([world.starts.length, world.store.keys.get('k')?.window?.granted], [2, 2]);
  for (const runKey of ['r0', 'r1', 'r2']) {
    world.endRun(runKey);
    await world.pass(10);
  }
  assert.equal(world.starts.length, 5);
  world.endRun('r3');
  await world.pass(10);
  assert.equal(world.starts.length, 5);
  await world.pass(1_000);
  assert.equal(world.starts.length, 6);
});

test('keys of an instance without free slots do not delay those of another at the same destination', async () => {
  const world = limitedTo(1);
  world.offer(null);
  await world.pass(10);
  await world.trigger({ key: 'k', rate: 5, periodMs: 1_000 });
  world.offerMany(3, 'k');
  await world.pass(10);
  assert.deepEqual(world.startedRuns, ['r0']);
  world.offer('k', { runKey: 'theirs', instanceId: 'qi_2' });
  await world.pass(10);
  assert.deepEqual(world.startedRuns, ['r0', 'theirs']);
});

test('keys of one instance take turns for its slots', async () => {
  const world = limitedTo(1);
  world.endpoint = endsIn(() => 10);
  for (const key of ['a', 'b']) await world.trigger({ key, rate: 100, periodMs: 60_000 });
  for (let i = 0; i < 6; i++) world.offer('a', { runKey: `a${i}` });
  for (let i = 0; i < 6; i++) world.offer('b', { runKey: `b${i}`, origin: OTHER });
  let most = 0;
  world.onStart = () => {
    most = Math.max(most, world.inFlight.size);
  };
  await world.pass(1_000);
  assert.deepEqual([world.starts.length, most], [12, 1]);
  const firstSix = world.startedRuns.slice(0, 6).filter((runKey) => runKey.startsWith('b')).length;
  assert.equal(firstSix, 3);
});

test('lowering a limit while starts are being stored holds them back, and raising it permits more', async () => {
  let most = 4;
  const world = limitedTo(() => most);
  await world.trigger({ key: 'k', rate: 10, periodMs: 60_000 });
  await world.pass(10);
  world.store.latencyMs = () => 5;
  world.offerMany(8, 'k');
  await world.pass(2);
  most = 1;
  await world.pass(20);
  assert.equal(world.starts.length, 1);
  most = 3;
  world.endRun('r0');
  await world.pass(20);
  assert.equal(world.starts.length, 4);
});
