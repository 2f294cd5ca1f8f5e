/** Tests spending and exceeded budgets on a real in-memory store. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { InstanceChange } from '../../ports/stores/account-store.js';
import { BUILT_IN_PLANS, loadPlans, type Plans } from '../plans/plans.js';
import { DECEMBER, INSTANCE, NOON, OTHER_OWNER, OWNER, openSpending, type SpendingWorld } from '../spending.fixture.js';
import { type Budgets, createBudgets } from './budget.js';

interface World extends SpendingWorld {
  readonly budgets: Budgets;
}

async function open(t: TestContext, more: InstanceChange = {}, plans: Plans = BUILT_IN_PLANS): Promise<World> {
  const world = await openSpending(t, more);
  return Object.assign(world, { budgets: createBudgets({ accounts: world.store.accounts, plans, now: () => world.at }) });
}

test('a dollar buys 100,000 messages, and the budget is spent when nothing is left', async (t) => {
  const world = await open(t, { budgetDollars: 20 });
  await world.send(1_999_999);
  assert.equal(await world.budgets.check(INSTANCE), null);
  await world.send(1);
  world.at += 500;
  assert.deepEqual(await world.budgets.check(INSTANCE), { spent: 20, budget: 20, until: DECEMBER });
});

test('without a budget or with a budget of 0, nothing is refused, and spending is still counted', async (t) => {
  const world = await open(t);
  await world.send(5_000_000);
  assert.equal(await world.budgets.check(INSTANCE), null);
  assert.equal(await world.budgets.spent(INSTANCE), 50);
  await world.change({ budgetDollars: 0 });
  world.budgets.forget(INSTANCE);
  assert.equal(await world.budgets.check(INSTANCE), null);
});

test('usage is cached for half a second', async (t) => {
  const world = await open(t, { budgetDollars: 20 });
  assert.equal(await world.budgets.check(INSTANCE), null);
  await world.send(2_000_000);
  world.at += 499;
  assert.equal(await world.budgets.check(INSTANCE), null);
  world.at += 1;
  assert.notEqual(await world.budgets.check(INSTANCE), null);
});

test('lowering a budget below the spent amount takes effect immediately, and so does removing it', async (t) => {
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

test('spending is reset at midnight UTC when the month ends', async (t) => {
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

test('the price comes from the plan', async (t) => {
  const read = loadPlans(
    '{"plans": [{"name": "dear", "pricePer100kMessages": 2.5}, {"name": "gift", "pricePer100kMessages": 0}]}',
  );
  assert.ok(read.ok);
  const world = await open(t, { budgetDollars: 20, plan: 'dear' }, read.plans);
  await world.send(800_000);
  assert.deepEqual(await world.budgets.check(INSTANCE), { spent: 20, budget: 20, until: DECEMBER });
});

test('a price change applies only to messages counted later', async (t) => {
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
  assert.equal((await world.budgets.status(INSTANCE))?.messages, 2_388_000);
});

test("a new owner is not charged for the former owner's usage", async (t) => {
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

test('usage is read again after the store failed', async (t) => {
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
  assert.equal(await budgets.status('qi_none'), null);
});
