/** Tests the limits of plans and budgets on a real in-memory store in simulated time. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AccountStore, InstanceChange } from '../../ports/stores/account-store.js';
import type { TickRefusal } from '../../ports/stores/instance-limits.js';
import { DECEMBER, INSTANCE, openSpending, type SpendingHarness } from '../spending.fixture.js';
import { createLimits, type Limits, type Refusal } from './limits.js';
import { loadPlans } from './plans.js';

const DAY_MS = 86_400_000;
const PLANS = JSON.stringify({
  plans: [
    { name: 'small', maxRequestsPerDay: 3, apiCallsPerSecond: 2, maxParallelism: 4, maxMessageBytes: 10, logRetentionMs: 60_000 },
    { name: 'large', apiCallsPerSecond: 100, deadLetterRetentionMs: 120_000 },
  ],
});

interface Harness extends SpendingHarness {
  readonly limits: Limits;
  readonly spending: string[];
  /** Runs a function once, right after the count of a day was read. */
  whenDayIsRead(then: () => void): void;
  /** Returns the limits of another process on the same store. */
  restart(): Promise<Limits>;
}

async function open(t: TestContext, more: InstanceChange): Promise<Harness> {
  const harness = await openSpending(t, more);
  const read = loadPlans(PLANS);
  assert.ok(read.ok);
  const spending: string[] = [];
  const { accounts } = harness.store;
  let dayIsRead = () => {};
  const watched: AccountStore = {
    ...accounts,
    async countsByDay(query) {
      const counts = await accounts.countsByDay(query);
      dayIsRead();
      return counts;
    },
  };
  const restart = () =>
    createLimits({
      accounts: watched,
      plans: read.plans,
      now: () => harness.at,
      onSpending: (instanceId) => spending.push(instanceId),
    });
  const whenDayIsRead = (then: () => void) => {
    dayIsRead = then;
  };
  return Object.assign(harness, { limits: await restart(), spending, restart, whenDayIsRead });
}

/** Returns null if the runs may start. */
async function refuseRuns(limits: Limits, runs: number): Promise<Refusal | null> {
  const decided = await limits.admitRuns(INSTANCE, runs);
  return decided.kind === 'admitted' ? null : decided;
}

async function refuseTick(limits: Limits, bodyBytes: number): Promise<TickRefusal | null> {
  const decided = await limits.admitTick(INSTANCE, { bodyBytes, runs: 1 });
  return decided.kind === 'admitted' ? null : decided;
}

test('plans are known before the first request', async (t) => {
  const { limits } = await open(t, { plan: 'small' });
  assert.deepEqual([limits.plan(INSTANCE).name, limits.maxParallelism(INSTANCE)], ['small', 4]);
  assert.deepEqual(limits.retentionBounds(INSTANCE), { runsMs: 60_000, deadLettersMs: null });
  assert.deepEqual([limits.plan('qi_none').name, limits.maxParallelism('qi_none')], ['default', null]);
});

test('a plan change takes effect immediately after forget, else within half a second', async (t) => {
  const harness = await open(t, { plan: 'small' });
  await harness.change({ plan: 'large' });
  harness.limits.forget(INSTANCE);
  assert.equal(await refuseRuns(harness.limits, 100), null);
  assert.equal(harness.limits.plan(INSTANCE).name, 'large');
  await harness.change({ plan: 'small' });
  harness.at += 500;
  await harness.limits.refuseSpending(INSTANCE);
  assert.equal(harness.limits.plan(INSTANCE).name, 'small');
});

test('API calls are limited per second, and a refused call states how long to wait', async (t) => {
  const harness = await open(t, { plan: 'small' });
  const admitted = () => harness.limits.admitCall(INSTANCE);
  assert.deepEqual([admitted(), admitted(), admitted()], [null, null, 500]);
  harness.at += 499;
  assert.equal(admitted(), 1);
  harness.at += 1;
  assert.deepEqual([admitted(), admitted()], [null, 500]);
  harness.at += 60_000;
  assert.deepEqual([admitted(), admitted(), admitted()], [null, null, 500]);
  assert.equal(harness.limits.admitCall('qi_other'), null);
});

test('runs are limited per day, all or none of a request are admitted, and the next day starts at midnight UTC', async (t) => {
  const harness = await open(t, { plan: 'small' });
  assert.equal(await refuseRuns(harness.limits, 2), null);
  const refusal = await refuseRuns(harness.limits, 2);
  assert.ok(refusal?.kind === 'daily-limit');
  assert.equal(refusal.retryAfterMs, DAY_MS / 2);
  assert.match(refusal.message, /the plan small limits runs to 3 per day .* 2026-12-01T00:00:00Z/);
  assert.equal(await refuseTick(harness.limits, 0), null);
  assert.match((await refuseTick(harness.limits, 0))?.message ?? '', /Started today: 3\./);
  assert.equal((await refuseTick(harness.limits, 0))?.kind, 'tick-daily-limit-reached');
  assert.equal((await harness.limits.currentRefusals(INSTANCE)).length, 1);
  harness.at = DECEMBER;
  assert.equal(await refuseRuns(harness.limits, 3), null);
});

test('runs admitted before midnight and started after it do not affect the next day', async (t) => {
  const harness = await open(t, { plan: 'small' });
  const { limits } = harness;
  harness.at = DECEMBER - 1;
  const runAdmission = await limits.admitRuns(INSTANCE, 3);
  assert.deepEqual(runAdmission, { kind: 'admitted', at: DECEMBER - 1 });
  harness.at = DECEMBER;
  assert.equal(await refuseRuns(limits, 2), null);
  assert.ok(runAdmission.kind === 'admitted');
  limits.releaseRuns(INSTANCE, 3, runAdmission);
  assert.equal(await refuseRuns(limits, 1), null);
  assert.equal((await refuseRuns(limits, 1))?.kind, 'daily-limit');
});

test('if midnight passes while the count is read, the new day is used', async (t) => {
  const harness = await open(t, { plan: 'small' });
  harness.at = DECEMBER;
  await harness.start(3);
  harness.at = DECEMBER - 1;
  harness.whenDayIsRead(() => {
    harness.at = DECEMBER;
  });
  assert.deepEqual(await refuseRuns(harness.limits, 1), {
    kind: 'daily-limit',
    message: 'the plan small limits runs to 3 per day (UTC). Started today: 3. The next day starts at 2026-12-02T00:00:00Z',
    retryAfterMs: DAY_MS,
    limit: 3,
    startedToday: 3,
    resetAt: DECEMBER + DAY_MS,
  });
});

test('the daily count comes from the store, even after a restart', async (t) => {
  const harness = await open(t, { plan: 'small' });
  await harness.start(2);
  const again = await harness.restart();
  assert.equal((await refuseRuns(again, 2))?.kind, 'daily-limit');
  assert.equal(await refuseRuns(again, 1), null);
  const refusal = await refuseRuns(again, 1);
  assert.match(refusal?.message ?? '', /Started today: 3\./);
});

test('concurrent runs cannot exceed the plan', async (t) => {
  const harness = await open(t, { plan: 'small' });
  await harness.start(1);
  const { limits } = harness;
  const refusals = await Promise.all(Array.from({ length: 20 }, () => refuseRuns(limits, 1)));
  assert.equal(refusals.filter((refusal) => refusal === null).length, 2);
});

test('runs that were admitted but not started do not count for the day', async (t) => {
  const { limits } = await open(t, { plan: 'small' });
  const runAdmission = await limits.admitRuns(INSTANCE, 3);
  assert.ok(runAdmission.kind === 'admitted');
  limits.releaseRuns(INSTANCE, 2, runAdmission);
  assert.equal(await refuseRuns(limits, 3 - 1), null);
  assert.equal((await refuseRuns(limits, 1))?.kind, 'daily-limit');
  // It is unknown whether they started: the store has none of them.
  limits.recount(INSTANCE);
  assert.equal(await refuseRuns(limits, 3), null);
});

test('runs started while no plan limited them count when a plan does', async (t) => {
  const harness = await open(t, { plan: 'small' });
  assert.equal(await refuseRuns(harness.limits, 1), null);
  await harness.start(1);
  await harness.change({ plan: 'large' });
  await harness.limits.forget(INSTANCE);
  assert.equal(await refuseRuns(harness.limits, 2), null);
  await harness.start(2);
  await harness.change({ plan: 'small' });
  await harness.limits.forget(INSTANCE);
  assert.equal((await refuseRuns(harness.limits, 1))?.kind, 'daily-limit');
});

test("a scheduled run with a body over the plan's limit is refused and does not count for the day", async (t) => {
  const { limits } = await open(t, { plan: 'small' });
  assert.deepEqual(limits.messageLimit(INSTANCE), { plan: 'small', maxBytes: 10 });
  assert.equal(limits.messageLimit('qi_none'), null);
  const refusal = await refuseTick(limits, 11);
  assert.equal(refusal?.kind, 'tick-body-too-large');
  assert.match(refusal.message, /the plan small allows messages of at most 10 bytes, but this one has 11/);
  assert.equal(await refuseTick(limits, 10), null);
  assert.equal(await refuseRuns(limits, 2), null);
});

test('during the refresh of a changed instance the old limits apply, and then listeners are notified', async (t) => {
  const harness = await open(t, { plan: 'small' });
  const notified: string[] = [];
  harness.limits.onChange((instanceId) => notified.push(`${instanceId} ${harness.limits.maxParallelism(instanceId)}`));
  await harness.change({ plan: 'large' });
  const known = harness.limits.forget(INSTANCE);
  assert.equal(harness.limits.maxParallelism(INSTANCE), 4);
  await known;
  assert.equal(harness.limits.maxParallelism(INSTANCE), null);
  assert.deepEqual(notified, [`${INSTANCE} null`]);
});

test('a spent budget refuses runs and other spending, with advice in the error', async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  assert.deepEqual(await harness.limits.currentRefusals(INSTANCE), []);
  await harness.send(2_000_000);
  harness.at += 500;
  const refusal = await refuseRuns(harness.limits, 1);
  assert.ok(refusal?.kind === 'budget-exceeded');
  for (const part of ['$20.00 of $20 for 2026-11', '2026-12-01T00:00:00Z (UTC)', 'owner, admin or finance member']) {
    assert.ok(refusal.message.includes(part), refusal.message);
  }
  assert.deepEqual(await harness.limits.refuseSpending(INSTANCE), refusal);
  assert.deepEqual(await refuseTick(harness.limits, 0), { kind: 'tick-budget-exceeded', message: refusal.message });
  assert.deepEqual(await harness.limits.currentRefusals(INSTANCE), [refusal.message]);
  harness.at = DECEMBER;
  assert.equal(await refuseRuns(harness.limits, 1), null);
});

test('runs refused by the budget do not count for the day', async (t) => {
  const harness = await open(t, { plan: 'small', budgetDollars: 20 });
  await harness.send(2_000_000);
  for (let i = 0; i < 5; i++) assert.equal((await refuseRuns(harness.limits, 1))?.kind, 'budget-exceeded');
  await harness.change({ budgetDollars: 0 });
  harness.limits.forget(INSTANCE);
  assert.equal(await refuseRuns(harness.limits, 3), null);
});

test('counted messages of an instance with a budget are reported, and so are changes to an instance', async (t) => {
  const harness = await open(t, {});
  harness.limits.onMessagesCounted(INSTANCE);
  assert.deepEqual(harness.spending, []);
  await harness.change({ budgetDollars: 20 });
  harness.limits.forget(INSTANCE);
  assert.deepEqual(harness.spending, [INSTANCE]);
  await harness.limits.refuseSpending(INSTANCE);
  harness.limits.onMessagesCounted(INSTANCE);
  assert.deepEqual(harness.spending, [INSTANCE, INSTANCE]);
});
