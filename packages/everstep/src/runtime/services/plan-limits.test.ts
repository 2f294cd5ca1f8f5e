/** Limits of an instance in the runtime. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type InstanceLimits, NO_LIMITS, type RunAdmission, type TickRefusal } from '../../ports/stores/instance-limits.js';
import type { Store } from '../../ports/stores/store.js';
import { respondWith } from '../messages/plain-messages.fixture.js';
import { inARow, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import { caller, command, HOUR_MS, INSTANCE, id, passTime, putSchedule, runsIn, START } from './schedules.fixture.js';

const limitedTo = (more: Partial<InstanceLimits>): InstanceLimits => ({ ...NO_LIMITS, ...more });

test('a refused tick is counted and starts no run, and the next one is tried at its time', async () => {
  /** A time on the day before it starts a run. */
  const admittedAt = START - 24 * HOUR_MS;
  let decided: RunAdmission | TickRefusal = { kind: 'tick-budget-exceeded', message: 'the budget is spent' };
  const asked: (readonly [number, number])[] = [];
  const limits = limitedTo({
    admitTick: async (_instanceId, { bodyBytes, runs }) => {
      asked.push([bodyBytes, runs]);
      return decided;
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      const { scheduleId } = await putSchedule(bench.runtime, command());
      await passTime(bench, HOUR_MS);
      assert.deepEqual(await runsIn(bench.store), []);
      const skipped = await bench.store.findSchedule(id(scheduleId));
      assert.deepEqual([skipped?.nextAt, skipped?.lastFiredAt], [START + 2 * HOUR_MS, null]);
      decided = { kind: 'admitted', at: admittedAt };
      await passTime(bench, HOUR_MS);
      assert.equal((await runsIn(bench.store)).length, 1);
      const bytes = command().payload.body.length;
      assert.deepEqual(asked, [
        [bytes, 1],
        [bytes, 1],
      ]);
      const counts = await bench.store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 });
      assert.deepEqual(
        counts.map(({ what, count, lastAt }) => [what, count, lastAt]),
        [
          ['tick-budget-exceeded', 1, START + HOUR_MS],
          ['run', 1, admittedAt],
        ],
      );
    },
    { limits },
  );
});

test('a tick for a URL group is admitted with one run for each endpoint, and an empty group uses up nothing', async () => {
  /** Admitted runs that were not released. */
  let admitted = 0;
  const limits = limitedTo({
    admitTick: async (_instanceId, { runs }) => {
      admitted += runs;
      return { kind: 'admitted', at: START };
    },
    releaseRuns: (_instanceId, runs) => {
      admitted -= runs;
    },
  });
  const sender = new ScriptedSender(() => respondWith(200));
  let isChanged = false;
  const wrap = (store: Store): Store => ({
    ...store,
    async commit(units) {
      const isTick = units.some(({ guards }) => guards.some(({ kind }) => kind === 'schedule-due'));
      if (isTick && isChanged) {
        isChanged = false;
        return units.map(() => ({ kind: 'changed' }));
      }
      return store.commit(units);
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      const settings = { ...SETTINGS, message: { method: 'POST', urlGroup: 'all' } };
      const { scheduleId } = await putSchedule(bench.runtime, command({ workflowUrl: 'all', settings }));
      await passTime(bench, HOUR_MS);
      assert.deepEqual([admitted, (await bench.store.findSchedule(id(scheduleId)))?.nextAt], [0, START + 2 * HOUR_MS]);
      const endpoints = ['a', 'b', 'c'].map((name) => ({ name, url: `http://app/${name}` }));
      await bench.runtime.urlGroups.addEndpoints({ instanceId: INSTANCE, name: 'all', endpoints });
      isChanged = true;
      await passTime(bench, HOUR_MS);
      assert.equal(isChanged, false);
      assert.deepEqual([admitted, sender.sent.length], [3, 3]);
    },
    { limits, wrap, sender },
  );
});

test('limits the deliveries of an instance in flight, and delivers all of them', async () => {
  const release: (() => void)[] = [];
  const done = inARow(1);
  const endpoint = new ScriptedCaller(async (call) => {
    await new Promise<void>((resolve) => release.push(resolve));
    return done(call);
  });
  await withRuntime(
    endpoint,
    async (bench) => {
      for (let i = 0; i < 10; i++) await bench.trigger({ workflowUrl: `http://app${i % 3}/flow` });
      await settle();
      assert.deepEqual(bench.runtime.flowControl.globalParallelism({ instanceId: INSTANCE }), { max: 3, inFlight: 3 });
      for (let i = 0; i < 10; i++) {
        release.shift()?.();
        await settle();
      }
      assert.deepEqual([endpoint.maxInFlight, endpoint.calls.length], [3, 10]);
      assert.equal((await runsIn(bench.store)).filter(({ status }) => status === 'succeeded').length, 10);
    },
    { limits: limitedTo({ maxParallelism: () => 3 }) },
  );
});

/** Returns endpoints that respond on command, and a limit that changes like the plan of an instance. */
function held(max: number | null) {
  const release: (() => void)[] = [];
  const done = inARow(1);
  const endpoint = new ScriptedCaller(async (call) => {
    await new Promise<void>((resolve) => release.push(resolve));
    return done(call);
  });
  const listeners: ((instanceId: string) => void)[] = [];
  let now = max;
  const limits = limitedTo({ maxParallelism: () => now, onChange: (changed) => listeners.push(changed) });
  const change = async (next: number | null) => {
    now = next;
    for (const changed of listeners) changed(INSTANCE);
    await settle();
  };
  const letOne = async () => {
    release.shift()?.();
    await settle();
  };
  return { endpoint, limits, change, letOne };
}

test('a raised limit applies immediately, even if no delivery ends', async () => {
  const { endpoint, limits, change } = held(2);
  await withRuntime(
    endpoint,
    async (bench) => {
      for (let i = 0; i < 6; i++) await bench.trigger({ workflowUrl: `http://app${i % 2}/flow` });
      await settle();
      assert.equal(endpoint.inFlight, 2);
      await change(5);
      assert.equal(endpoint.inFlight, 5);
      await change(null);
      assert.equal(endpoint.inFlight, 6);
    },
    { limits },
  );
});

test('a lowered limit stops no delivery in flight, and starts no more until there is a free slot', async () => {
  const { endpoint, limits, change, letOne } = held(4);
  await withRuntime(
    endpoint,
    async (bench) => {
      for (let i = 0; i < 6; i++) await bench.trigger();
      await settle();
      assert.equal(endpoint.inFlight, 4);
      await change(1);
      assert.deepEqual(bench.runtime.flowControl.globalParallelism({ instanceId: INSTANCE }), { max: 1, inFlight: 4 });
      for (const left of [3, 2, 1, 1, 1]) {
        await letOne();
        assert.equal(endpoint.inFlight, left);
      }
      assert.equal(endpoint.calls.length, 6);
    },
    { limits },
  );
});

test('starts of a rate that waited for the plan are sent when its limit is raised', async () => {
  const { endpoint, limits, change } = held(1);
  await withRuntime(
    endpoint,
    async (bench) => {
      const settings = { ...command().settings, flowControl: { key: 'k', rate: 5, periodMs: HOUR_MS } };
      for (let i = 0; i < 4; i++) await bench.trigger({ settings });
      await settle();
      assert.equal(endpoint.inFlight, 1);
      await change(3);
      assert.equal(endpoint.inFlight, 3);
    },
    { limits },
  );
});

test('a reset rate applies immediately, even if no delivery ends', async () => {
  const { endpoint, limits } = held(4);
  await withRuntime(
    endpoint,
    async (bench) => {
      const settings = { ...command().settings, flowControl: { key: 'k', rate: 2, periodMs: HOUR_MS } };
      for (let i = 0; i < 6; i++) await bench.trigger({ settings });
      await settle();
      assert.equal(endpoint.inFlight, 2);
      const reset = () => bench.runtime.flowControl.change({ instanceId: INSTANCE, key: 'k', change: { kind: 'reset-rate' } });
      await reset();
      await settle();
      assert.equal(endpoint.inFlight, 4);
      await reset();
      await settle();
      assert.equal(endpoint.inFlight, 4, 'the plan allows no more');
    },
    { limits },
  );
});

test('starts of a rate never exceed the deliveries that the instance can have in flight', async () => {
  const release: (() => void)[] = [];
  const done = inARow(1);
  const endpoint = new ScriptedCaller(async (call) => {
    await new Promise<void>((resolve) => release.push(resolve));
    return done(call);
  });
  const flowControl = { key: 'k', rate: 5, periodMs: 1_000 };
  await withRuntime(
    endpoint,
    async (bench) => {
      const { runtime } = bench;
      const settings = { ...command().settings, flowControl };
      for (let i = 0; i < 8; i++) await bench.trigger({ workflowUrl: `http://app${i % 4}/flow`, settings });
      await settle();
      const status = await runtime.flowControl.find({ instanceId: INSTANCE, key: 'k' });
      assert.deepEqual([endpoint.calls.length, status?.window?.granted], [2, 2]);
      for (let i = 0; i < 3; i++) {
        release.shift()?.();
        await settle();
      }
      assert.equal(endpoint.calls.length, 5);
      // The window is used up, although more deliveries could be in flight.
      release.shift()?.();
      await settle();
      assert.equal(endpoint.calls.length, 5);
      // The test endpoint does not report when a request is sent, so the window lasts longer by the maximum connect time.
      bench.clock.move(2_000);
      for (let i = 0; i < 10; i++) {
        await settle();
        release.shift()?.();
      }
      await settle();
      assert.deepEqual([endpoint.calls.length, endpoint.maxInFlight], [8, 2]);
    },
    { limits: limitedTo({ maxParallelism: () => 2 }) },
  );
});

test('reports messages for the budget once they are durable', async () => {
  const notified: string[] = [];
  const limits = limitedTo({ onMessagesCounted: (instanceId) => notified.push(instanceId) });
  await withRuntime(
    new ScriptedCaller(inARow(2)),
    async (bench) => {
      await bench.trigger();
      await settle();
      // One message for the trigger and one for the second step.
      assert.deepEqual(notified, [INSTANCE, INSTANCE]);
      const [month] = await bench.store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2027-01' });
      assert.equal(month?.messages, 2);
    },
    { limits },
  );
});
