/** Tests spending and exceeded budgets on a real in-memory store. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { InstanceChange } from '../../ports/stores/account-store.js';
import { BUILT_IN_PLANS, loadPlans, type Plans } from '../plans/plans.js';
import { DECEMBER, INSTANCE, NOON, OTHER_OWNER, OWNER, openSpending, type SpendingHarness } from '../spending.fixture.js';
import { type Budgets, createBudgets } from './budget.js';

interface Harness extends SpendingHarness {
  readonly budgets: Budgets;
}

async function open(t: TestContext, more: InstanceChange = {}, plans: Plans = BUILT_IN_PLANS): Promise<Harness> {
  const harness = await openSpending(t, more);
  return Object.assign(harness, { budgets: createBudgets({ accounts: harness.store.accounts, plans, now: () => harness.at }) });
}

test('a dollar buys 100,000 messages, and the budget is spent when nothing is left', async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  await harness.send(1_999_999);
  assert.equal(await harness.budgets.check(INSTANCE), null);
  await harness.send(1);
  harness.at += 500;
  assert.deepEqual(await harness.budgets.check(INSTANCE), { spent: 20, budget: 20, until: DECEMBER });
});

test('without a budget or with a budget of 0, nothing is refused, and spending is still counted', async (t) => {
  const harness = await open(t);
  await harness.send(5_000_000);
  assert.equal(await harness.budgets.check(INSTANCE), null);
  assert.equal(await harness.budgets.spentDollars(INSTANCE), 50);
  await harness.change({ budgetDollars: 0 });
  harness.budgets.forget(INSTANCE);
  assert.equal(await harness.budgets.check(INSTANCE), null);
});

test('usage is cached for half a second', async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  assert.equal(await harness.budgets.check(INSTANCE), null);
  await harness.send(2_000_000);
  harness.at += 499;
  assert.equal(await harness.budgets.check(INSTANCE), null);
  harness.at += 1;
  assert.notEqual(await harness.budgets.check(INSTANCE), null);
});

test('lowering a budget below the spent amount takes effect immediately, and so does removing it', async (t) => {
  const harness = await open(t, { budgetDollars: 100 });
  await harness.send(3_000_000);
  assert.equal(await harness.budgets.check(INSTANCE), null);
  await harness.change({ budgetDollars: 25 });
  harness.budgets.forget(INSTANCE);
  assert.deepEqual(await harness.budgets.check(INSTANCE), { spent: 30, budget: 25, until: DECEMBER });
  await harness.change({ budgetDollars: 0 });
  harness.budgets.forget(INSTANCE);
  assert.equal(await harness.budgets.check(INSTANCE), null);
});

test('spending is reset at midnight UTC when the month ends', async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  harness.at = DECEMBER - 1;
  await harness.send(2_000_000);
  assert.notEqual(await harness.budgets.check(INSTANCE), null);
  harness.at = DECEMBER;
  assert.equal(await harness.budgets.check(INSTANCE), null);
  assert.equal(await harness.budgets.spentDollars(INSTANCE), 0);
  await harness.send(2_000_000);
  harness.at += 500;
  assert.equal((await harness.budgets.check(INSTANCE))?.until, Date.UTC(2027, 0, 1));
});

test('the price comes from the plan', async (t) => {
  const read = loadPlans(
    '{"plans": [{"name": "dear", "pricePer100kMessages": 2.5}, {"name": "gift", "pricePer100kMessages": 0}]}',
  );
  assert.ok(read.ok);
  const harness = await open(t, { budgetDollars: 20, plan: 'dear' }, read.plans);
  await harness.send(800_000);
  assert.deepEqual(await harness.budgets.check(INSTANCE), { spent: 20, budget: 20, until: DECEMBER });
});

test('a price change applies only to messages counted later', async (t) => {
  const harness = await open(t, { budgetDollars: 20, price: 0.1 });
  await harness.send(1_200_000);
  await harness.change({ price: 10 });
  await harness.send(188_000 - 1);
  assert.equal(await harness.budgets.check(INSTANCE), null);
  await harness.send(1);
  harness.at += 500;
  assert.deepEqual(await harness.budgets.check(INSTANCE), { spent: 20, budget: 20, until: DECEMBER });
  await harness.change({ price: 0 });
  await harness.budgets.forget(INSTANCE);
  await harness.send(1_000_000);
  assert.equal(await harness.budgets.spentDollars(INSTANCE), 20);
  assert.equal((await harness.budgets.status(INSTANCE))?.messages, 2_388_000);
});

test("a new owner is not charged for the former owner's usage", async (t) => {
  const harness = await open(t, { budgetDollars: 20 });
  await harness.send(2_000_000);
  assert.notEqual(await harness.budgets.check(INSTANCE), null);
  await harness.change({ accountId: OTHER_OWNER });
  harness.budgets.forget(INSTANCE);
  assert.equal(await harness.budgets.check(INSTANCE), null);
  await harness.send(100_000);
  harness.at += 500;
  assert.equal(await harness.budgets.spentDollars(INSTANCE), 1);
  await harness.change({ accountId: OWNER });
  harness.budgets.forget(INSTANCE);
  assert.equal(await harness.budgets.spentDollars(INSTANCE), 20);
});

test('usage is read again after the store failed', async (t) => {
  const harness = await openSpending(t, { budgetDollars: 20 });
  await harness.send(2_000_000);
  let fails = true;
  const { accounts } = harness.store;
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
