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
const answered = (status: number): MessageOutcome => ({ kind: 'response', status, headers: {}, body: new Uint8Array() });

async function open(t: TestContext, more: InstanceChange = { budgetAlertUrl: URL_OF_OWNER }, isShared = false) {
  const harness = await openSpending(t, { budgetDollars: 20, ...more });
  const { accounts } = harness.store;
  const clock = new ManualClock();
  const budgets = createBudgets({ accounts, plans: BUILT_IN_PLANS, now: () => harness.at });
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
      if (changing) await harness.change(changing);
      changing = null;
      return current;
    };
    const alerts = new BudgetAlerts({ accounts: failing, readStatus: status, sender, clock, log: quiet, isShared });
    alerts.start();
    return alerts;
  };
  let alerts = start();
  t.after(() => void alerts.stop());
  return {
    ...harness,
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
      harness.at = at;
    },
    pass: async (ms: number) => {
      clock.move(ms);
      await settle();
    },
    /** Counts messages and advances the time until they are checked. */
    async spend(messages: number) {
      await harness.send(messages);
      alerts.scheduleCheck(INSTANCE);
      clock.move(1_000);
      await settle();
    },
    sentAlerts: () => sender.sent.map(({ body }) => JSON.parse(Buffer.from(body ?? []).toString())),
  };
}

const about = (percent: number, spent: number) => ({ queue_id: INSTANCE, month: '2026-11', budget: 20, spent, percent });

test('alerts are sent at 80% and at 100%, once each', async (t) => {
  const harness = await open(t);
  await harness.spend(1_500_000);
  assert.deepEqual(harness.sentAlerts(), []);
  await harness.spend(100_000);
  assert.deepEqual(harness.sentAlerts(), [about(80, 16)]);
  await harness.spend(100_000);
  await harness.spend(300_000);
  assert.deepEqual(harness.sentAlerts(), [about(80, 16), about(100, 20)]);
  await harness.spend(1_000_000);
  assert.equal(harness.sentAlerts().length, 2);
});

test('the alert is signed and sent to the configured URL', async (t) => {
  const harness = await open(t);
  await harness.spend(2_000_000);
  const [message] = harness.sender.sent;
  assert.ok(message);
  const { url, method, signed, instanceId } = message satisfies Message;
  assert.deepEqual([url, method, signed?.kind, instanceId], [URL_OF_OWNER, 'POST', 'budget-alert', INSTANCE]);
});

test('a budget exceeded at once causes a single alert, which is not repeated after a restart', async (t) => {
  const harness = await open(t);
  await harness.spend(2_000_000);
  assert.deepEqual(harness.sentAlerts(), [about(100, 20)]);
  await harness.restart();
  await harness.spend(1);
  assert.equal(harness.sentAlerts().length, 1);
});

test('an alert that was pending when the server stopped is sent after the next start, once', async (t) => {
  const harness = await open(t);
  harness.hang(true);
  await harness.spend(1_600_000);
  assert.deepEqual(harness.sentAlerts(), [about(80, 16)]);
  harness.hang(false);
  await harness.restart();
  assert.deepEqual(harness.sentAlerts(), [about(80, 16), about(80, 16)]);
  await harness.restart();
  await harness.spend(1);
  await harness.pass(86_400_000);
  assert.equal(harness.sentAlerts().length, 2);
});

test('the attempts and the time of the next one survive a restart', async (t) => {
  const harness = await open(t);
  harness.respondWith(500);
  await harness.spend(1_600_000);
  await harness.pass(1_000);
  assert.equal(harness.sender.sent.length, 2);
  await harness.restart();
  await harness.pass(9_999);
  assert.equal(harness.sender.sent.length, 2);
  await harness.pass(1);
  assert.equal(harness.sender.sent.length, 3);
  assert.deepEqual(
    harness.sender.sent.map(({ serviceHeaders }) => serviceHeaders?.Retried),
    ['0', '1', '2'],
  );
  await harness.restart();
  await harness.pass(60_000);
  await harness.pass(600_000);
  await harness.restart();
  await harness.pass(86_400_000);
  assert.equal(harness.sender.sent.length, 5);
});

test('while the store fails, no alert is sent and none is lost', async (t) => {
  const harness = await open(t);
  await harness.send(1_600_000);
  harness.fail(true);
  await harness.spend(1);
  await harness.pass(1_000);
  assert.deepEqual(harness.sentAlerts(), []);
  harness.fail(false);
  await harness.pass(1_000);
  assert.equal(harness.sentAlerts().length, 1);
  await harness.pass(60_000);
  assert.equal(harness.sentAlerts().length, 1);
});

test('a retry uses the current URL, and is not sent if there is none', async (t) => {
  const harness = await open(t);
  harness.respondWith(404);
  await harness.spend(1_600_000);
  await harness.change({ budgetAlertUrl: 'http://owner/other' });
  await harness.pass(1_000);
  assert.deepEqual(
    harness.sender.sent.map(({ url }) => url),
    [URL_OF_OWNER, 'http://owner/other'],
  );
  await harness.change({ budgetAlertUrl: null });
  await harness.pass(86_400_000);
  await harness.change({ budgetAlertUrl: URL_OF_OWNER });
  await harness.pass(86_400_000);
  assert.equal(harness.sender.sent.length, 2);
});

test('raising the budget causes a new alert at 80% of it', async (t) => {
  const harness = await open(t);
  await harness.spend(2_000_000);
  assert.deepEqual(harness.sentAlerts(), [about(100, 20)]);
  await harness.change({ budgetDollars: 100 });
  await harness.spend(5_900_000);
  assert.equal(harness.sentAlerts().length, 1);
  await harness.spend(100_000);
  assert.deepEqual(harness.sentAlerts().slice(1), [{ ...about(80, 80), budget: 100 }]);
});

test('lowering the budget below the spent amount causes an alert immediately, and lowering it again another one', async (t) => {
  const harness = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 100 });
  await harness.spend(8_000_000);
  await harness.change({ budgetDollars: 60 });
  await harness.spend(0);
  await harness.change({ budgetDollars: 60 });
  await harness.spend(0);
  await harness.change({ budgetDollars: 50 });
  await harness.spend(0);
  assert.deepEqual(harness.sentAlerts(), [
    { ...about(80, 80), budget: 100 },
    { ...about(100, 80), budget: 60 },
    { ...about(100, 80), budget: 50 },
  ]);
});

test('a new owner gets alerts for its own spending, and so does a former owner that gets the instance back', async (t) => {
  const harness = await open(t);
  await harness.spend(2_000_000);
  await harness.change({ accountId: OTHER_OWNER });
  await harness.spend(1_599_999);
  assert.equal(harness.sentAlerts().length, 1);
  await harness.spend(1);
  assert.deepEqual(harness.sentAlerts().slice(1), [about(80, 16)]);
  await harness.change({ accountId: OWNER });
  await harness.spend(0);
  assert.deepEqual(harness.sentAlerts().slice(2), [about(100, 20)]);
});

test('a pending alert for the previous budget is dropped and does not delay the alert for the new one', async (t) => {
  const harness = await open(t);
  harness.hang(true);
  await harness.spend(1_600_000);
  await harness.change({ budgetDollars: 19 });
  await harness.change({ budgetDollars: 20 });
  await harness.spend(1);
  assert.deepEqual(harness.sentAlerts(), [about(80, 16), about(80, 16.00001)]);
  harness.hang(false);
  await harness.restart();
  assert.deepEqual(harness.sentAlerts().slice(2), [about(80, 16.00001)]);
});

test('an alert reflects a budget change made during the check', async (t) => {
  const harness = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 100 });
  await harness.send(8_000_000);
  harness.changeAfterLook({ budgetDollars: 60 });
  await harness.spend(1);
  assert.deepEqual(harness.sentAlerts(), []);
  await harness.spend(0);
  assert.deepEqual(harness.sentAlerts(), [{ ...about(100, 80.00001), budget: 60 }]);
});

test('alerts are sent again each month', async (t) => {
  const harness = await open(t);
  await harness.spend(2_000_000);
  harness.at(DECEMBER);
  await harness.spend(1_600_000);
  assert.deepEqual(harness.sentAlerts()[1], { ...about(80, 16), month: '2026-12' });
});

test('a rejected alert is retried with growing delays and then given up', async (t) => {
  const harness = await open(t);
  harness.respondWith(500);
  await harness.spend(1_600_000);
  for (const afterMs of [1_000, 10_000, 60_000, 600_000]) {
    const before = harness.sender.sent.length;
    await harness.pass(afterMs - 1);
    assert.equal(harness.sender.sent.length, before);
    await harness.pass(1);
    assert.equal(harness.sender.sent.length, before + 1);
  }
  await harness.pass(86_400_000);
  assert.equal(harness.sender.sent.length, 5);
});

test('without a URL no alert is sent, until one is set', async (t) => {
  const harness = await open(t, { budgetAlertUrl: null });
  await harness.spend(1_600_000);
  assert.deepEqual(harness.sentAlerts(), []);
  await harness.change({ budgetAlertUrl: URL_OF_OWNER });
  await harness.spend(1);
  assert.equal(harness.sentAlerts().length, 1);
});

test('without a budget no alert is sent', async (t) => {
  const harness = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 0 });
  await harness.spend(100_000_000);
  assert.deepEqual(harness.sentAlerts(), []);
});

test('only one of several processes sends an alert', async (t) => {
  const harness = await open(t, { budgetAlertUrl: URL_OF_OWNER }, true);
  const others = [await harness.join(), await harness.join()];
  harness.hang(true);
  await harness.send(2_000_000);
  for (const other of others) other.scheduleCheck(INSTANCE);
  await harness.spend(0);
  for (const other of others) other.start();
  await harness.pass(10_000);
  assert.deepEqual(harness.sentAlerts(), [about(100, 20)]);
});

test('an alert of a process that ended during delivery is sent by another one a minute later', async (t) => {
  const harness = await open(t, { budgetAlertUrl: URL_OF_OWNER }, true);
  harness.hang(true);
  await harness.spend(2_000_000);
  await harness.restart();
  harness.hang(false);
  await harness.pass(50_000);
  assert.equal(harness.sentAlerts().length, 1);
  await harness.pass(10_000);
  assert.equal(harness.sentAlerts().length, 2);
  await harness.pass(600_000);
  assert.equal(harness.sentAlerts().length, 2);
});
