/** What the runtime makes of the limits of an instance. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type InstanceLimits, NO_LIMITS } from '../ports/instance-limits.js';
import { inARow, ScriptedCaller, settle, withRuntime } from './runtime.fixture.js';
import { caller, command, HOUR_MS, INSTANCE, id, pass, runsIn, START } from './schedules.fixture.js';

const limitedTo = (more: Partial<InstanceLimits>): InstanceLimits => ({ ...NO_LIMITS, ...more });

test('a tick that is refused starts no run, and the next one is tried at its time', async () => {
  let refused: string | null = 'the budget is spent';
  const limits = limitedTo({ refuseTick: async () => refused });
  await withRuntime(
    caller(),
    async (bench) => {
      const { scheduleId } = await bench.runtime.putSchedule(command());
      await pass(bench, HOUR_MS);
      assert.deepEqual(await runsIn(bench.store), []);
      const skipped = await bench.store.findSchedule(id(scheduleId));
      assert.deepEqual([skipped?.nextAt, skipped?.lastFiredAt], [START + 2 * HOUR_MS, null]);
      refused = null;
      await pass(bench, HOUR_MS);
      assert.equal((await runsIn(bench.store)).length, 1);
    },
    { limits },
  );
});

test('an instance has no more deliveries in flight than it may, and none is forgotten', async () => {
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
      assert.deepEqual(bench.runtime.globalParallelism({ instanceId: INSTANCE }), { max: 3, inFlight: 3 });
      for (let i = 0; i < 10; i++) {
        release.shift()?.();
        await settle();
      }
      assert.deepEqual([endpoint.mostOut, endpoint.calls.length], [3, 10]);
      assert.equal((await runsIn(bench.store)).filter(({ status }) => status === 'succeeded').length, 10);
    },
    { limits: limitedTo({ maxParallelism: () => 3 }) },
  );
});

test('starts of a rate are not granted beyond what the instance may have in flight', async () => {
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
      const status = await runtime.flowControl({ instanceId: INSTANCE, key: 'k' });
      assert.deepEqual([endpoint.calls.length, status?.window?.granted], [2, 2]);
      for (let i = 0; i < 3; i++) {
        release.shift()?.();
        await settle();
      }
      assert.equal(endpoint.calls.length, 5);
      // The window is used up, though there is room in flight.
      release.shift()?.();
      await settle();
      assert.equal(endpoint.calls.length, 5);
      bench.clock.move(1_000);
      for (let i = 0; i < 10; i++) {
        await settle();
        release.shift()?.();
      }
      await settle();
      assert.deepEqual([endpoint.calls.length, endpoint.mostOut], [8, 2]);
    },
    { limits: limitedTo({ maxParallelism: () => 2 }) },
  );
});

test('whoever watches the spending is told of messages once they are durable', async () => {
  const told: string[] = [];
  const limits = limitedTo({ messagesCounted: (instanceId) => told.push(instanceId) });
  await withRuntime(
    new ScriptedCaller(inARow(2)),
    async (bench) => {
      await bench.trigger();
      await settle();
      // The trigger and the second step.
      assert.deepEqual(told, [INSTANCE, INSTANCE]);
      const [month] = await bench.store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2027-01' });
      assert.equal(month?.messages, 2);
    },
    { limits },
  );
});
