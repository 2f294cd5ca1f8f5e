import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsIn, GateWorld, INSTANCE, ORIGIN } from './gates.fixture.js';

const status = (world: GateWorld, key = 'k') => world.get(world.gates.flowControl({ instanceId: INSTANCE, key }), 0);
const reasons = (world: GateWorld, runKey: string) => world.gates.reasons({ runKey, slot: 0 });

test('a delivery without limits passes at once, without a write', async () => {
  const world = new GateWorld();
  world.offer('free');
  world.offer(null);
  await world.pass(0);
  world.offer('free');
  world.offer(null);
  assert.deepEqual(world.startedRuns, ['r1', 'r0', 'r2', 'r3']);
  assert.equal(world.store.commits, 0);
});

test('a delivery that waits, or has passed and is not done, is not accepted again', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  const offer = (runKey: string) =>
    world.gates.offer({ runKey, slot: 1, limits: { instanceId: INSTANCE, flowControlKey: 'k', origin: ORIGIN } });
  assert.deepEqual([offer('a'), offer('b')], [true, true]);
  await world.pass(0);
  assert.deepEqual([offer('a'), offer('b')], [false, false]);
  world.endRun('a');
  assert.deepEqual(world.startedRuns, ['a', 'b']);
  assert.equal(offer('a'), true);
});

test('a key never has more deliveries in flight than its parallelism, in the order of their offers', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 2 });
  world.offerMany(5, 'k');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r1']);
  world.offer('other');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r5']);
  world.endRun('r1');
  world.endRun('r0');
  assert.deepEqual(world.startedRuns.slice(3), ['r2', 'r3']);
  assert.deepEqual([(await status(world))?.waiting, (await status(world))?.inFlight], [1, 2]);
});

test('a window starts with the first start after the previous one has ended, and permits the number of starts of its rate', async () => {
  const world = new GateWorld();
  world.endpoint = endsIn(() => 1);
  await world.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  const begin = world.now;
  await world.pass(300);
  world.offerMany(5, 'k');
  await world.pass(5_000);
  assert.deepEqual(
    world.starts.map(({ at }) => at - begin),
    [300, 300, 1_300, 1_300, 2_300],
  );
  world.offer('k');
  await world.pass(0);
  assert.deepEqual(world.starts.at(-1)?.at, begin + 5_300);
});

test('all remaining starts of a window are granted in one write', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', rate: 100, periodMs: 1_000 });
  world.offerMany(60, 'k');
  await world.pass(0);
  assert.deepEqual([world.starts.length, world.store.commits], [60, 2]);
  assert.equal(world.store.keys.get('k')?.window?.granted, 60);
});

test('parallelism and rate both apply', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 2, rate: 3, periodMs: 1_000 });
  world.offerMany(6, 'k');
  await world.pass(10);
  assert.deepEqual(world.startedRuns, ['r0', 'r1']);
  assert.equal(world.store.keys.get('k')?.window?.granted, 2, 'what cannot start yet is not granted');
  world.endRun('r0');
  world.endRun('r1');
  await world.pass(10);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r2']);
  await world.pass(1_000);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r2', 'r3']);
});

test('a delivery that was not made returns its slot and its start', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1, rate: 2, periodMs: 1_000 });
  world.offerMany(4, 'k');
  await world.pass(0);
  world.endRun('r0', { kind: 'not-made' });
  await world.pass(0);
  world.endRun('r1');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r2']);
  world.endRun('r2');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r2']);
});

test('a start is granted if a slot is free, and a delivery without a slot does not delay those to other destinations', async () => {
  const world = new GateWorld();
  world.slotsPerOrigin = 1;
  await world.trigger({ key: 'k', rate: 10, periodMs: 1_000 });
  world.offerMany(3, 'k', { origin: 'http://a:80' });
  world.offerMany(1, 'k', { origin: 'http://b:80' });
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r3']);
  assert.equal(world.store.keys.get('k')?.window?.granted, 2);
  assert.deepEqual(reasons(world, 'r1'), [], 'its key does not hold it');
  world.endRun('r0');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r3', 'r1']);
});

test('keys that wait for a slot at one destination take turns', async () => {
  const world = new GateWorld();
  world.slotsPerOrigin = 1;
  for (const key of ['a', 'b', 'c']) {
    await world.trigger({ key, rate: 10, periodMs: 100_000 });
    world.offerMany(3, key);
  }
  world.endpoint = endsIn(() => 10);
  await world.pass(200);
  const keys = world.starts.map(({ limits }) => limits.flowControlKey);
  assert.equal(keys.length, 9);
  for (const at of [0, 3, 6]) assert.deepEqual(keys.slice(at, at + 3).sort(), ['a', 'b', 'c']);
});

test('a slot that was kept for a start that is then not made goes to the next key', async () => {
  const world = new GateWorld();
  world.slotsPerOrigin = 1;
  await world.trigger({ key: 'a', rate: 10, periodMs: 1_000 });
  await world.trigger({ key: 'b', rate: 10, periodMs: 1_000 });
  for (const key of ['a', 'b']) await status(world, key);
  world.store.latencyMs = () => 5;
  world.offerMany(1, 'a');
  await world.pass(1);
  world.offerMany(1, 'b');
  await world.pass(1);
  world.gates.withdraw({ runKey: 'r0', slot: 0 });
  await world.pass(100);
  assert.deepEqual(world.startedRuns, ['r1']);
});

test('starts that were granted before a crash count after it, for as long as they may have been sent', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  world.offerMany(2, 'k');
  await world.pass(400);
  world.crash();
  const waiting = world.offer('k');
  await world.pass(999);
  assert.equal(world.starts.length, 2);
  assert.deepEqual(reasons(world, waiting), [
    { kind: 'flow-control', key: 'k', place: 1, waiting: 1, because: 'rate', until: world.now + 1 },
  ]);
  await world.pass(1);
  assert.equal(world.starts.length, 3);
});

test('after a crash a window lasts a period from the latest time at which its first request may have been sent', async () => {
  for (const [crashedAfterMs, periodMs, leftByMs] of [
    [1_500, 2_000, 1_500],
    [1_500, 1_000, 1_000],
    [8_000, 60_000, 5_000],
  ] as const) {
    const world = new GateWorld();
    world.transitMs = () => 10;
    await world.trigger({ key: 'k', rate: 1, periodMs });
    const begin = world.now;
    world.offer('k');
    await world.pass(crashedAfterMs);
    world.crash();
    world.offer('k');
    await world.pass(2 * periodMs);
    assert.deepEqual(
      world.starts.map(({ at }) => at - begin),
      [0, leftByMs + periodMs + 20],
    );
  }
});

test('the remaining starts of a window from before a crash are not made once it may have ended at the destination', async () => {
  const world = new GateWorld();
  world.transitMs = () => 10;
  await world.trigger({ key: 'k', rate: 5, periodMs: 1_000 });
  const begin = world.now;
  world.offer('k');
  await world.pass(400);
  world.crash();
  for (let n = 0; n < 8; n++) {
    world.offer('k');
    await world.pass(150);
  }
  // The window started at 0 at the earliest and at 400 at the latest.
  assert.deepEqual(
    world.starts.map(({ at }) => at - begin),
    [0, 400, 550, 700, 850, 1_420, 1_420, 1_420, 1_450],
  );
});

test('a window does not end before its first request is sent', async () => {
  const world = new GateWorld();
  world.sendsAtOnce = false;
  await world.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  const begin = world.now;
  const [slow] = world.offerMany(3, 'k');
  await world.pass(5_000);
  assert.deepEqual(world.startedRuns, ['r0', 'r1']);
  const reason = { kind: 'flow-control', key: 'k', place: 1, waiting: 1, because: 'rate' } as const;
  assert.deepEqual(reasons(world, 'r2'), [{ ...reason, until: null }]);
  world.gates.sent({ runKey: slow ?? '', slot: 0 });
  assert.deepEqual(reasons(world, 'r2'), [{ ...reason, until: begin + 6_000 }]);
  await world.pass(999);
  assert.equal(world.starts.length, 2);
  await world.pass(1);
  assert.equal(world.starts.length, 3);
});

test('a window whose requests end before one of them is sent lasts a period from then on', async () => {
  const world = new GateWorld();
  world.sendsAtOnce = false;
  await world.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  const begin = world.now;
  world.offerMany(3, 'k');
  await world.pass(300);
  world.endRun('r0', { kind: 'failed', error: 'connection refused' });
  await world.pass(1_700);
  assert.equal(world.starts.length, 2, 'the other one may still be sent');
  world.endRun('r1', { kind: 'failed', error: 'connection refused' });
  await world.pass(2_000);
  assert.deepEqual(
    world.starts.map(({ at }) => at - begin),
    [0, 0, 3_000],
  );
});

test('a request that is sent long after its window counts for the window in which it arrives', async () => {
  const world = new GateWorld();
  world.sendsAtOnce = false;
  world.transitMs = () => 10;
  await world.trigger({ key: 'k', rate: 3, periodMs: 1_000 });
  const begin = world.now;
  const leaves = (runKey: string) => world.gates.sent({ runKey, slot: 0 });
  world.offerMany(12, 'k');
  await world.pass(0);
  leaves('r0');
  leaves('r1');
  // r2 may be sent at any time: the next window keeps a start for it.
  await world.pass(1_020);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r2', 'r3', 'r4']);
  leaves('r3');
  leaves('r4');
  await world.pass(500);
  leaves('r2');
  await world.pass(519);
  assert.equal(world.starts.length, 5);
  await world.pass(1);
  assert.deepEqual(world.startedRuns.slice(5), ['r5', 'r6', 'r7']);
  assert.equal(world.starts.at(-1)?.at, begin + 2_040);
});

test('a request that is sent after its window has ended, and before another has started, starts one', async () => {
  const world = new GateWorld();
  world.sendsAtOnce = false;
  world.transitMs = () => 10;
  await world.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  const begin = world.now;
  world.offerMany(2, 'k');
  await world.pass(0);
  world.gates.sent({ runKey: 'r0', slot: 0 });
  await world.pass(1_500);
  world.gates.sent({ runKey: 'r1', slot: 0 });
  await world.pass(0);
  world.offerMany(3, 'k');
  await world.pass(0);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r2']);
  world.gates.sent({ runKey: 'r2', slot: 0 });
  await world.pass(1_019);
  assert.equal(world.starts.length, 3);
  await world.pass(1);
  assert.deepEqual(world.startedRuns.slice(3), ['r3', 'r4']);
  assert.equal(world.starts.at(-1)?.at, begin + 2_520);
});

test('a start whose window could not be stored is not made, and is retried a second later', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', rate: 5, periodMs: 10_000 });
  await status(world);
  await world.pass(0);
  world.gates.offer({ runKey: 'early', slot: 0, limits: { instanceId: INSTANCE, flowControlKey: null, origin: ORIGIN } });
  await world.pass(0);
  world.store.broken = true;
  world.offerMany(2, 'k');
  await world.pass(500);
  world.store.broken = false;
  await world.pass(499);
  assert.deepEqual(world.startedRuns, ['early']);
  await world.pass(1);
  assert.equal(world.starts.length, 3);
});

test('a failed read is repeated a second later, and waiting deliveries keep their order', async () => {
  const world = new GateWorld();
  world.store.broken = true;
  world.offerMany(3, 'k');
  await world.pass(500);
  assert.equal(world.gates.idle, true);
  world.store.broken = false;
  await world.pass(500);
  assert.deepEqual(world.startedRuns, ['r0', 'r1', 'r2']);
});

test('a delivery that is withdrawn while it waits does not pass and takes no slot', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  world.offerMany(4, 'k');
  await world.pass(0);
  for (const runKey of ['r0', 'r1', 'r3', 'nobody']) world.gates.withdraw({ runKey, slot: 0 });
  assert.equal((await status(world))?.waiting, 1);
  world.endRun('r0');
  assert.deepEqual(world.startedRuns, ['r0', 'r2']);
  world.endRun('r2');
  assert.deepEqual([(await status(world))?.waiting, (await status(world))?.inFlight], [0, 0]);
});

test('a waiting delivery reports its position, the reason and the end of the wait', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  world.offerMany(3, 'k');
  await world.pass(0);
  assert.deepEqual(reasons(world, 'r0'), []);
  assert.deepEqual(reasons(world, 'r2'), [
    { kind: 'flow-control', key: 'k', place: 2, waiting: 2, because: 'parallelism', until: null },
  ]);
});

test('the list of keys contains the stored keys with their current counts', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'b', parallelism: 1 });
  await world.trigger({ key: 'a', rate: 5, periodMs: 100 });
  world.offerMany(3, 'b');
  await world.pass(0);
  const all = await world.get(world.gates.flowControls({ instanceId: INSTANCE }), 0);
  assert.deepEqual(
    all.map(({ key, waiting, inFlight }) => [key, waiting, inFlight]),
    [
      ['a', 0, 0],
      ['b', 2, 1],
    ],
  );
});

test('nothing passes after the gates have stopped', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1, rate: 10, periodMs: 1_000 });
  world.offerMany(3, 'k');
  await world.pass(0);
  await world.get(world.gates.stop(), 0);
  world.endRun('r0');
  world.offer(null);
  await world.pass(5_000);
  assert.deepEqual(world.startedRuns, ['r0']);
  assert.equal(world.store.keys.get('k')?.window?.granted, 1);
});

test('a hundred thousand waiting deliveries cost neither timers nor writes, can be withdrawn in any order, and pass in turn', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  await world.trigger({ key: 'r', rate: 1, periodMs: 60_000 });
  let timers = 0;
  const { clock } = world;
  const setTimer = clock.setTimer.bind(clock);
  clock.setTimer = (at, fire) => {
    timers++;
    return setTimer(at, fire);
  };
  world.offerMany(50_000, 'k');
  world.offerMany(50_000, 'r');
  await world.pass(0);
  assert.equal(world.starts.length, 2);
  assert.deepEqual([timers, world.store.commits], [2, 3], 'one timer is the end of the window, one lets the test pass');
  // All except a few are withdrawn, the later ones first.
  for (let n = 49_999; n > 0; n--) if (n % 1_000 !== 0) world.gates.withdraw({ runKey: `r${n}`, slot: 0 });
  const started = ['r0'];
  for (let n = 0; n < 49; n++) {
    world.endRun(started.at(-1) ?? '');
    started.push(world.startedRuns.at(-1) ?? '');
  }
  assert.deepEqual(
    started,
    Array.from({ length: 50 }, (_, n) => `r${n * 1_000}`),
  );
});

test('idle keys are removed from memory, and loaded again when they are needed', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  world.offer('k');
  await world.pass(0);
  for (let n = 0; n < 6_000; n++) {
    const runKey = world.offer(`key${n}`);
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    if (world.inFlight.has(runKey)) world.endRun(runKey);
  }
  await world.pass(0);
  const held = world.offer('k');
  assert.equal(world.inFlight.has(held), false, 'its limit was not forgotten');
  world.endRun('r0');
  assert.equal(world.inFlight.has(held), true);
});
