/** What is spent, and when that is all, on a real store in memory. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { InstanceChange } from '../ports/account-store.js';
import { type Budgets, createBudgets } from './budget.js';
import { BUILT_IN_PLANS, loadPlans, type Plans } from './plans.js';
import { DECEMBER, INSTANCE, NOON, OTHER_OWNER, OWNER, openSpending, type SpendingWorld } from './spending.fixture.js';

interface World extends SpendingWorld {
  readonly budgets: Budgets;
}

async function open(t: TestContext, more: InstanceChange = {}, plans: Plans = BUILT_IN_PLANS): Promise<World> {
  const world = await openSpending(t, more);
  return Object.assign(world, { budgets: createBudgets({ accounts: world.store.accounts, plans, now: () => world.at }) });
}

test('a dollar buys 100,000 messages; the budget is spent when nothing is left of it', async (t) => {
  const world = await open(t, { budgetDollars: 20 });
  await world.send(1_999_999);
  assert.equal(await world.budgets.check(INSTANCE), null);
  await world.send(1);
  world.at += 500;
  assert.deepEqual(await world.budgets.check(INSTANCE), { spent: 20, budget: 20, until: DECEMBER });
});

test('without a budget, and with one of 0, nothing is refused; what is spent is known all the same', async (t) => {
  const world = await open(t);
  await world.send(5_000_000);
  assert.equal(await world.budgets.check(INSTANCE), null);
  assert.equal(await world.budgets.spent(INSTANCE), 50);
  await world.change({ budgetDollars: 0 });
  world.budgets.forget(INSTANCE);
  assert.equal(await world.budgets.check(INSTANCE), null);
});

test('what is read counts for half a second and no longer', async (t) => {
  const world = await open(t, { budgetDollars: 20 });
  assert.equal(await world.budgets.check(INSTANCE), null);
  await world.send(2_000_000);
  world.at += 499;
  assert.equal(await world.budgets.check(INSTANCE), null);
  world.at += 1;
  assert.notEqual(await world.budgets.check(INSTANCE), null);
});

test('a budget that is lowered below what is spent counts at once, and one that is lifted too', async (t) => {
  const world = await open(t, { budgetDollars: 100 });
  await world.send(3_000_000);
  assert.equal(await world.budgets.check(INSTANCE), null);
  await world.change({ budgetDollars: 25 });
  world.budgets.forget(INSTANCE);
  assert.deepEqual(await world.budgets.check(INSTANCE), { spent: 30, budget: 25, until: DECEMBER });
  await world.change({ budgetDollars: 0 });
  world.budgets.forget(INSTANCE);
  assert.equal(await world.budgets.check(INSTANCE), null);
});

test('a month ends at midnight UTC, and with it what was spent', async (t) => {
  const world = await open(t, { budgetDollars: 20 });
  world.at = DECEMBER - 1;
  await world.send(2_000_000);
  assert.notEqual(await world.budgets.check(INSTANCE), null);
  world.at = DECEMBER;
  assert.equal(await world.budgets.check(INSTANCE), null);
  assert.equal(await world.budgets.spent(INSTANCE), 0);
  await world.send(2_000_000);
  world.at += 500;
  assert.equal((await world.budgets.check(INSTANCE))?.until, Date.UTC(2027, 0, 1));
});

test('the price is that of the plan', async (t) => {
  const read = loadPlans(
    '{"plans": [{"name": "dear", "pricePer100kMessages": 2.5}, {"name": "gift", "pricePer100kMessages": 0}]}',
  );
  assert.ok(read.ok);
  const world = await open(t, { budgetDollars: 20, plan: 'dear' }, read.plans);
  await world.send(800_000);
  assert.deepEqual(await world.budgets.check(INSTANCE), { spent: 20, budget: 20, until: DECEMBER });
});

test('what was counted keeps its price: another one is for what comes', async (t) => {
  const world = await open(t, { budgetDollars: 20, price: 0.1 });
  await world.send(1_200_000);
  await world.change({ price: 10 });
  await world.send(188_000 - 1);
  assert.equal(await world.budgets.check(INSTANCE), null);
  await world.send(1);
  world.at += 500;
  assert.deepEqual(await world.budgets.check(INSTANCE), { spent: 20, budget: 20, until: DECEMBER });
  await world.change({ price: 0 });
  await world.budgets.forget(INSTANCE);
  await world.send(1_000_000);
  assert.equal(await world.budgets.spent(INSTANCE), 20);
  assert.equal((await world.budgets.standing(INSTANCE))?.messages, 2_388_000);
});

test('a new owner has spent nothing of what the former one was billed for', async (t) => {
  const world = await open(t, { budgetDollars: 20 });
  await world.send(2_000_000);
  assert.notEqual(await world.budgets.check(INSTANCE), null);
  await world.change({ accountId: OTHER_OWNER });
  world.budgets.forget(INSTANCE);
  assert.equal(await world.budgets.check(INSTANCE), null);
  await world.send(100_000);
  world.at += 500;
  assert.equal(await world.budgets.spent(INSTANCE), 1);
  await world.change({ accountId: OWNER });
  world.budgets.forget(INSTANCE);
  assert.equal(await world.budgets.spent(INSTANCE), 20);
});

test('a store that fails is asked again by the next one who wants to know', async (t) => {
  const world = await openSpending(t, { budgetDollars: 20 });
  await world.send(2_000_000);
  let fails = true;
  const { accounts } = world.store;
  const budgets = createBudgets({
    accounts: {
      findInstance: (query) => accounts.findInstance(query),
      usage: (query) => (fails ? Promise.reject(new Error('the disk is gone')) : accounts.usage(query)),
    },
    plans: BUILT_IN_PLANS,
    now: () => NOON,
  });
  await assert.rejects(budgets.check(INSTANCE), /the disk is gone/);
  fails = false;
  assert.equal((await budgets.check(INSTANCE))?.spent, 20);
});

test('an instance that does not exist has spent nothing', async (t) => {
  const { budgets } = await open(t);
  assert.equal(await budgets.check('qi_none'), null);
  assert.equal(await budgets.standing('qi_none'), null);
});
