import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endsIn, GateHarness, INSTANCE, ORIGIN } from './gates.fixture.js';

const status = (harness: GateHarness, key = 'k') => harness.get(harness.gates.flowControl({ instanceId: INSTANCE, key }), 0);
const change = (harness: GateHarness, change: Parameters<GateHarness['gates']['changeFlowControl']>[0]['change'], key = 'k') =>
  harness.get(harness.gates.changeFlowControl({ instanceId: INSTANCE, key, change }), 0);
const reasons = (harness: GateHarness, runKey: string) => harness.gates.reasons({ runKey, slot: 0 });

test('limits of a trigger affect waiting deliveries, whether they are higher, lower or different', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.offerMany(8, 'k');
  await harness.passTime(0);
  await harness.trigger({ key: 'k', parallelism: 3 });
  assert.equal(harness.starts.length, 3);
  await harness.trigger({ key: 'k', parallelism: 1 });
  harness.endRun('r0');
  harness.endRun('r1');
  assert.equal(harness.starts.length, 3);
  await harness.trigger({ key: 'k', rate: 2, periodMs: 1_000 });
  await harness.passTime(0);
  assert.equal(harness.starts.length, 5);
  await harness.trigger({ key: 'k' });
  await harness.passTime(0);
  assert.equal(harness.starts.length, 5, 'a trigger without limits keeps those of the key');
  await harness.passTime(1_000);
  assert.equal(harness.starts.length, 7);
});

test('limits that became durable while the key was being loaded apply, and so does a pin', async () => {
  const harness = new GateHarness();
  harness.offerMany(4, 'k');
  harness.gates.recordLimits(INSTANCE, { key: 'k', parallelism: 2 });
  await harness.passTime(0);
  // The limits were noted before the key was needed, and the store had none.
  assert.equal(harness.starts.length, 4);
  const pinned = new GateHarness();
  await change(pinned, { kind: 'pin', limits: { parallelism: 1 } });
  pinned.offerMany(4, 'k');
  await pinned.trigger({ key: 'k', parallelism: 3 });
  await pinned.passTime(0);
  assert.equal(pinned.starts.length, 1);
});

test('pinned limits apply until they are unpinned; then the latest limits apply', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', parallelism: 1, rate: 100, periodMs: 500 });
  const pinned = await change(harness, { kind: 'pin', limits: { parallelism: 2 } });
  assert.deepEqual([pinned?.parallelism, pinned?.rate, pinned?.parallelismPinned, pinned?.ratePinned], [2, 100, true, false]);
  harness.offerMany(9, 'k');
  await harness.trigger({ key: 'k', parallelism: 5 });
  await harness.passTime(0);
  assert.equal(harness.starts.length, 2);
  await change(harness, { kind: 'unpin', parallelism: true, rate: true });
  assert.equal(harness.starts.length, 2);
  await harness.trigger({ key: 'k', parallelism: 5 });
  await harness.passTime(0);
  assert.equal(harness.starts.length, 5);
  assert.deepEqual(
    { ...harness.store.keys.get('k'), window: null },
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
  const harness = new GateHarness();
  await change(harness, { kind: 'pin', limits: { rate: 3, periodMs: 1_000 } });
  await harness.trigger({ key: 'k', parallelism: 1, rate: 100, periodMs: 500 });
  harness.offerMany(9, 'k');
  await harness.passTime(0);
  assert.equal(harness.starts.length, 1, 'the parallelism of the trigger');
  await harness.trigger({ key: 'k', parallelism: 9, rate: 100, periodMs: 500 });
  await harness.passTime(0);
  assert.equal(harness.starts.length, 3, 'the rate that is pinned');
  await change(harness, { kind: 'unpin', parallelism: true, rate: false });
  await harness.trigger({ key: 'k', parallelism: 9 });
  assert.deepEqual([(await status(harness))?.rate, (await status(harness))?.ratePinned], [3, true]);
});

test('nothing passes a paused key until it is resumed, even after a restart', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k' });
  assert.equal((await change(harness, { kind: 'pause' }))?.paused, true);
  const waiting = harness.offer('k');
  await harness.passTime(10_000);
  assert.deepEqual(reasons(harness, waiting), [
    { kind: 'flow-control', key: 'k', place: 1, waiting: 1, because: 'paused', until: null },
  ]);
  harness.crash();
  harness.offer('k', { runKey: waiting });
  await harness.passTime(10_000);
  assert.equal(harness.starts.length, 0);
  await change(harness, { kind: 'resume' });
  assert.deepEqual(harness.startedRuns, [waiting]);
});

test('a change resolves when it is durable, and with null for an unknown key', async () => {
  const harness = new GateHarness();
  for (const kind of ['pause', 'resume', 'reset-rate'] as const) assert.equal(await change(harness, { kind }), null);
  assert.equal(await change(harness, { kind: 'unpin', parallelism: true, rate: true }), null);
  assert.equal(await status(harness), null);
  assert.equal(harness.store.commits, 0);
  harness.store.latencyMs = () => 5;
  const pinned = harness.gates.changeFlowControl({
    instanceId: INSTANCE,
    key: 'k',
    change: { kind: 'pin', limits: { rate: 2 } },
  });
  await harness.passTime(4);
  assert.equal(harness.store.keys.size, 0);
  assert.equal((await harness.get(pinned, 1))?.periodMs, 1_000);
  assert.equal(harness.store.keys.get('k')?.ratePinned, true);
});

test('concurrent changes are all applied', async () => {
  const harness = new GateHarness();
  harness.store.latencyMs = () => 3;
  await harness.get(harness.trigger({ key: 'k', parallelism: 1 }));
  const changes = [{ kind: 'pause' }, { kind: 'pin', limits: { parallelism: 7 } }] as const;
  const done = Promise.all(changes.map((change) => harness.gates.changeFlowControl({ instanceId: INSTANCE, key: 'k', change })));
  await harness.get(Promise.all([done, harness.trigger({ key: 'k', parallelism: 2 })]));
  const { window, ...kept } = harness.store.keys.get('k') ?? { window: null };
  assert.deepEqual(kept, {
    key: 'k',
    parallelism: 7,
    rate: null,
    periodMs: null,
    paused: true,
    parallelismPinned: true,
    ratePinned: false,
  });
  const now = await status(harness);
  assert.deepEqual([now?.parallelism, now?.paused, now?.parallelismPinned], [7, true, true]);
});

test('a limit of a trigger that arrives while the key is being paused is stored as well', async () => {
  const harness = new GateHarness();
  harness.store.latencyMs = () => 3;
  await harness.get(harness.trigger({ key: 'k', parallelism: 1 }));
  await status(harness);
  const both = [
    harness.trigger({ key: 'k', parallelism: 2 }),
    harness.gates.changeFlowControl({ instanceId: INSTANCE, key: 'k', change: { kind: 'pause' } }),
  ];
  await harness.get(Promise.all(both));
  assert.equal((await status(harness))?.parallelism, 2);
  assert.deepEqual([harness.store.keys.get('k')?.parallelism, harness.store.keys.get('k')?.paused], [2, true]);
});

test('a longer period does not extend a window that has ended', async () => {
  const harness = new GateHarness();
  harness.endpoint = endsIn(() => 1);
  await harness.trigger({ key: 'k', rate: 2, periodMs: 100 });
  harness.offer('k');
  await harness.passTime(150);
  await harness.trigger({ key: 'k', rate: 2, periodMs: 200 });
  await harness.passTime(30);
  const begin = harness.now;
  harness.offer('k');
  await harness.passTime(30);
  harness.offerMany(2, 'k');
  await harness.passTime(300);
  assert.deepEqual(
    harness.starts.slice(1).map(({ at }) => at - begin),
    [0, 30, 200],
  );
});

test('resetting a window ends it immediately', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', rate: 1, periodMs: 60_000 });
  harness.offerMany(2, 'k');
  await harness.passTime(10);
  assert.equal(harness.starts.length, 1);
  await change(harness, { kind: 'reset-rate' });
  await harness.passTime(0);
  assert.equal(harness.starts.length, 2);
  assert.equal(harness.store.keys.get('k')?.window?.startedAt, harness.now);
});

test('resetting a window ends it although other nodes take over and the key is loaded before the reset is stored', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', rate: 1, periodMs: 60_000 });
  harness.offer('k');
  await harness.passTime(10);
  harness.store.latencyMs = () => 20;
  const reset = harness.gates.changeFlowControl({ instanceId: INSTANCE, key: 'k', change: { kind: 'reset-rate' } });
  await harness.passTime(10);
  harness.gates.reset();
  const late = harness.offer('k');
  await harness.passTime(5);
  assert.equal(harness.starts.length, 1);
  await harness.get(reset, 50);
  assert.deepEqual(harness.startedRuns, ['r0', late]);
});

test('a longer period does not extend a window from before a crash that may have ended', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k', rate: 1, periodMs: 100 });
  harness.offerMany(1, 'k');
  await harness.passTime(60);
  harness.endRun('r0');
  harness.crash();
  harness.offer('k', { runKey: 'late' });
  // The window started with its first request, between 0 and 60, so it may have ended at 100.
  await harness.passTime(40);
  await harness.trigger({ key: 'k', rate: 2, periodMs: 150 });
  await harness.passTime(0);
  assert.equal(harness.starts.length, 1);
  await harness.passTime(150);
  assert.equal(harness.starts.length, 2);
});

test('limits that another node stores while the key is being loaded are confirmed when they apply', async () => {
  const harness = new GateHarness();
  await harness.get(harness.gates.instanceSettings({ instanceId: INSTANCE }), 0);
  harness.store.readLatencyMs = 10;
  harness.offer('k');
  await harness.passTime(5);
  await harness.store.commitControl({
    guards: [],
    writes: [{ kind: 'put-flow-control', instanceId: INSTANCE, flowControl: { key: 'k', parallelism: 1 }, at: harness.now }],
  });
  let isConfirmed = false;
  void harness.gates.reloadKey(INSTANCE, 'k', false).then(() => {
    isConfirmed = true;
  });
  await harness.passTime(5);
  assert.deepEqual([harness.startedRuns, isConfirmed], [['r0'], false]);
  await harness.passTime(50);
  assert.equal(isConfirmed, true);
  harness.offer('k');
  assert.deepEqual(harness.startedRuns, ['r0']);
});

test('a read of a queue that is older than a change does not replace it', async () => {
  const harness = new GateHarness();
  const rules = { name: 'q', parallelism: 1, paused: false, createdAt: 1, updatedAt: 1 };
  const offer = (runKey: string) => {
    const limits = { instanceId: INSTANCE, flowControlKey: null, origin: 'http://app:80', queue: 'q' };
    harness.gates.offer({ runKey, slot: 0, limits });
  };
  offer('m0');
  await harness.passTime(0);
  offer('m1');
  harness.store.queues.set('q', rules);
  harness.store.readLatencyMs = 10;
  void harness.gates.reloadQueue(INSTANCE, 'q');
  await harness.passTime(5);
  const changedRules = { ...rules, parallelism: 2 };
  harness.store.queues.set('q', changedRules);
  harness.gates.onQueueChanged(INSTANCE, 'q', changedRules);
  assert.deepEqual(harness.startedRuns, ['m0', 'm1']);
  await harness.passTime(20);
  harness.endRun('m0');
  harness.gates.leaveQueue({ instanceId: INSTANCE, queue: 'q', runKey: 'm0' });
  offer('m2');
  assert.deepEqual(harness.startedRuns, ['m0', 'm1', 'm2']);
});

/** A queue that another node has paused, and a key in use whose parallelism it has changed to 1, both in memory here. */
async function changedElsewhere() {
  const harness = new GateHarness();
  const offer = (runKey: string) => {
    const limits = { instanceId: INSTANCE, flowControlKey: null, origin: ORIGIN, queue: 'q' };
    harness.gates.offer({ runKey, slot: 0, limits });
  };
  const queue = { name: 'q', parallelism: 9, paused: false, createdAt: 1, updatedAt: 1 };
  harness.store.queues.set('q', queue);
  await harness.trigger({ key: 'k', parallelism: 9 });
  offer('m0');
  for (const key of ['first', 'k']) harness.offer(key);
  await harness.passTime(0);
  harness.store.queues.set('q', { ...queue, paused: true });
  const flowControl = { key: 'k', parallelism: 1 };
  const write = { kind: 'put-flow-control', instanceId: INSTANCE, flowControl, at: harness.now } as const;
  await harness.store.commitControl({ guards: [], writes: [write] });
  const offerBoth = () => {
    harness.starts.length = 0;
    offer('m1');
    harness.offer('k', { runKey: 'late' });
    return harness.startedRuns;
  };
  return { harness, offerBoth };
}

test('changes of another node that cannot be read are confirmed when they could be read', async () => {
  const { harness, offerBoth } = await changedElsewhere();
  harness.store.isBroken = true;
  const confirmed: string[] = [];
  void harness.gates.reloadQueue(INSTANCE, 'q').then(() => confirmed.push('queue'));
  void harness.gates.reloadKey(INSTANCE, 'k', false).then(() => confirmed.push('key'));
  await harness.passTime(1_500);
  assert.deepEqual(confirmed, []);
  harness.store.isBroken = false;
  await harness.passTime(500);
  assert.deepEqual([confirmed, offerBoth()], [['queue', 'key'], []]);
});

test('a pause of a key applies although the response to its commit is lost', async () => {
  const harness = new GateHarness();
  await harness.trigger({ key: 'k' });
  await status(harness);
  const { commitControl } = harness.store;
  harness.store.commitControl = async (unit) => {
    await commitControl.call(harness.store, unit);
    throw new Error('the response was lost');
  };
  await assert.rejects(change(harness, { kind: 'pause' }), /the response was lost/);
  await harness.passTime(0);
  harness.offer('k');
  await harness.passTime(0);
  assert.deepEqual(harness.startedRuns, []);
});

test('reads that follow several failed changes are repeated together', async () => {
  const harness = new GateHarness();
  const { gates, store } = harness;
  await harness.trigger({ key: 'k' });
  await status(harness);
  const settings = await gates.instanceSettings({ instanceId: INSTANCE });
  store.isBroken = true;
  for (let times = 0; times < 3; times++) {
    await assert.rejects(change(harness, { kind: 'pause' }), /the disk is full/);
    await assert.rejects(gates.changeInstanceSettings({ instanceId: INSTANCE, settings }), /the disk is full/);
  }
  const warnings = [
    'could not read a flow control key, retrying in 1 s',
    'could not read the settings of a queue instance, retrying in 1 s',
  ];
  for (let seconds = 0; seconds < 2; seconds++) {
    harness.warnings.length = 0;
    await harness.passTime(1_000);
    assert.deepEqual(harness.warnings.toSorted(), warnings);
  }
});

test('reads of a key that fail at the same time are repeated together', async () => {
  const { harness, offerBoth } = await changedElsewhere();
  harness.store.isBroken = true;
  harness.store.readLatencyMs = 10;
  let confirmed = 0;
  for (let notices = 0; notices < 3; notices++)
    void harness.gates.reloadKey(INSTANCE, 'k', false).then(() => {
      confirmed++;
    });
  void harness.gates.reloadQueue(INSTANCE, 'q');
  await harness.passTime(500);
  assert.deepEqual([confirmed, harness.warnings.length], [0, 2]);
  harness.store.isBroken = false;
  await harness.passTime(1_000);
  assert.deepEqual([confirmed, offerBoth(), harness.warnings.length], [3, [], 2]);
});

test('a key that was removed while its read waits to be repeated is loaded again', async () => {
  const harness = new GateHarness();
  const { store } = harness;
  let isDamaged = true;
  const find = store.findFlowControl.bind(store);
  store.findFlowControl = (query) => (isDamaged && query.key === 'k' ? Promise.reject(new Error('damaged')) : find(query));
  await harness.trigger({ key: 'k' });
  const first = harness.offer('k');
  await harness.passTime(0);
  isDamaged = false;
  await change(harness, { kind: 'pin', limits: { parallelism: 1 } });
  harness.endRun(first);
  // The idle key is removed, because there are too many keys.
  for (let n = 0; n < 5_000; n++) harness.offer(`k${n}`);
  isDamaged = true;
  const second = harness.offer('k');
  await harness.passTime(0);
  assert.ok(!harness.startedRuns.includes(second));
  isDamaged = false;
  await harness.passTime(2_000);
  assert.ok(harness.startedRuns.includes(second));
});

test('a key that cannot be read does not keep others from being read after changes were missed', async () => {
  const { harness, offerBoth } = await changedElsewhere();
  harness.store.findFlowControl = async ({ key }) => {
    if (key !== 'k') throw new Error('the row is damaged');
    return harness.store.keys.get(key) ?? null;
  };
  harness.gates.reloadAll();
  await harness.passTime(0);
  assert.deepEqual(offerBoth(), []);
});

test('each of many notices of one queue causes at most two reads', async () => {
  const harness = new GateHarness();
  const limits = { instanceId: INSTANCE, flowControlKey: null, origin: 'http://app:80', queue: 'q' };
  harness.gates.offer({ runKey: 'm0', slot: 0, limits });
  await harness.passTime(0);
  let readCount = 0;
  const { findQueue } = harness.store;
  harness.store.findQueue = (query) => {
    readCount++;
    return findQueue.call(harness.store, query);
  };
  harness.store.readLatencyMs = 10;
  const reloads = Array.from({ length: 20 }, () => harness.gates.reloadQueue(INSTANCE, 'q'));
  await harness.passTime(50);
  await Promise.all(reloads);
  assert.ok(readCount <= 40, `${readCount} reads`);
});

test('a check of the queues of several instances that fails is repeated once a second', async () => {
  const harness = new GateHarness();
  for (const instanceId of ['qi_1', 'qi_2']) {
    const limits = { instanceId, flowControlKey: null, origin: ORIGIN, queue: 'q' };
    harness.gates.offer({ runKey: `message of ${instanceId}`, slot: 0, limits });
  }
  await harness.passTime(0);
  let checkCount = 0;
  const isActive = async (): Promise<boolean> => {
    checkCount++;
    throw new Error('the disk is gone');
  };
  for (let times = 0; times < 3; times++) harness.gates.verifyQueues(isActive);
  await harness.passTime(500);
  checkCount = 0;
  await harness.passTime(3_000);
  assert.equal(checkCount, 6);
});
