/** Tests which budget alerts are sent, how often, and what happens if no one accepts them. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Message, MessageOutcome } from '../../ports/message-sender.js';
import type { AccountStore, InstanceChange } from '../../ports/stores/account-store.js';
import { ManualClock, quiet, ScriptedSender, settle } from '../../runtime/runtime.fixture.js';
import { BUILT_IN_PLANS } from '../plans/plans.js';
import { DECEMBER, INSTANCE, OTHER_OWNER, OWNER, openSpending } from '../spending.fixture.js';
import { createBudgets } from './budget.js';
import { BudgetAlerts } from './budget-alerts.js';

const URL_OF_OWNER = 'http://owner/budget';
const answered = (status: number): MessageOutcome => ({ kind: 'answered', status, headers: {}, body: new Uint8Array() });

async function open(t: TestContext, more: InstanceChange = { budgetAlertUrl: URL_OF_OWNER }, shared = false) {
  const world = await openSpending(t, { budgetDollars: 20, ...more });
  const { accounts } = world.store;
  const clock = new ManualClock();
  const budgets = createBudgets({ accounts, plans: BUILT_IN_PLANS, now: () => world.at });
  let status = 200;
  let hanging = false;
  const sender = new ScriptedSender(() => (hanging ? new Promise(() => {}) : answered(status)));
  let faulty = false;
  let changing: InstanceChange | null = null;
  const failing: AccountStore = new Proxy(accounts, {
    get: (target, name, receiver) =>
      faulty ? () => Promise.reject(new Error('the disk is full')) : Reflect.get(target, name, receiver),
  });
  const start = () => {
    const status = async (instanceId: string) => {
      const current = await budgets.storedStatus(instanceId);
      if (changing) await world.change(changing);
      changing = null;
      return current;
    };
    const alerts = new BudgetAlerts({ accounts: failing, status, sender, clock, log: quiet, shared });
    alerts.start();
    return alerts;
  };
  let alerts = start();
  t.after(() => void alerts.stop());
  return {
    ...world,
    sender,
    respondWith: (next: number) => {
      status = next;
    },
    hang: (hangs: boolean) => {
      hanging = hangs;
    },
    /** Runs right after the next check of the spending. */
    changeAfterLook: (change: InstanceChange) => {
      changing = change;
    },
    fail: (fails: boolean) => {
      faulty = fails;
    },
    /** Starts another process on the same store, as if the previous one had been killed. */
    restart: async () => {
      // Its requests may hang forever, so the test does not wait for it.
      void alerts.stop();
      alerts = start();
      await settle();
    },
    /** Starts an additional process on the same store. */
    join: async () => {
      const another = start();
      t.after(() => void another.stop());
      await settle();
      return another;
    },
    at: (at: number) => {
      world.at = at;
    },
    pass: async (ms: number) => {
      clock.move(ms);
      await settle();
    },
    /** Counts messages and advances the time until they are checked. */
    async spend(messages: number) {
      await world.send(messages);
      alerts.spent(INSTANCE);
      clock.move(1_000);
      await settle();
    },
    sentAlerts: () => sender.sent.map(({ body }) => JSON.parse(Buffer.from(body ?? []).toString())),
  };
}

const about = (percent: number, spent: number) => ({ queue_id: INSTANCE, month: '2026-11', budget: 20, spent, percent });

test('alerts are sent at 80 % and at 100 %, once each', async (t) => {
  const world = await open(t);
  await world.spend(1_500_000);
  assert.deepEqual(world.sentAlerts(), []);
  await world.spend(100_000);
  assert.deepEqual(world.sentAlerts(), [about(80, 16)]);
  await world.spend(100_000);
  await world.spend(300_000);
  assert.deepEqual(world.sentAlerts(), [about(80, 16), about(100, 20)]);
  await world.spend(1_000_000);
  assert.equal(world.sentAlerts().length, 2);
});

test('the alert is signed and sent to the configured URL', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  const [message] = world.sender.sent;
  assert.ok(message);
  const { url, method, signed, instanceId } = message satisfies Message;
  assert.deepEqual([url, method, signed?.kind, instanceId], [URL_OF_OWNER, 'POST', 'budget-alert', INSTANCE]);
});

test('a budget exceeded at once causes a single alert, which is not repeated after a restart', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  assert.deepEqual(world.sentAlerts(), [about(100, 20)]);
  await world.restart();
  await world.spend(1);
  assert.equal(world.sentAlerts().length, 1);
});

test('an alert that was pending when the service stopped is sent after the next start, once', async (t) => {
  const world = await open(t);
  world.hang(true);
  await world.spend(1_600_000);
  assert.deepEqual(world.sentAlerts(), [about(80, 16)]);
  world.hang(false);
  await world.restart();
  assert.deepEqual(world.sentAlerts(), [about(80, 16), about(80, 16)]);
  await world.restart();
  await world.spend(1);
  await world.pass(86_400_000);
  assert.equal(world.sentAlerts().length, 2);
});

test('the attempts and the time of the next one survive a restart', async (t) => {
  const world = await open(t);
  world.respondWith(500);
  await world.spend(1_600_000);
  await world.pass(1_000);
  assert.equal(world.sender.sent.length, 2);
  await world.restart();
  await world.pass(9_999);
  assert.equal(world.sender.sent.length, 2);
  await world.pass(1);
  assert.equal(world.sender.sent.length, 3);
  assert.deepEqual(
    world.sender.sent.map(({ serviceHeaders }) => serviceHeaders?.Retried),
    ['0', '1', '2'],
  );
  await world.restart();
  await world.pass(60_000);
  await world.pass(600_000);
  await world.restart();
  await world.pass(86_400_000);
  assert.equal(world.sender.sent.length, 5);
});

test('while the store fails, no alert is sent and none is lost', async (t) => {
  const world = await open(t);
  await world.send(1_600_000);
  world.fail(true);
  await world.spend(1);
  await world.pass(1_000);
  assert.deepEqual(world.sentAlerts(), []);
  world.fail(false);
  await world.pass(1_000);
  assert.equal(world.sentAlerts().length, 1);
  await world.pass(60_000);
  assert.equal(world.sentAlerts().length, 1);
});

test('a retry uses the current URL, and is not sent if there is none', async (t) => {
  const world = await open(t);
  world.respondWith(404);
  await world.spend(1_600_000);
  await world.change({ budgetAlertUrl: 'http://owner/other' });
  await world.pass(1_000);
  assert.deepEqual(
    world.sender.sent.map(({ url }) => url),
    [URL_OF_OWNER, 'http://owner/other'],
  );
  await world.change({ budgetAlertUrl: null });
  await world.pass(86_400_000);
  await world.change({ budgetAlertUrl: URL_OF_OWNER });
  await world.pass(86_400_000);
  assert.equal(world.sender.sent.length, 2);
});

test('raising the budget causes a new alert at 80 % of it', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  assert.deepEqual(world.sentAlerts(), [about(100, 20)]);
  await world.change({ budgetDollars: 100 });
  await world.spend(5_900_000);
  assert.equal(world.sentAlerts().length, 1);
  await world.spend(100_000);
  assert.deepEqual(world.sentAlerts().slice(1), [{ ...about(80, 80), budget: 100 }]);
});

test('lowering the budget below the spent amount causes an alert at once, and lowering it again another one', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 100 });
  await world.spend(8_000_000);
  await world.change({ budgetDollars: 60 });
  await world.spend(0);
  await world.change({ budgetDollars: 60 });
  await world.spend(0);
  await world.change({ budgetDollars: 50 });
  await world.spend(0);
  assert.deepEqual(world.sentAlerts(), [
    { ...about(80, 80), budget: 100 },
    { ...about(100, 80), budget: 60 },
    { ...about(100, 80), budget: 50 },
  ]);
});

test('a new owner gets alerts for its own spending, and so does a former owner that gets the instance back', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  await world.change({ accountId: OTHER_OWNER });
  await world.spend(1_599_999);
  assert.equal(world.sentAlerts().length, 1);
  await world.spend(1);
  assert.deepEqual(world.sentAlerts().slice(1), [about(80, 16)]);
  await world.change({ accountId: OWNER });
  await world.spend(0);
  assert.deepEqual(world.sentAlerts().slice(2), [about(100, 20)]);
});

test('a pending alert for the previous budget is dropped and does not delay the alert for the new one', async (t) => {
  const world = await open(t);
  world.hang(true);
  await world.spend(1_600_000);
  await world.change({ budgetDollars: 19 });
  await world.change({ budgetDollars: 20 });
  await world.spend(1);
  assert.deepEqual(world.sentAlerts(), [about(80, 16), about(80, 16.00001)]);
  world.hang(false);
  await world.restart();
  assert.deepEqual(world.sentAlerts().slice(2), [about(80, 16.00001)]);
});

test('an alert reflects a budget change made during the check', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 100 });
  await world.send(8_000_000);
  world.changeAfterLook({ budgetDollars: 60 });
  await world.spend(1);
  assert.deepEqual(world.sentAlerts(), []);
  await world.spend(0);
  assert.deepEqual(world.sentAlerts(), [{ ...about(100, 80.00001), budget: 60 }]);
});

test('alerts are sent again each month', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  world.at(DECEMBER);
  await world.spend(1_600_000);
  assert.deepEqual(world.sentAlerts()[1], { ...about(80, 16), month: '2026-12' });
});

test('a rejected alert is retried with growing delays and then given up', async (t) => {
  const world = await open(t);
  world.respondWith(500);
  await world.spend(1_600_000);
  for (const afterMs of [1_000, 10_000, 60_000, 600_000]) {
    const before = world.sender.sent.length;
    await world.pass(afterMs - 1);
    assert.equal(world.sender.sent.length, before);
    await world.pass(1);
    assert.equal(world.sender.sent.length, before + 1);
  }
  await world.pass(86_400_000);
  assert.equal(world.sender.sent.length, 5);
});

test('without a URL no alert is sent, until one is set', async (t) => {
  const world = await open(t, { budgetAlertUrl: null });
  await world.spend(1_600_000);
  assert.deepEqual(world.sentAlerts(), []);
  await world.change({ budgetAlertUrl: URL_OF_OWNER });
  await world.spend(1);
  assert.equal(world.sentAlerts().length, 1);
});

test('without a budget no alert is sent', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 0 });
  await world.spend(100_000_000);
  assert.deepEqual(world.sentAlerts(), []);
});

test('only one of several processes sends an alert', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER }, true);
  const others = [await world.join(), await world.join()];
  world.hang(true);
  await world.send(2_000_000);
  for (const other of others) other.spent(INSTANCE);
  await world.spend(0);
  for (const other of others) other.start();
  await world.pass(10_000);
  assert.deepEqual(world.sentAlerts(), [about(100, 20)]);
});

test('an alert of a process that ended during delivery is sent by another one a minute later', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER }, true);
  world.hang(true);
  await world.spend(2_000_000);
  await world.restart();
  world.hang(false);
  await world.pass(50_000);
  assert.equal(world.sentAlerts().length, 1);
  await world.pass(10_000);
  assert.equal(world.sentAlerts().length, 2);
  await world.pass(600_000);
  assert.equal(world.sentAlerts().length, 2);
});
