import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_INSTANCE_SETTINGS } from '../../engine/runs/run.js';
import type { DeliveryResult } from './delivery.js';
import { GateHarness, INSTANCE, ORIGIN } from './gates.fixture.js';

const FAILED: DeliveryResult = { kind: 'failed', error: 'connection refused' };
const OTHER = 'http://other:80';

const destinations = (harness: GateHarness) => harness.get(harness.gates.destinations({ instanceId: INSTANCE }), 0);
const reasons = (harness: GateHarness, runKey: string) => harness.gates.reasons({ runKey, slot: 0 });
const hold = (harness: GateHarness, origin = ORIGIN) =>
  harness.get(harness.gates.holdDestination({ instanceId: INSTANCE, origin, reason: 'maintenance' }), 0);
const release = (harness: GateHarness, origin = ORIGIN) =>
  harness.get(harness.gates.releaseDestination({ instanceId: INSTANCE, origin }), 0);

/** Returns a harness with a held destination. Its breaker opens at three failures in a row and probes every second. */
async function tripped(): Promise<GateHarness> {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  for (const runKey of harness.offerMany(3, null)) harness.endRun(runKey, FAILED);
  await harness.passTime(0);
  harness.starts.length = 0;
  return harness;
}

test('the breaker of an instance without settings is off', async () => {
  const harness = new GateHarness();
  assert.deepEqual(await harness.get(harness.gates.instanceSettings({ instanceId: INSTANCE }), 0), DEFAULT_INSTANCE_SETTINGS);
  harness.offerMany(30, null);
  await harness.passTime(0);
  for (const runKey of harness.startedRuns) harness.endRun(runKey, FAILED);
  harness.offer(null);
  assert.equal(harness.starts.length, 31);
  assert.deepEqual(await destinations(harness), [
    { origin: ORIGIN, hold: null, failures: 30, lastError: 'connection refused', waiting: 0, probeAt: null },
  ]);
});

test('after the set number of failures in a row nothing passes to the destination, and others continue', async () => {
  const harness = await tripped();
  harness.offerMany(2, null);
  harness.offer(null, { origin: OTHER });
  assert.deepEqual(
    harness.starts.map(({ limits }) => limits.origin),
    [OTHER],
  );
  const [held] = await destinations(harness);
  assert.deepEqual([held?.hold?.by, held?.waiting, held?.probeAt], ['breaker', 2, harness.now + 1_000]);
  assert.equal(harness.store.holds.get(ORIGIN)?.by, 'breaker');
  assert.deepEqual(reasons(harness, 'r3'), [{ kind: 'destination-held', hold: held?.hold, probeAt: harness.now + 1_000 }]);
});

test('there is one probe at a time, an interval after the last one failed; a probe that is delivered releases all deliveries in order', async () => {
  const harness = await tripped();
  harness.offerMany(5, null);
  await harness.passTime(999);
  assert.deepEqual(harness.startedRuns, []);
  await harness.passTime(1);
  assert.deepEqual(harness.startedRuns, ['r3']);
  await harness.passTime(5_000);
  assert.deepEqual(harness.startedRuns, ['r3'], 'the next waits for the first');
  harness.endRun('r3', FAILED);
  await harness.passTime(999);
  assert.deepEqual(harness.startedRuns, ['r3']);
  await harness.passTime(1);
  assert.deepEqual(harness.startedRuns, ['r3', 'r4']);
  harness.endRun('r4');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r3', 'r4', 'r5', 'r6', 'r7']);
  assert.equal(harness.store.holds.size, 0);
  assert.deepEqual(await destinations(harness), []);
});

test('without waiting deliveries there is no timer, and the next delivery is the probe', async () => {
  const harness = await tripped();
  await harness.passTime(60_000);
  const runKey = harness.offer(null);
  harness.offer(null);
  assert.deepEqual(harness.startedRuns, [runKey]);
});

test('a delivery that was in flight before the hold does not end it', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  harness.offerMany(5, null);
  for (const runKey of ['r0', 'r1', 'r2']) harness.endRun(runKey, FAILED);
  harness.endRun('r3');
  harness.offer(null);
  assert.equal(harness.inFlight.has('r5'), false);
});

test('a probe that was not made or is withdrawn is followed by the next immediately', async () => {
  const harness = await tripped();
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.offerMany(3, null);
  await harness.passTime(1_000);
  harness.endRun('r3', { kind: 'not-sent' });
  assert.deepEqual(harness.startedRuns, ['r3', 'r4']);
});

test('holds remain after a restart: the breaker waits a full interval and keeps its count', async () => {
  const harness = await tripped();
  await harness.passTime(500);
  harness.crash();
  harness.offerMany(2, null);
  await harness.passTime(999);
  assert.deepEqual(harness.startedRuns, []);
  await harness.passTime(1);
  assert.equal(harness.starts.length, 1);
});

test('a manual hold is never probed, survives a restart, and is only released manually', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  await hold(harness);
  harness.offerMany(2, null);
  await harness.passTime(60_000);
  assert.deepEqual(harness.startedRuns, []);
  assert.equal(harness.store.holds.get(ORIGIN)?.reason, 'maintenance');
  harness.crash();
  harness.offerMany(2, null);
  await harness.passTime(60_000);
  assert.deepEqual(harness.startedRuns, []);
  assert.equal(await release(harness), true);
  assert.deepEqual(harness.startedRuns, ['r2', 'r3']);
  assert.equal(await release(harness), false);
  assert.equal(harness.store.holds.size, 0);
});

test('a manual release of a hold of the breaker releases all deliveries, and the count restarts', async () => {
  const harness = await tripped();
  harness.offerMany(4, null);
  assert.equal(await release(harness), true);
  assert.equal(harness.starts.length, 4);
  for (const runKey of ['r3', 'r4']) harness.endRun(runKey, FAILED);
  harness.offer(null);
  assert.equal(harness.starts.length, 5);
});

test('a manual hold replaces one of the breaker: the result of its probe does not count', async () => {
  const harness = await tripped();
  harness.offerMany(3, null);
  await harness.passTime(1_000);
  await hold(harness);
  harness.endRun('r3');
  await harness.passTime(10_000);
  assert.deepEqual(harness.startedRuns, ['r3']);
  assert.equal(harness.store.holds.get(ORIGIN)?.by, 'hand');
});

test('switching the breaker off ends its holds and keeps manual ones', async () => {
  const harness = await tripped();
  await hold(harness, OTHER);
  harness.offerMany(2, null);
  harness.offerMany(2, null, { origin: OTHER });
  await harness.get(harness.breaker(false), 0);
  assert.deepEqual(harness.startedRuns, ['r3', 'r4']);
  assert.deepEqual([...harness.store.holds.keys()], [OTHER]);
});

test('a hold of a breaker that was switched off before a crash ends at the next start', async () => {
  const harness = await tripped();
  harness.store.settings = { ...DEFAULT_INSTANCE_SETTINGS, breaker: { enabled: false, failures: 3, probeEveryMs: 1_000 } };
  harness.crash();
  harness.offer(null);
  await harness.passTime(0);
  assert.equal(harness.starts.length, 1);
  assert.equal(harness.store.holds.size, 0);
});

test('a shorter interval makes the next probe earlier', async () => {
  const harness = await tripped();
  harness.offer(null);
  await harness.get(harness.breaker(true, 3, 100), 0);
  await harness.passTime(100);
  assert.equal(harness.starts.length, 1);
});

test('a hold that cannot be stored at first applies, and is stored a second later', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  harness.store.isBroken = true;
  for (const runKey of harness.offerMany(3, null)) harness.endRun(runKey, FAILED);
  await harness.passTime(500);
  harness.store.isBroken = false;
  harness.offer(null);
  assert.equal(harness.starts.length, 3);
  assert.equal(harness.store.holds.size, 0);
  await harness.passTime(500);
  assert.equal(harness.store.holds.get(ORIGIN)?.by, 'breaker');
});

test('a manual hold that could not be stored is rejected and holds nothing', async () => {
  const harness = new GateHarness();
  await destinations(harness);
  harness.store.isBroken = true;
  await assert.rejects(harness.gates.holdDestination({ instanceId: INSTANCE, origin: ORIGIN, reason: 'r' }), /the disk is full/);
  harness.store.isBroken = false;
  harness.offer(null);
  assert.equal(harness.starts.length, 1);
});

test('a delivery to a held destination takes no slot, does not count toward its key, and does not delay others', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1, rate: 10, periodMs: 60_000 });
  harness.offer('k');
  await harness.passTime(0);
  harness.offerMany(2, 'k');
  harness.offerMany(1, 'k', { origin: OTHER });
  await hold(harness);
  harness.endRun('r0');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r3']);
  assert.equal(harness.store.keys.get('k')?.window?.granted, 2);
  assert.deepEqual(
    reasons(harness, 'r1').map(({ kind }) => kind),
    ['destination-held'],
  );
});

test('a delivery that waited for its destination returns to its position at the key', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.offer('k', { origin: OTHER });
  await harness.passTime(0);
  harness.offerMany(2, 'k');
  harness.offerMany(3, 'k', { origin: OTHER });
  await hold(harness);
  harness.endRun('r0');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r3']);
  harness.offer('k');
  await release(harness);
  for (let n = 0; n < 6; n++) for (const runKey of [...harness.inFlight.keys()]) harness.endRun(runKey);
  assert.deepEqual(harness.startedRuns, ['r0', 'r3', 'r1', 'r2', 'r4', 'r5', 'r6']);
});

test('a delivery that waits at its key and whose destination is held reports both', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.offerMany(2, 'k');
  await harness.passTime(0);
  await hold(harness);
  assert.deepEqual(
    reasons(harness, 'r1').map(({ kind }) => kind),
    ['destination-held', 'flow-control'],
  );
});

test('a probe respects the limits of its key, and a delivery whose key is full is skipped', async () => {
  const harness = await tripped();
  await harness.trigger({ key: 'full', parallelism: 1 });
  harness.offer('full', { origin: OTHER });
  await harness.passTime(0);
  harness.offer('full');
  harness.offer('free');
  await harness.passTime(1_000);
  assert.deepEqual(harness.startedRuns, ['r3', 'r5']);
  harness.endRun('r5', FAILED);
  await harness.passTime(3_000);
  assert.deepEqual(harness.startedRuns, ['r3', 'r5'], 'nothing else can start');
  harness.endRun('r3');
  await harness.passTime(1_000);
  assert.deepEqual(harness.startedRuns, ['r3', 'r5', 'r4']);
});

test('if a probe has to wait at its key, another delivery becomes the probe', async () => {
  const harness = await tripped();
  harness.store.latencyMs = () => 5;
  await harness.get(harness.trigger({ key: 'k', rate: 5, periodMs: 1_000 }), 5);
  harness.offer('k');
  harness.offer(null);
  await harness.passTime(993);
  // The key is paused while the start of its delivery is being stored.
  void harness.gates.changeFlowControl({ instanceId: INSTANCE, key: 'k', change: { kind: 'pause' } });
  await harness.passTime(500);
  assert.deepEqual(harness.startedRuns, []);
  assert.equal(harness.store.keys.get('k')?.window?.granted, 1);
  await harness.passTime(1_000);
  assert.deepEqual(harness.startedRuns, ['r4']);
  harness.endRun('r4');
  await harness.passTime(100);
  assert.deepEqual(harness.startedRuns, ['r4'], 'the other one waits for its key');
});

test('a delivery that passed before its destination was held does not start, and returns its slot', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.offer('k');
  await harness.passTime(0);
  harness.offer('k', { origin: OTHER });
  assert.equal(harness.gates.mayStart({ runKey: 'r0', slot: 0 }), true);
  await hold(harness);
  assert.equal(harness.gates.mayStart({ runKey: 'r0', slot: 0 }), false);
  harness.inFlight.delete('r0');
  assert.deepEqual(harness.startedRuns, ['r0', 'r1']);
  harness.endRun('r1');
  await release(harness);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r0']);
});

test('thousands of held deliveries continue in order, a part at a time, and nothing overtakes them', async () => {
  const harness = new GateHarness();
  await hold(harness);
  const held = harness.offerMany(5_000, null);
  const released = harness.gates.releaseDestination({ instanceId: INSTANCE, origin: ORIGIN });
  await new Promise<void>((resolve) => setImmediate(resolve));
  assert.equal(await released, true);
  assert.ok(harness.starts.length < 5_000);
  assert.equal(harness.gates.isIdle, false);
  held.push(harness.offer(null));
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, held);
  assert.equal(harness.gates.isIdle, true);
});
