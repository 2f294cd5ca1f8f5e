import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsIn, GateHarness, INSTANCE, ORIGIN } from './gates.fixture.js';

const status = (harness: GateHarness, key = 'k') => harness.get(harness.gates.flowControl({ instanceId: INSTANCE, key }), 0);
const reasons = (harness: GateHarness, runKey: string) => harness.gates.reasons({ runKey, slot: 0 });

test('a delivery without limits passes immediately, without a write', async () => {
  const harness = new GateHarness();
  harness.offer('free');
  harness.offer(null);
  await harness.passTime(0);
  harness.offer('free');
  harness.offer(null);
  assert.deepEqual(harness.startedRuns, ['r1', 'r0', 'r2', 'r3']);
  assert.equal(harness.store.commits, 0);
});

test('a delivery that waits, or has passed and is not done, is not accepted again', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  const offer = (runKey: string) =>
    harness.gates.offer({ runKey, slot: 1, limits: { instanceId: INSTANCE, flowControlKey: 'k', origin: ORIGIN } });
  assert.deepEqual([offer('a'), offer('b')], [true, true]);
  await harness.passTime(0);
  assert.deepEqual([offer('a'), offer('b')], [false, false]);
  harness.endRun('a');
  assert.deepEqual(harness.startedRuns, ['a', 'b']);
  assert.equal(offer('a'), true);
});

test('a key never has more deliveries in flight than its parallelism, in the order of their offers', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 2 });
  harness.offerMany(5, 'k');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1']);
  harness.offer('other');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r5']);
  harness.endRun('r1');
  harness.endRun('r0');
  assert.deepEqual(harness.startedRuns.slice(3), ['r2', 'r3']);
  assert.deepEqual([(await status(harness))?.waiting, (await status(harness))?.inFlight], [1, 2]);
});

test('a window starts with the first start after the previous one has ended, and permits the number of starts of its rate', async () => {
  const harness = new GateHarness();
  harness.endpoint = endsIn(() => 1);
  await harness.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  const begin = harness.now;
  await harness.passTime(300);
  harness.offerMany(5, 'k');
  await harness.passTime(5_000);
  assert.deepEqual(
    harness.starts.map(({ at }) => at - begin),
    [300, 300, 1_300, 1_300, 2_300],
  );
  harness.offer('k');
  await harness.passTime(0);
  assert.deepEqual(harness.starts.at(-1)?.at, begin + 5_300);
});

test('all remaining starts of a window are granted in one write', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', rate: 100, periodMs: 1_000 });
  harness.offerMany(60, 'k');
  await harness.passTime(0);
  assert.deepEqual([harness.starts.length, harness.store.commits], [60, 2]);
  assert.equal(harness.store.keys.get('k')?.window?.granted, 60);
});

test('parallelism and rate both apply', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 2, rate: 3, periodMs: 1_000 });
  harness.offerMany(6, 'k');
  await harness.passTime(10);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1']);
  assert.equal(harness.store.keys.get('k')?.window?.granted, 2, 'what cannot start yet is not granted');
  harness.endRun('r0');
  harness.endRun('r1');
  await harness.passTime(10);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r2']);
  await harness.passTime(1_000);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r2', 'r3']);
});

test('a delivery that was not made returns its slot and its start', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1, rate: 2, periodMs: 1_000 });
  harness.offerMany(4, 'k');
  await harness.passTime(0);
  harness.endRun('r0', { kind: 'not-sent' });
  await harness.passTime(0);
  harness.endRun('r1');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r2']);
  harness.endRun('r2');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r2']);
});

test('a start is granted if a slot is free, and a delivery without a slot does not delay those to other destinations', async () => {
  const harness = new GateHarness();
  harness.slotsPerOrigin = 1;
  await harness.trigger({ key: 'k', rate: 10, periodMs: 1_000 });
  harness.offerMany(3, 'k', { origin: 'http://a:80' });
  harness.offerMany(1, 'k', { origin: 'http://b:80' });
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r3']);
  assert.equal(harness.store.keys.get('k')?.window?.granted, 2);
  assert.deepEqual(reasons(harness, 'r1'), [], 'its key does not hold it');
  harness.endRun('r0');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r3', 'r1']);
});

test('keys that wait for a slot at one destination take turns', async () => {
  const harness = new GateHarness();
  harness.slotsPerOrigin = 1;
  for (const key of ['a', 'b', 'c']) {
    await harness.trigger({ key, rate: 10, periodMs: 100_000 });
    harness.offerMany(3, key);
  }
  harness.endpoint = endsIn(() => 10);
  await harness.passTime(200);
  const keys = harness.starts.map(({ limits }) => limits.flowControlKey);
  assert.equal(keys.length, 9);
  for (const at of [0, 3, 6]) assert.deepEqual(keys.slice(at, at + 3).sort(), ['a', 'b', 'c']);
});

test('a slot that was kept for a start that is then not made goes to the next key', async () => {
  const harness = new GateHarness();
  harness.slotsPerOrigin = 1;
  await harness.trigger({ key: 'a', rate: 10, periodMs: 1_000 });
  await harness.trigger({ key: 'b', rate: 10, periodMs: 1_000 });
  for (const key of ['a', 'b']) await status(harness, key);
  harness.store.latencyMs = () => 5;
  harness.offerMany(1, 'a');
  await harness.passTime(1);
  harness.offerMany(1, 'b');
  await harness.passTime(1);
  harness.gates.withdraw({ runKey: 'r0', slot: 0 });
  await harness.passTime(100);
  assert.deepEqual(harness.startedRuns, ['r1']);
});

test('starts that were granted before a crash count after it, for as long as they may have been sent', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  harness.offerMany(2, 'k');
  await harness.passTime(400);
  harness.crash();
  const waiting = harness.offer('k');
  await harness.passTime(999);
  assert.equal(harness.starts.length, 2);
  assert.deepEqual(reasons(harness, waiting), [
    { kind: 'flow-control', key: 'k', place: 1, waiting: 1, because: 'rate', until: harness.now + 1 },
  ]);
  await harness.passTime(1);
  assert.equal(harness.starts.length, 3);
});

test('after a crash a window lasts a period from the latest time at which its first request may have been sent', async () => {
  for (const [crashedAfterMs, periodMs, leftByMs] of [
    [1_500, 2_000, 1_500],
    [1_500, 1_000, 1_000],
    [8_000, 60_000, 5_000],
  ] as const) {
    const harness = new GateHarness();
    harness.transitMs = () => 10;
    await harness.trigger({ key: 'k', rate: 1, periodMs });
    const begin = harness.now;
    harness.offer('k');
    await harness.passTime(crashedAfterMs);
    harness.crash();
    harness.offer('k');
    await harness.passTime(2 * periodMs);
    assert.deepEqual(
      harness.starts.map(({ at }) => at - begin),
      [0, leftByMs + periodMs + 20],
    );
  }
});

test('the remaining starts of a window from before a crash are not made once it may have ended at the destination', async () => {
  const harness = new GateHarness();
  harness.transitMs = () => 10;
  await harness.trigger({ key: 'k', rate: 5, periodMs: 1_000 });
  const begin = harness.now;
  harness.offer('k');
  await harness.passTime(400);
  harness.crash();
  for (let n = 0; n < 8; n++) {
    harness.offer('k');
    await harness.passTime(150);
  }
  // The window started between 0 and 400.
  assert.deepEqual(
    harness.starts.map(({ at }) => at - begin),
    [0, 400, 550, 700, 850, 1_420, 1_420, 1_420, 1_450],
  );
});

test('a window does not end before its first request is sent', async () => {
  const harness = new GateHarness();
  harness.sendsAtOnce = false;
  await harness.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  const begin = harness.now;
  const [slow] = harness.offerMany(3, 'k');
  await harness.passTime(5_000);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1']);
  const reason = { kind: 'flow-control', key: 'k', place: 1, waiting: 1, because: 'rate' } as const;
  assert.deepEqual(reasons(harness, 'r2'), [{ ...reason, until: null }]);
  harness.gates.onRequestSent({ runKey: slow ?? '', slot: 0 });
  assert.deepEqual(reasons(harness, 'r2'), [{ ...reason, until: begin + 6_000 }]);
  await harness.passTime(999);
  assert.equal(harness.starts.length, 2);
  await harness.passTime(1);
  assert.equal(harness.starts.length, 3);
});

test('a window whose requests end before one of them is sent lasts a period from then on', async () => {
  const harness = new GateHarness();
  harness.sendsAtOnce = false;
  await harness.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  const begin = harness.now;
  harness.offerMany(3, 'k');
  await harness.passTime(300);
  harness.endRun('r0', { kind: 'failed', error: 'connection refused' });
  await harness.passTime(1_700);
  assert.equal(harness.starts.length, 2, 'the other one may still be sent');
  harness.endRun('r1', { kind: 'failed', error: 'connection refused' });
  await harness.passTime(2_000);
  assert.deepEqual(
    harness.starts.map(({ at }) => at - begin),
    [0, 0, 3_000],
  );
});

test('a request that is sent long after its window counts for the window in which it arrives', async () => {
  const harness = new GateHarness();
  harness.sendsAtOnce = false;
  harness.transitMs = () => 10;
  await harness.trigger({ key: 'k', rate: 3, periodMs: 1_000 });
  const begin = harness.now;
  const leaves = (runKey: string) => harness.gates.onRequestSent({ runKey, slot: 0 });
  harness.offerMany(12, 'k');
  await harness.passTime(0);
  leaves('r0');
  leaves('r1');
  // r2 may be sent at any time: the next window keeps a start for it.
  await harness.passTime(1_020);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r2', 'r3', 'r4']);
  leaves('r3');
  leaves('r4');
  await harness.passTime(500);
  leaves('r2');
  await harness.passTime(519);
  assert.equal(harness.starts.length, 5);
  await harness.passTime(1);
  assert.deepEqual(harness.startedRuns.slice(5), ['r5', 'r6', 'r7']);
  assert.equal(harness.starts.at(-1)?.at, begin + 2_040);
});

test('a request that is sent after its window has ended, and before another has started, starts one', async () => {
  const harness = new GateHarness();
  harness.sendsAtOnce = false;
  harness.transitMs = () => 10;
  await harness.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  const begin = harness.now;
  harness.offerMany(2, 'k');
  await harness.passTime(0);
  harness.gates.onRequestSent({ runKey: 'r0', slot: 0 });
  await harness.passTime(1_500);
  harness.gates.onRequestSent({ runKey: 'r1', slot: 0 });
  await harness.passTime(0);
  harness.offerMany(3, 'k');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r2']);
  harness.gates.onRequestSent({ runKey: 'r2', slot: 0 });
  await harness.passTime(1_019);
  assert.equal(harness.starts.length, 3);
  await harness.passTime(1);
  assert.deepEqual(harness.startedRuns.slice(3), ['r3', 'r4']);
  assert.equal(harness.starts.at(-1)?.at, begin + 2_520);
});

test('a start whose window could not be stored is not made, and is retried a second later', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', rate: 5, periodMs: 10_000 });
  await status(harness);
  await harness.passTime(0);
  harness.gates.offer({ runKey: 'early', slot: 0, limits: { instanceId: INSTANCE, flowControlKey: null, origin: ORIGIN } });
  await harness.passTime(0);
  harness.store.isBroken = true;
  harness.offerMany(2, 'k');
  await harness.passTime(500);
  harness.store.isBroken = false;
  await harness.passTime(499);
  assert.deepEqual(harness.startedRuns, ['early']);
  await harness.passTime(1);
  assert.equal(harness.starts.length, 3);
});

test('a failed read is repeated a second later, and waiting deliveries keep their order', async () => {
  const harness = new GateHarness();
  harness.store.isBroken = true;
  harness.offerMany(3, 'k');
  await harness.passTime(500);
  assert.equal(harness.gates.isIdle, true);
  harness.store.isBroken = false;
  await harness.passTime(500);
  assert.deepEqual(harness.startedRuns, ['r0', 'r1', 'r2']);
});

test('a delivery that is withdrawn while it waits does not pass and takes no slot', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.offerMany(4, 'k');
  await harness.passTime(0);
  for (const runKey of ['r0', 'r1', 'r3', 'nobody']) harness.gates.withdraw({ runKey, slot: 0 });
  assert.equal((await status(harness))?.waiting, 1);
  harness.endRun('r0');
  assert.deepEqual(harness.startedRuns, ['r0', 'r2']);
  harness.endRun('r2');
  assert.deepEqual([(await status(harness))?.waiting, (await status(harness))?.inFlight], [0, 0]);
});

test('a waiting delivery reports its position, the reason and the end of the wait', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.offerMany(3, 'k');
  await harness.passTime(0);
  assert.deepEqual(reasons(harness, 'r0'), []);
  assert.deepEqual(reasons(harness, 'r2'), [
    { kind: 'flow-control', key: 'k', place: 2, waiting: 2, because: 'parallelism', until: null },
  ]);
});

test('the list of keys contains the stored keys with their current counts', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'b', parallelism: 1 });
  await harness.trigger({ key: 'a', rate: 5, periodMs: 100 });
  harness.offerMany(3, 'b');
  await harness.passTime(0);
  const all = await harness.get(harness.gates.flowControls({ instanceId: INSTANCE }), 0);
  assert.deepEqual(
    all.map(({ key, waiting, inFlight }) => [key, waiting, inFlight]),
    [
      ['a', 0, 0],
      ['b', 2, 1],
    ],
  );
});

test('nothing passes after the gates have stopped', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1, rate: 10, periodMs: 1_000 });
  harness.offerMany(3, 'k');
  await harness.passTime(0);
  await harness.get(harness.gates.stop(), 0);
  harness.endRun('r0');
  harness.offer(null);
  await harness.passTime(5_000);
  assert.deepEqual(harness.startedRuns, ['r0']);
  assert.equal(harness.store.keys.get('k')?.window?.granted, 1);
});

test('a hundred thousand waiting deliveries cost neither timers nor writes, can be withdrawn in any order, and pass in turn', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  await harness.trigger({ key: 'r', rate: 1, periodMs: 60_000 });
  let timers = 0;
  const { clock } = harness;
  const setTimer = clock.setTimer.bind(clock);
  clock.setTimer = (at, fire) => {
    timers++;
    return setTimer(at, fire);
  };
  harness.offerMany(50_000, 'k');
  harness.offerMany(50_000, 'r');
  await harness.passTime(0);
  assert.equal(harness.starts.length, 2);
  assert.deepEqual([timers, harness.store.commits], [2, 3], 'one timer is the end of the window, one lets the test pass');
  // All except a few are withdrawn, the later ones first.
  for (let n = 49_999; n > 0; n--) if (n % 1_000 !== 0) harness.gates.withdraw({ runKey: `r${n}`, slot: 0 });
  const started = ['r0'];
  for (let n = 0; n < 49; n++) {
    harness.endRun(started.at(-1) ?? '');
    started.push(harness.startedRuns.at(-1) ?? '');
  }
  assert.deepEqual(
    started,
    Array.from({ length: 50 }, (_, n) => `r${n * 1_000}`),
  );
});

test('idle keys are removed from memory, and loaded again when they are needed', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.offer('k');
  await harness.passTime(0);
  for (let n = 0; n < 6_000; n++) {
    const runKey = harness.offer(`key${n}`);
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    if (harness.inFlight.has(runKey)) harness.endRun(runKey);
  }
  await harness.passTime(0);
  const held = harness.offer('k');
  assert.equal(harness.inFlight.has(held), false, 'its limit was not forgotten');
  harness.endRun('r0');
  assert.equal(harness.inFlight.has(held), true);
});
