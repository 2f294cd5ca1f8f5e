import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_INSTANCE_SETTINGS } from '../../engine/runs/run.js';
import type { DeliveryResult } from './delivery.js';
import { GateWorld, INSTANCE, ORIGIN } from './gates.fixture.js';

const FAILED: DeliveryResult = { kind: 'failed', error: 'connection refused' };
const OTHER = 'http://other:80';

const destinations = (world: GateWorld) => world.get(world.gates.destinations({ instanceId: INSTANCE }), 0);
const reasons = (world: GateWorld, runKey: string) => world.gates.reasons({ runKey, slot: 0 });
const hold = (world: GateWorld, origin = ORIGIN) =>
  world.get(world.gates.holdDestination({ instanceId: INSTANCE, origin, reason: 'maintenance' }), 0);
const release = (world: GateWorld, origin = ORIGIN) =>
  world.get(world.gates.releaseDestination({ instanceId: INSTANCE, origin }), 0);

/** Returns a world with a held destination. Its breaker opens at three failures in a row and probes every second. */
async function tripped(): Promise<GateWorld> {
  const world = new GateWorld();
  await world.get(world.breaker(true), 0);
  for (const runKey of world.offerMany(3, null)) world.endRun(runKey, FAILED);
  await world.pass(0);
  world.starts.length = 0;
  return world;
}

test('the breaker of an instance without settings is off', async () => {
  const world = new GateWorld();
  assert.deepEqual(await world.get(world.gates.instanceSettings({ instanceId: INSTANCE }), 0), DEFAULT_INSTANCE_SETTINGS);
  world.offerMany(30, null);
  await world.pass(0);
  for (const runKey of world.startedRuns) world.endRun(runKey, FAILED);
  world.offer(null);
  assert.equal(world.starts.length, 31);
  assert.deepEqual(await destinations(world), [
    { origin: ORIGIN, hold: null, failures: 30, lastError: 'connection refused', waiting: 0, probeAt: null },
  ]);
});

test('after the set number of failures in a row nothing passes to the destination, and others continue', async () => {
  const world = await tripped();
  world.offerMany(2, null);
  world.offer(null, { origin: OTHER });
  assert.deepEqual(
    world.starts.map(({ limits }) => limits.origin),
    [OTHER],
  );
  const [held] = await destinations(world);
  assert.deepEqual([held?.hold?.by, held?.waiting, held?.probeAt], ['breaker', 2, world.now + 1_000]);
  assert.equal(world.store.holds.get(ORIGIN)?.by, 'breaker');
  assert.deepEqual(reasons(world, 'r3'), [{ kind: 'destination-held', hold: held?.hold, probeAt: world.now + 1_000 }]);
});

test('there is one probe at a time, an interval after the last one failed; a probe that is delivered releases all deliveries in order', async () => {
  const world = await tripped();
  world.offerMany(5, null);
  await world.pass(999);
  assert.deepEqual(world.startedRuns, []);
  await world.pass(1);
  assert.deepEqual(world.startedRuns, ['r3']);
  await world.pass(5_000);
  assert.deepEqual(world.startedRuns, ['r3'], 'the next waits for the first');
  world.endRun('r3', FAILED);
  await world.pass(999);
  assert.deepEqual(world.startedRuns, ['r3']);
  await world.pass(1);
  assert.deepEqual(world.startedRuns, ['r3', 'r4']);
  world.endRun('r4');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r3', 'r4', 'r5', 'r6', 'r7']);
  assert.equal(world.store.holds.size, 0);
  assert.deepEqual(await destinations(world), []);
});

test('without waiting deliveries there is no timer, and the next delivery is the probe', async () => {
  const world = await tripped();
  await world.pass(60_000);
  const runKey = world.offer(null);
  world.offer(null);
  assert.deepEqual(world.startedRuns, [runKey]);
});

test('a delivery that was in flight before the hold does not end it', async () => {
  const world = new GateWorld();
  await world.get(world.breaker(true), 0);
  world.offerMany(5, null);
  for (const runKey of ['r0', 'r1', 'r2']) world.endRun(runKey, FAILED);
  world.endRun('r3');
  world.offer(null);
  assert.equal(world.inFlight.has('r5'), false);
});

test('a probe that was not made or is withdrawn is followed by the next immediately', async () => {
  const world = await tripped();
  await world.trigger({ key: 'k', parallelism: 1 });
  world.offerMany(3, null);
  await world.pass(1_000);
  world.endRun('r3', { kind: 'not-made' });
  assert.deepEqual(world.startedRuns, ['r3', 'r4']);
});

test('holds remain after a restart: the breaker waits a full interval and keeps its count', async () => {
  const world = await tripped();
  await world.pass(500);
  world.crash();
  world.offerMany(2, null);
  await world.pass(999);
  assert.deepEqual(world.startedRuns, []);
  await world.pass(1);
  assert.equal(world.starts.length, 1);
});

test('a manual hold is never probed, survives a restart, and is only released manually', async () => {
  const world = new GateWorld();
  await world.get(world.breaker(true), 0);
  await hold(world);
  world.offerMany(2, null);
  await world.pass(60_000);
  assert.deepEqual(world.startedRuns, []);
  assert.equal(world.store.holds.get(ORIGIN)?.reason, 'maintenance');
  world.crash();
  world.offerMany(2, null);
  await world.pass(60_000);
  assert.deepEqual(world.startedRuns, []);
  assert.equal(await release(world), true);
  assert.deepEqual(world.startedRuns, ['r2', 'r3']);
  assert.equal(await release(world), false);
  assert.equal(world.store.holds.size, 0);
});

test('a manual release of a hold of the breaker releases all deliveries, and the count restarts', async () => {
  const world = await tripped();
  world.offerMany(4, null);
  assert.equal(await release(world), true);
  assert.equal(world.starts.length, 4);
  for (const runKey of ['r3', 'r4']) world.endRun(runKey, FAILED);
  world.offer(null);
  assert.equal(world.starts.length, 5);
});

test('a manual hold replaces one of the breaker: the result of its probe does not count', async () => {
  const world = await tripped();
  world.offerMany(3, null);
  await world.pass(1_000);
  await hold(world);
  world.endRun('r3');
  await world.pass(10_000);
  assert.deepEqual(world.startedRuns, ['r3']);
  assert.equal(world.store.holds.get(ORIGIN)?.by, 'hand');
});

test('switching the breaker off ends its holds and keeps manual ones', async () => {
  const world = await tripped();
  await hold(world, OTHER);
  world.offerMany(2, null);
  world.offerMany(2, null, { origin: OTHER });
  await world.get(world.breaker(false), 0);
  assert.deepEqual(world.startedRuns, ['r3', 'r4']);
  assert.deepEqual([...world.store.holds.keys()], [OTHER]);
});

test('a hold of a breaker that was switched off before a crash ends at the next start', async () => {
  const world = await tripped();
  world.store.settings = { ...DEFAULT_INSTANCE_SETTINGS, breaker: { enabled: false, failures: 3, probeEveryMs: 1_000 } };
  world.crash();
  world.offer(null);
  await world.pass(0);
  assert.equal(world.starts.length, 1);
  assert.equal(world.store.holds.size, 0);
});

test('a shorter interval makes the next probe earlier', async () => {
  const world = await tripped();
  world.offer(null);
  await world.get(world.breaker(true, 3, 100), 0);
  await world.pass(100);
  assert.equal(world.starts.length, 1);
});

test('a hold that cannot be stored at first applies, and is stored a second later', async () => {
  const world = new GateWorld();
  await world.get(world.breaker(true), 0);
  world.store.broken = true;
  for (const runKey of world.offerMany(3, null)) world.endRun(runKey, FAILED);
  await world.pass(500);
  world.store.broken = false;
  world.offer(null);
  assert.equal(world.starts.length, 3);
  assert.equal(world.store.holds.size, 0);
  await world.pass(500);
  assert.equal(world.store.holds.get(ORIGIN)?.by, 'breaker');
});

test('a manual hold that could not be stored is rejected and holds nothing', async () => {
  const world = new GateWorld();
  await destinations(world);
  world.store.broken = true;
  await assert.rejects(world.gates.holdDestination({ instanceId: INSTANCE, origin: ORIGIN, reason: 'r' }), /the disk is full/);
  world.store.broken = false;
  world.offer(null);
  assert.equal(world.starts.length, 1);
});

test('a delivery to a held destination takes no slot, does not count toward its key, and does not delay others', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1, rate: 10, periodMs: 60_000 });
  world.offer('k');
  await world.pass(0);
  world.offerMany(2, 'k');
  world.offerMany(1, 'k', { origin: OTHER });
  await hold(world);
  world.endRun('r0');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r3']);
  assert.equal(world.store.keys.get('k')?.window?.granted, 2);
  assert.deepEqual(
    reasons(world, 'r1').map(({ kind }) => kind),
    ['destination-held'],
  );
});

test('a delivery that waited for its destination returns to its position at the key', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  world.offer('k', { origin: OTHER });
  await world.pass(0);
  world.offerMany(2, 'k');
  world.offerMany(3, 'k', { origin: OTHER });
  await hold(world);
  world.endRun('r0');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r3']);
  world.offer('k');
  await release(world);
  for (let n = 0; n < 6; n++) for (const runKey of [...world.inFlight.keys()]) world.endRun(runKey);
  assert.deepEqual(world.startedRuns, ['r0', 'r3', 'r1', 'r2', 'r4', 'r5', 'r6']);
});

test('a delivery that waits at its key and whose destination is held reports both', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  world.offerMany(2, 'k');
  await world.pass(0);
  await hold(world);
  assert.deepEqual(
    reasons(world, 'r1').map(({ kind }) => kind),
    ['destination-held', 'flow-control'],
  );
});

test('a probe respects the limits of its key, and a delivery whose key is full is skipped', async () => {
  const world = await tripped();
  await world.trigger({ key: 'full', parallelism: 1 });
  world.offer('full', { origin: OTHER });
  await world.pass(0);
  world.offer('full');
  world.offer('free');
  await world.pass(1_000);
  assert.deepEqual(world.startedRuns, ['r3', 'r5']);
  world.endRun('r5', FAILED);
  await world.pass(3_000);
  assert.deepEqual(world.startedRuns, ['r3', 'r5'], 'nothing else can start');
  world.endRun('r3');
  await world.pass(1_000);
  assert.deepEqual(world.startedRuns, ['r3', 'r5', 'r4']);
});

test('if a probe has to wait at its key, another delivery becomes the probe', async () => {
  const world = await tripped();
  world.store.latencyMs = () => 5;
  await world.get(world.trigger({ key: 'k', rate: 5, periodMs: 1_000 }), 5);
  world.offer('k');
  world.offer(null);
  await world.pass(993);
  // The key is paused while the start of its delivery is being stored.
  void world.gates.changeFlowControl({ instanceId: INSTANCE, key: 'k', change: { kind: 'pause' } });
  await world.pass(500);
  assert.deepEqual(world.startedRuns, []);
  assert.equal(world.store.keys.get('k')?.window?.granted, 1);
  await world.pass(1_000);
  assert.deepEqual(world.startedRuns, ['r4']);
  world.endRun('r4');
  await world.pass(100);
  assert.deepEqual(world.startedRuns, ['r4'], 'the other one waits for its key');
});

test('a delivery that passed before its destination was held does not start, and returns its slot', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  world.offer('k');
  await world.pass(0);
  world.offer('k', { origin: OTHER });
  assert.equal(world.gates.mayStart({ runKey: 'r0', slot: 0 }), true);
  await hold(world);
  assert.equal(world.gates.mayStart({ runKey: 'r0', slot: 0 }), false);
  world.inFlight.delete('r0');
  assert.deepEqual(world.startedRuns, ['r0', 'r1']);
  world.endRun('r1');
  await release(world);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r0']);
});

test('thousands of held deliveries continue in order, a part at a time, and nothing overtakes them', async () => {
  const world = new GateWorld();
  await hold(world);
  const held = world.offerMany(5_000, null);
  const released = world.gates.releaseDestination({ instanceId: INSTANCE, origin: ORIGIN });
  await new Promise<void>((resolve) => setImmediate(resolve));
  assert.equal(await released, true);
  assert.ok(world.starts.length < 5_000);
  assert.equal(world.gates.idle, false);
  held.push(world.offer(null));
  await world.pass(0);
  assert.deepEqual(world.startedRuns, held);
  assert.equal(world.gates.idle, true);
});
