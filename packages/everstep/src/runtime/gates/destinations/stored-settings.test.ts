/** Several nodes: settings and holds that this node reads while it or another node changes them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DestinationHold } from '../../../engine/runs/run.js';
import type { DeliveryResult } from '../delivery.js';
import { GateHarness, INSTANCE, ORIGIN } from '../gates.fixture.js';

const FAILED: DeliveryResult = { kind: 'failed', error: 'connection refused' };
/** A hold that another node has stored. */
const HAND_HOLD: DestinationHold = { origin: ORIGIN, by: 'hand', reason: 'maintenance', since: 1 };
const HOLD = { instanceId: INSTANCE, origin: ORIGIN, reason: 'maintenance' };

const destinations = (harness: GateHarness) => harness.get(harness.gates.destinations({ instanceId: INSTANCE }), 0);
const hold = (harness: GateHarness) => harness.get(harness.gates.holdDestination(HOLD), 0);
const release = (harness: GateHarness) => harness.get(harness.gates.releaseDestination(HOLD), 0);

/** Lets the breaker open, and forgets the deliveries that have started. */
function trip(harness: GateHarness): void {
  for (const runKey of harness.offerMany(3, null)) harness.endRun(runKey, FAILED);
  harness.starts.length = 0;
}

/** Another node changes what is stored and notifies this one. Returns whether this node applies the change. */
function notify(harness: GateHarness): { isApplied: boolean } {
  const notice = { isApplied: false };
  void harness.gates.reloadSettings(INSTANCE).then(() => {
    notice.isApplied = true;
  });
  return notice;
}

test('a hold that another node stores during the first read is confirmed when it applies', async () => {
  const harness = new GateHarness();
  harness.store.readLatencyMs = 10;
  harness.offer(null);
  await harness.passTime(5);
  harness.store.holds.set(ORIGIN, HAND_HOLD);
  const notice = notify(harness);
  await harness.passTime(5);
  assert.equal(notice.isApplied, false, 'the first read is older than the hold');
  await harness.passTime(10);
  assert.equal(notice.isApplied, true);
  harness.starts.length = 0;
  harness.offer(null);
  assert.deepEqual(harness.startedRuns, []);
});

test('notices of other nodes share reads, and each waits for one that starts after it', async () => {
  const harness = new GateHarness();
  await destinations(harness);
  let readCount = 0;
  const { listHolds } = harness.store;
  harness.store.listHolds = () => {
    readCount++;
    return listHolds.call(harness.store);
  };
  harness.store.readLatencyMs = 10;
  const first = notify(harness);
  await harness.passTime(5);
  const others = [notify(harness), notify(harness), notify(harness)];
  await harness.passTime(5);
  assert.deepEqual(
    [first, ...others].map(({ isApplied }) => isApplied),
    [true, false, false, false],
  );
  await harness.passTime(10);
  assert.deepEqual([readCount, others.every(({ isApplied }) => isApplied)], [2, true]);
});

test('a read that is older than a release does not hold the destination again', async () => {
  const harness = new GateHarness();
  await hold(harness);
  harness.store.readLatencyMs = 10;
  notify(harness);
  await harness.passTime(5);
  assert.equal(await release(harness), true);
  await harness.passTime(5);
  const runKey = harness.offer(null);
  assert.deepEqual(harness.startedRuns, [runKey]);
});

test('a read that is older than a manual hold does not end it, whether the hold is stored before or after the read', async () => {
  for (const latencyMs of [0, 50]) {
    const harness = new GateHarness();
    await destinations(harness);
    harness.store.readLatencyMs = 10;
    harness.store.latencyMs = () => latencyMs;
    notify(harness);
    await harness.passTime(5);
    const held = harness.gates.holdDestination(HOLD);
    await harness.passTime(20);
    harness.offer(null);
    await harness.get(held);
    assert.deepEqual([harness.startedRuns, harness.store.holds.size], [[], 1]);
  }
});

test('a read does not end a hold of the breaker that is not stored yet', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  harness.store.latencyMs = () => 50;
  trip(harness);
  notify(harness);
  await harness.passTime(20);
  harness.offer(null);
  await harness.passTime(100);
  assert.deepEqual([harness.startedRuns, harness.store.holds.get(ORIGIN)?.by], [[], 'breaker']);
});

test('a change that another node makes while a hold is being stored applies afterward', async () => {
  const harness = new GateHarness();
  await destinations(harness);
  let failCommit = (): void => {};
  harness.store.commitControl = () =>
    new Promise((_, reject) => {
      failCommit = () => reject(new Error('the disk is full'));
    });
  const rejected = assert.rejects(harness.gates.holdDestination({ ...HOLD, reason: 'deployment' }), /the disk is full/);
  await harness.passTime(0);
  harness.store.holds.set(ORIGIN, HAND_HOLD);
  notify(harness);
  await harness.passTime(0);
  assert.equal((await destinations(harness))[0]?.hold?.reason, 'deployment');
  failCommit();
  await harness.get(rejected, 0);
  assert.deepEqual((await destinations(harness))[0]?.hold, HAND_HOLD);
});

test('settings that are older than a change of this node are not applied', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  harness.store.readLatencyMs = 10;
  notify(harness);
  await harness.passTime(5);
  await harness.get(harness.breaker(false), 0);
  await harness.passTime(5);
  const settings = harness.gates.instanceSettings({ instanceId: INSTANCE });
  assert.equal((await harness.get(settings)).breaker.enabled, false);
});

test('a manual hold of another node replaces a hold of the breaker: there are no more probes', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  trip(harness);
  harness.offer(null);
  harness.store.holds.set(ORIGIN, HAND_HOLD);
  notify(harness);
  await harness.passTime(60_000);
  const [held] = await destinations(harness);
  assert.deepEqual([harness.startedRuns, held?.hold], [[], HAND_HOLD]);
});

test('a breaker that opens before this node knows of a manual hold does not replace it', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  const runKeys = harness.offerMany(3, null);
  harness.store.holds.set(ORIGIN, HAND_HOLD);
  for (const runKey of runKeys) harness.endRun(runKey, FAILED);
  harness.starts.length = 0;
  harness.offer(null);
  await harness.passTime(60_000);
  const [held] = await destinations(harness);
  assert.deepEqual([harness.store.holds.get(ORIGIN), held?.hold, harness.startedRuns], [HAND_HOLD, HAND_HOLD, []]);
});

test('a probe that succeeds before this node knows of a manual hold does not end it', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  trip(harness);
  const probe = harness.offer(null);
  await harness.passTime(1_500);
  assert.deepEqual(harness.startedRuns, [probe]);
  harness.store.holds.set(ORIGIN, HAND_HOLD);
  harness.endRun(probe);
  await harness.passTime(0);
  harness.offer(null);
  await harness.passTime(60_000);
  const [held] = await destinations(harness);
  assert.deepEqual([harness.store.holds.get(ORIGIN), held?.hold, harness.startedRuns], [HAND_HOLD, HAND_HOLD, [probe]]);
});

test('a manual hold is stored as such while the breaker repeats a write that failed', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  harness.store.isBroken = true;
  trip(harness);
  await harness.passTime(500);
  harness.store.isBroken = false;
  await hold(harness);
  await harness.passTime(10_000);
  assert.deepEqual([harness.store.holds.get(ORIGIN)?.by, (await destinations(harness))[0]?.hold?.by], ['hand', 'hand']);
});

test('a hold of the breaker is stored although a manual hold that cannot be stored replaces it in the meantime', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  harness.store.isBroken = true;
  trip(harness);
  await harness.passTime(500);
  harness.store.latencyMs = () => 1_000;
  await assert.rejects(harness.get(harness.gates.holdDestination(HOLD), 2_000), /the disk is full/);
  harness.store.isBroken = false;
  await harness.passTime(5_000);
  assert.deepEqual([harness.store.holds.get(ORIGIN)?.by, (await destinations(harness))[0]?.hold?.by], ['breaker', 'breaker']);
});

test('deliveries that wait for the first read are not sent if other nodes take over during the read', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', rate: 1, periodMs: 1_000 });
  harness.store.readLatencyMs = 10;
  harness.offer(null, { runKey: 'free' });
  harness.offer('k', { runKey: 'limited' });
  await harness.passTime(5);
  harness.gates.reset();
  const { commits } = harness.store;
  await harness.passTime(50);
  assert.deepEqual([harness.startedRuns, harness.store.commits], [[], commits]);
  harness.offer(null, { runKey: 'free' });
  await harness.passTime(50);
  assert.deepEqual(harness.startedRuns, ['free']);
});

test('the settings can be read while other nodes take over', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true, 7), 0);
  harness.gates.reset();
  harness.store.readLatencyMs = 10;
  const settings = harness.gates.instanceSettings({ instanceId: INSTANCE });
  harness.gates.reset();
  assert.equal((await harness.get(settings)).breaker.failures, 7);
});

test('a hold of the breaker that could not be stored is not stored after other nodes have taken over', async () => {
  const harness = new GateHarness();
  await harness.get(harness.breaker(true), 0);
  harness.store.isBroken = true;
  trip(harness);
  const notice = notify(harness);
  await harness.passTime(500);
  harness.gates.reset();
  harness.store.isBroken = false;
  await harness.passTime(5_000);
  assert.deepEqual([harness.store.holds.size, notice.isApplied], [0, true], 'the notice does not wait forever');
});

test('a hold, a release and a change of the settings apply although the responses to their commits are lost', async () => {
  const harness = new GateHarness();
  await destinations(harness);
  const { commitControl } = harness.store;
  harness.store.commitControl = async (unit) => {
    await commitControl.call(harness.store, unit);
    throw new Error('the response was lost');
  };
  const lost = /the response was lost/;
  await assert.rejects(hold(harness), lost);
  await harness.passTime(0);
  const waiting = harness.offer(null);
  assert.deepEqual([harness.startedRuns, (await destinations(harness))[0]?.hold?.by], [[], 'hand']);
  await assert.rejects(release(harness), lost);
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, [waiting]);
  await assert.rejects(harness.get(harness.breaker(true, 7), 0), lost);
  await harness.passTime(0);
  const settings = harness.gates.instanceSettings({ instanceId: INSTANCE });
  assert.equal((await harness.get(settings)).breaker.failures, 7);
});

test('a hold and a change of the settings apply although other nodes take over while they are being stored', async () => {
  const harness = new GateHarness();
  await destinations(harness);
  harness.store.latencyMs = () => 10;
  const changes = [harness.gates.holdDestination(HOLD), harness.breaker(true, 7)];
  await harness.passTime(5);
  harness.gates.reset();
  harness.offer(null);
  await harness.passTime(0);
  assert.equal(harness.starts.length, 1, 'the new gates have read the state before the hold was stored');
  await harness.get(Promise.all(changes));
  harness.offer(null);
  const settings = harness.gates.instanceSettings({ instanceId: INSTANCE });
  assert.deepEqual([harness.starts.length, (await harness.get(settings)).breaker.failures], [1, 7]);
});

test('a change of another node that cannot be read is confirmed when it could be read', async () => {
  const harness = new GateHarness();
  await destinations(harness);
  harness.store.holds.set(ORIGIN, HAND_HOLD);
  harness.store.isBroken = true;
  const notice = notify(harness);
  await harness.passTime(500);
  assert.equal(notice.isApplied, false);
  harness.store.isBroken = false;
  await harness.passTime(500);
  assert.equal(notice.isApplied, true);
  harness.offer(null);
  assert.deepEqual(harness.startedRuns, []);
});
