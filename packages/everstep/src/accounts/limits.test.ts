/** What a plan and a budget allow, on a real store in memory, in simulated time. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { InstanceChange } from '../ports/account-store.js';
import { createLimits, type Limits } from './limits.js';
import { loadPlans } from './plans.js';
import { DECEMBER, INSTANCE, openSpending, type SpendingWorld } from './spending.fixture.js';

const DAY_MS = 86_400_000;
const PLANS = JSON.stringify({
  plans: [
    { name: 'small', maxRequestsPerDay: 3, apiCallsPerSecond: 2, maxParallelism: 4, logRetentionMs: 60_000 },
    { name: 'large', apiCallsPerSecond: 100, deadLetterRetentionMs: 120_000 },
  ],
});

interface World extends SpendingWorld {
  readonly limits: Limits;
  readonly spending: string[];
}

async function open(t: TestContext, more: InstanceChange): Promise<World> {
  const world = await openSpending(t, more);
  const read = loadPlans(PLANS);
  assert.ok(read.ok);
  const spending: string[] = [];
  const limits = await createLimits({
    accounts: world.store.accounts,
    plans: read.plans,
    now: () => world.at,
    onSpending: (instanceId) => spending.push(instanceId),
  });
  return Object.assign(world, { limits, spending });
}

test('what the plan says is known before anything was asked', async (t) => {
  const { limits } = await open(t, { plan: 'small' });
  assert.deepEqual([limits.plan(INSTANCE).name, limits.maxParallelism(INSTANCE)], ['small', 4]);
  assert.deepEqual(limits.retentionBounds(INSTANCE), { runsMs: 60_000, deadLettersMs: null });
  assert.deepEqual([limits.plan('qi_none').name, limits.maxParallelism('qi_none')], ['default', null]);
});

test('another plan counts from the next question on once it is told of, and else within half a second', async (t) => {
  const world = await open(t, { plan: 'small' });
  await world.change({ plan: 'large' });
  world.limits.forget(INSTANCE);
  assert.equal(await world.limits.refuseRuns(INSTANCE, 100), null);
  assert.equal(world.limits.plan(INSTANCE).name, 'large');
  await world.change({ plan: 'small' });
  world.at += 500;
  await world.limits.refuseSpending(INSTANCE);
  assert.equal(world.limits.plan(INSTANCE).name, 'small');
});

test('a second has so many calls of the API; who makes more is told how long to wait', async (t) => {
  const world = await open(t, { plan: 'small' });
  const admitted = () => world.limits.admitCall(INSTANCE);
  assert.deepEqual([admitted(), admitted(), admitted()], [null, null, 500]);
  world.at += 499;
  assert.equal(admitted(), 1);
  world.at += 1;
  assert.deepEqual([admitted(), admitted()], [null, 500]);
  world.at += 60_000;
  assert.deepEqual([admitted(), admitted(), admitted()], [null, null, 500]);
  assert.equal(world.limits.admitCall('qi_other'), null);
});

test('a day has so many runs, all or none of those that are asked for together; the next begins at midnight UTC', async (t) => {
  const world = await open(t, { plan: 'small' });
  assert.equal(await world.limits.refuseRuns(INSTANCE, 2), null);
  const refusal = await world.limits.refuseRuns(INSTANCE, 2);
  assert.ok(refusal?.kind === 'daily-limit');
  assert.equal(refusal.retryAfterMs, DAY_MS / 2);
  assert.match(refusal.message, /the plan small starts at most 3 runs a day .* 2026-12-01T00:00:00Z/);
  assert.equal(await world.limits.refuseTick(INSTANCE), null);
  assert.match((await world.limits.refuseTick(INSTANCE)) ?? '', /3 were started today/);
  assert.equal((await world.limits.refusedNow(INSTANCE)).length, 1);
  world.at = DECEMBER;
  assert.equal(await world.limits.refuseRuns(INSTANCE, 3), null);
});

test('a budget that is spent refuses runs and all other spending, in words that say how it can go on', async (t) => {
  const world = await open(t, { budgetDollars: 20 });
  assert.deepEqual(await world.limits.refusedNow(INSTANCE), []);
  await world.send(2_000_000);
  world.at += 500;
  const refusal = await world.limits.refuseRuns(INSTANCE, 1);
  assert.ok(refusal?.kind === 'budget-exceeded');
  for (const part of ['$20.00 of $20 for 2026-11', '2026-12-01T00:00:00Z (UTC)', 'owner, admin or finance member']) {
    assert.ok(refusal.message.includes(part), refusal.message);
  }
  assert.deepEqual(await world.limits.refuseSpending(INSTANCE), refusal);
  assert.equal(await world.limits.refuseTick(INSTANCE), refusal.message);
  assert.deepEqual(await world.limits.refusedNow(INSTANCE), [refusal.message]);
  world.at = DECEMBER;
  assert.equal(await world.limits.refuseRuns(INSTANCE, 1), null);
});

test('runs that the budget refuses do not count for the day', async (t) => {
  const world = await open(t, { plan: 'small', budgetDollars: 20 });
  await world.send(2_000_000);
  for (let i = 0; i < 5; i++) assert.equal((await world.limits.refuseRuns(INSTANCE, 1))?.kind, 'budget-exceeded');
  await world.change({ budgetDollars: 0 });
  world.limits.forget(INSTANCE);
  assert.equal(await world.limits.refuseRuns(INSTANCE, 3), null);
});

test('messages are news where there is a budget, and so is a change of the instance', async (t) => {
  const world = await open(t, {});
  world.limits.messagesCounted(INSTANCE);
  assert.deepEqual(world.spending, []);
  await world.change({ budgetDollars: 20 });
  world.limits.forget(INSTANCE);
  assert.deepEqual(world.spending, [INSTANCE]);
  await world.limits.refuseSpending(INSTANCE);
  world.limits.messagesCounted(INSTANCE);
  assert.deepEqual(world.spending, [INSTANCE, INSTANCE]);
});
