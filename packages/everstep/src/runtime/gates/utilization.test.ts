import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsIn, GateWorld } from './gates.fixture.js';

/** Returns pseudo-random numbers, the same each time. */
function drawn(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

test('the rate of a key is fully used while deliveries wait', async () => {
  const world = new GateWorld();
  const next = drawn(7);
  world.store.latencyMs = () => Math.floor(next() * 4);
  world.endpoint = endsIn(() => Math.floor(next() * 50));
  await world.get(world.trigger({ key: 'k', rate: 20, periodMs: 1_000 }));
  world.offerMany(2_000, 'k');
  await world.pass(60_000);
  assert.ok(world.starts.length >= 60 * 20 * 0.95, `${world.starts.length} starts`);
  assert.ok(world.starts.length <= 61 * 20, `${world.starts.length} starts`);
});

test('the parallelism of a key is fully used while deliveries wait', async () => {
  const world = new GateWorld();
  const next = drawn(11);
  let busyMs = 0;
  world.endpoint = endsIn(() => {
    const durationMs = 1 + Math.floor(next() * 100);
    busyMs += durationMs;
    return durationMs;
  });
  await world.trigger({ key: 'k', parallelism: 4 });
  world.offerMany(1_000, 'k');
  const begin = world.now;
  await world.pass(10_000);
  assert.ok(world.starts.length < 1_000, 'the list was never empty');
  assert.ok(busyMs >= (world.now - begin) * 4 * 0.95, `${busyMs} ms of deliveries`);
});

test('a rate and a parallelism that permit the same number are both fully used', async () => {
  const world = new GateWorld();
  world.store.latencyMs = () => 1;
  world.endpoint = endsIn(() => 90);
  await world.get(world.trigger({ key: 'k', parallelism: 2, rate: 20, periodMs: 1_000 }));
  world.offerMany(2_000, 'k');
  await world.pass(30_000);
  assert.ok(world.starts.length >= 30 * 20 * 0.95, `${world.starts.length} starts`);
});
