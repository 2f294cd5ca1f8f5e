import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsIn, GateHarness } from './gates.fixture.js';

/** Returns pseudo-random numbers, the same each time. */
function drawn(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

test('the rate of a key is fully used while deliveries wait', async () => {
  const harness = new GateHarness();
  const next = drawn(7);
  harness.store.latencyMs = () => Math.floor(next() * 4);
  harness.endpoint = endsIn(() => Math.floor(next() * 50));
  await harness.get(harness.trigger({ key: 'k', rate: 20, periodMs: 1_000 }));
  harness.offerMany(2_000, 'k');
  await harness.passTime(60_000);
  assert.ok(harness.starts.length >= 60 * 20 * 0.95, `${harness.starts.length} starts`);
  assert.ok(harness.starts.length <= 61 * 20, `${harness.starts.length} starts`);
});

test('the parallelism of a key is fully used while deliveries wait', async () => {
  const harness = new GateHarness();
  const next = drawn(11);
  let busyMs = 0;
  harness.endpoint = endsIn(() => {
    const durationMs = 1 + Math.floor(next() * 100);
    busyMs += durationMs;
    return durationMs;
  });
  await harness.trigger({ key: 'k', parallelism: 4 });
  harness.offerMany(1_000, 'k');
  const begin = harness.now;
  await harness.passTime(10_000);
  assert.ok(harness.starts.length < 1_000, 'the list was never empty');
  assert.ok(busyMs >= (harness.now - begin) * 4 * 0.95, `${busyMs} ms of deliveries`);
});

test('a rate and a parallelism that permit the same number are both fully used', async () => {
  const harness = new GateHarness();
  harness.store.latencyMs = () => 1;
  harness.endpoint = endsIn(() => 90);
  await harness.get(harness.trigger({ key: 'k', parallelism: 2, rate: 20, periodMs: 1_000 }));
  harness.offerMany(2_000, 'k');
  await harness.passTime(30_000);
  assert.ok(harness.starts.length >= 30 * 20 * 0.95, `${harness.starts.length} starts`);
});
