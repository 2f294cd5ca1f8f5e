/** Tests what a changed plans file changes, on a real in-memory store. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { InstanceChange } from '../../ports/stores/account-store.js';
import { BUILT_IN_PLANS, loadPlans, type Plans } from '../plans/plans.js';
import { INSTANCE, NOON, OWNER, openSpending } from '../spending.fixture.js';
import { createBudgets } from './budget.js';
import { costOf, recordPrices } from './prices.js';

function plansOf(...plans: readonly unknown[]): Plans {
  const read = loadPlans(JSON.stringify({ plans }));
  assert.ok(read.ok);
  return read.plans;
}

async function open(t: TestContext, more: InstanceChange = {}) {
  const harness = await openSpending(t, more);
  const { accounts } = harness.store;
  let seed = 0;
  const random = { bytes: (count: number) => new Uint8Array(count).fill(seed++) };
  return {
    ...harness,
    /** Starts the server with these plans. */
    start: (plans: Plans) => recordPrices({ accounts, plans, now: () => NOON, random }),
    spentDollars: (plans: Plans) => createBudgets({ accounts, plans, now: () => NOON }).spentDollars(INSTANCE),
    price: async () => (await accounts.findInstance({ instanceId: INSTANCE }))?.price,
    auditEntries: async () =>
      (await accounts.listAudit({ accountIds: [OWNER], after: null, limit: 9 })).map(
        ({ actor, action, subject, details, address }) => ({ actor, action, subject, details, address }),
      ),
  };
}

test('a changed price applies to messages counted after the start that detects it', async (t) => {
  const harness = await open(t, { plan: 'big' });
  const [cheap, dear] = [1, 10].map((price) => plansOf({ name: 'big', pricePer100kMessages: price }));
  assert.ok(cheap && dear);
  await harness.start(cheap);
  await harness.send(200_000);
  await harness.start(dear);
  assert.equal(await harness.spentDollars(dear), 2);
  await harness.send(100_000);
  assert.equal(await harness.spentDollars(dear), 2 + 10);
  await harness.start(BUILT_IN_PLANS);
  await harness.send(100_000);
  assert.equal(await harness.spentDollars(BUILT_IN_PLANS), 2 + 10 + 1, 'a plan that is no longer in the file');
});

test('messages counted before prices were recorded have the first recorded price', async (t) => {
  const harness = await open(t);
  await harness.send(100_000);
  assert.equal(await harness.price(), undefined);
  await harness.start(plansOf({ name: 'default', pricePer100kMessages: 3 }));
  await harness.start(BUILT_IN_PLANS);
  await harness.send(100_000);
  assert.equal(await harness.spentDollars(BUILT_IN_PLANS), 3 + 1);
});

test("a price change is in the owner's audit log, and a start with the same price changes nothing", async (t) => {
  const harness = await open(t);
  await harness.start(BUILT_IN_PLANS);
  await harness.start(BUILT_IN_PLANS);
  assert.deepEqual([await harness.price(), await harness.auditEntries()], [1, []]);
  await harness.start(plansOf({ name: 'default', pricePer100kMessages: 2.5 }));
  const details = { plan: 'default', from: 1, to: 2.5 };
  const entry = { actor: 'operator', action: 'queue.set-price', subject: INSTANCE, details, address: 'start' };
  assert.deepEqual([await harness.price(), await harness.auditEntries()], [2.5, [entry]]);
});

test('sums of fractions reach the budget exactly', () => {
  const usage = Array.from({ length: 10 }, (_, index) => ({ price: (index + 1) / 10, messages: 100_000 }));
  assert.equal(costOf(usage, 1), 5.5);
  assert.equal(
    costOf(
      [
        { price: null, messages: 30_000 },
        { price: 0, messages: 7 },
      ],
      1.1,
    ),
    0.33,
  );
});
