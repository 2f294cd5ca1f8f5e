import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsIn, GateWorld, INSTANCE } from './gates.fixture.js';

const status = (world: GateWorld, key = 'k') => world.get(world.gates.flowControl({ instanceId: INSTANCE, key }), 0);
const change = (world: GateWorld, change: Parameters<GateWorld['gates']['changeFlowControl']>[0]['change'], key = 'k') =>
  world.get(world.gates.changeFlowControl({ instanceId: INSTANCE, key, change }), 0);
const reasons = (world: GateWorld, runKey: string) => world.gates.reasons({ runKey, slot: 0 });

test('limits of a trigger affect waiting deliveries, whether they are higher, lower or different', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1 });
  world.offerMany(8, 'k');
  await world.pass(0);
  await world.trigger({ key: 'k', parallelism: 3 });
  assert.equal(world.starts.length, 3);
  await world.trigger({ key: 'k', parallelism: 1 });
  world.endRun('r0');
  world.endRun('r1');
  assert.equal(world.starts.length, 3);
  await world.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  await world.pass(0);
  assert.equal(world.starts.length, 5);
  await world.trigger({ key: 'k' });
  await world.pass(0);
  assert.equal(world.starts.length, 5, 'a trigger without limits keeps those of the key');
  await world.pass(1_000);
  assert.equal(world.starts.length, 7);
});

test('limits that became durable while the key was being loaded apply, and so does a pin', async () => {
  const world = new GateWorld();
  world.offerMany(4, 'k');
  world.gates.noteLimits(INSTANCE, { key: 'k', parallelism: 2 });
  await world.pass(0);
  // The limits were noted before the key was needed, and the store had none.
  assert.equal(world.starts.length, 4);
  const pinned = new GateWorld();
  await change(pinned, { kind: 'pin', limits: { parallelism: 1 } });
  pinned.offerMany(4, 'k');
  await pinned.trigger({ key: 'k', parallelism: 3 });
  await pinned.pass(0);
  assert.equal(pinned.starts.length, 1);
});

test('pinned limits apply until they are unpinned; then the latest limits apply', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', parallelism: 1, rate: 100, periodMs: 500 });
  const pinned = await change(world, { kind: 'pin', limits: { parallelism: 2 } });
  assert.deepEqual([pinned?.parallelism, pinned?.rate, pinned?.parallelismPinned, pinned?.ratePinned], [2, 100, true, false]);
  world.offerMany(9, 'k');
  await world.trigger({ key: 'k', parallelism: 5 });
  await world.pass(0);
  assert.equal(world.starts.length, 2);
  await change(world, { kind: 'unpin', parallelism: true, rate: true });
  assert.equal(world.starts.length, 2);
  await world.trigger({ key: 'k', parallelism: 5 });
  await world.pass(0);
  assert.equal(world.starts.length, 5);
  assert.deepEqual(
    { ...world.store.keys.get('k'), window: null },
    {
      key: 'k',
      parallelism: 5,
      rate: null,
      periodMs: null,
      paused: false,
      parallelismPinned: false,
      ratePinned: false,
      window: null,
    },
  );
});

test('if one of two limits is pinned, the other is that of the latest trigger', async () => {
  const world = new GateWorld();
  await change(world, { kind: 'pin', limits: { rate: 3, periodMs: 1_000 } });
  await world.trigger({ key: 'k', parallelism: 1, rate: 100, periodMs: 500 });
  world.offerMany(9, 'k');
  await world.pass(0);
  assert.equal(world.starts.length, 1, 'the parallelism of the trigger');
  await world.trigger({ key: 'k', parallelism: 9, rate: 100, periodMs: 500 });
  await world.pass(0);
  assert.equal(world.starts.length, 3, 'the rate that is pinned');
  await change(world, { kind: 'unpin', parallelism: true, rate: false });
  await world.trigger({ key: 'k', parallelism: 9 });
  assert.deepEqual([(await status(world))?.rate, (await status(world))?.ratePinned], [3, true]);
});

test('nothing passes a paused key until it is resumed, even after a restart', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k' });
  assert.equal((await change(world, { kind: 'pause' }))?.paused, true);
  const waiting = world.offer('k');
  await world.pass(10_000);
  assert.deepEqual(reasons(world, waiting), [
    { kind: 'flow-control', key: 'k', place: 1, waiting: 1, because: 'paused', until: null },
  ]);
  world.crash();
  world.offer('k', { runKey: waiting });
  await world.pass(10_000);
  assert.equal(world.starts.length, 0);
  await change(world, { kind: 'resume' });
  assert.deepEqual(world.startedRuns, [waiting]);
});

test('a change resolves when it is durable, and with null for an unknown key', async () => {
  const world = new GateWorld();
  for (const kind of ['pause', 'resume', 'reset-rate'] as const) assert.equal(await change(world, { kind }), null);
  assert.equal(await change(world, { kind: 'unpin', parallelism: true, rate: true }), null);
  assert.equal(await status(world), null);
  assert.equal(world.store.commits, 0);
  world.store.latencyMs = () => 5;
  const pinned = world.gates.changeFlowControl({ instanceId: INSTANCE, key: 'k', change: { kind: 'pin', limits: { rate: 2 } } });
  await world.pass(4);
  assert.equal(world.store.keys.size, 0);
  assert.equal((await world.get(pinned, 1))?.periodMs, 1_000);
  assert.equal(world.store.keys.get('k')?.ratePinned, true);
});

test('concurrent changes are all applied', async () => {
  const world = new GateWorld();
  world.store.latencyMs = () => 3;
  await world.get(world.trigger({ key: 'k', parallelism: 1 }));
  const changes = [{ kind: 'pause' }, { kind: 'pin', limits: { parallelism: 7 } }] as const;
  const done = Promise.all(changes.map((change) => world.gates.changeFlowControl({ instanceId: INSTANCE, key: 'k', change })));
  await world.get(Promise.all([done, world.trigger({ key: 'k', parallelism: 2 })]));
  const { window, ...kept } = world.store.keys.get('k') ?? { window: null };
  assert.deepEqual(kept, {
    key: 'k',
    parallelism: 7,
    rate: null,
    periodMs: null,
    paused: true,
    parallelismPinned: true,
    ratePinned: false,
  });
  const now = await status(world);
  assert.deepEqual([now?.parallelism, now?.paused, now?.parallelismPinned], [7, true, true]);
});

test('a limit of a trigger that arrives while the key is being paused is stored as well', async () => {
  const world = new GateWorld();
  world.store.latencyMs = () => 3;
  await world.get(world.trigger({ key: 'k', parallelism: 1 }));
  await status(world);
  const both = [
    world.trigger({ key: 'k', parallelism: 2 }),
    world.gates.changeFlowControl({ instanceId: INSTANCE, key: 'k', change: { kind: 'pause' } }),
  ];
  await world.get(Promise.all(both));
  assert.equal((await status(world))?.parallelism, 2);
  assert.deepEqual([world.store.keys.get('k')?.parallelism, world.store.keys.get('k')?.paused], [2, true]);
});

test('a longer period does not extend a window that has ended', async () => {
  const world = new GateWorld();
  world.endpoint = endsIn(() => 1);
  await world.trigger({ key: 'k', rate: 2, periodMs: 100 });
  world.offer('k');
  await world.pass(150);
  await world.trigger({ key: 'k', rate: 2, periodMs: 200 });
  await world.pass(30);
  const begin = world.now;
  world.offer('k');
  await world.pass(30);
  world.offerMany(2, 'k');
  await world.pass(300);
  assert.deepEqual(
    world.starts.slice(1).map(({ at }) => at - begin),
    [0, 30, 200],
  );
});

test('resetting a window ends it at once', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', rate: 1, periodMs: 60_000 });
  world.offerMany(2, 'k');
  await world.pass(10);
  assert.equal(world.starts.length, 1);
  await change(world, { kind: 'reset-rate' });
  await world.pass(0);
  assert.equal(world.starts.length, 2);
  assert.equal(world.store.keys.get('k')?.window?.startedAt, world.now);
});

test('a longer period does not extend a window from before a crash that may have ended', async () => {
  const world = new GateWorld();
  await world.trigger({ key: 'k', rate: 1, periodMs: 100 });
  world.offerMany(1, 'k');
  await world.pass(60);
  world.endRun('r0');
  world.crash();
  world.offer('k', { runKey: 'late' });
  // The window started with its first request, between 0 and 60, so it may have ended at 100.
  await world.pass(40);
  await world.trigger({ key: 'k', rate: 2, periodMs: 150 });
  await world.pass(0);
  assert.equal(world.starts.length, 1);
  await world.pass(150);
  assert.equal(world.starts.length, 2);
});
