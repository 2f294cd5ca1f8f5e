/** Who is told of a budget, how often, and what becomes of it when nobody takes it. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AccountStore, InstanceChange } from '../ports/account-store.js';
import type { Message, MessageAnswer } from '../ports/message-sender.js';
import { quiet, ScriptedSender, StandingClock, settle } from '../runtime/runtime.fixture.js';
import { createBudgets } from './budget.js';
import { BudgetAlerts } from './budget-alerts.js';
import { BUILT_IN_PLANS } from './plans.js';
import { DECEMBER, INSTANCE, OTHER_OWNER, OWNER, openSpending } from './spending.fixture.js';

const URL_OF_OWNER = 'http://owner/budget';
const answered = (status: number): MessageAnswer => ({ kind: 'answered', status, headers: {}, body: new Uint8Array() });

async function open(t: TestContext, more: InstanceChange = { budgetAlertUrl: URL_OF_OWNER }, shared = false) {
  const world = await openSpending(t, { budgetDollars: 20, ...more });
  const { accounts } = world.store;
  const clock = new StandingClock();
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
    const standing = async (instanceId: string) => {
      const stands = await budgets.standingNow(instanceId);
      if (changing) await world.change(changing);
      changing = null;
      return stands;
    };
    const alerts = new BudgetAlerts({ accounts: failing, standing, sender, clock, log: quiet, shared });
    alerts.start();
    return alerts;
  };
  let alerts = start();
  t.after(() => void alerts.stop());
  return {
    ...world,
    sender,
    answerWith: (next: number) => {
      status = next;
    },
    hang: (hangs: boolean) => {
      hanging = hangs;
    },
    /** Right after the next look at what is spent. */
    changeAfterLook: (change: InstanceChange) => {
      changing = change;
    },
    fail: (fails: boolean) => {
      faulty = fails;
    },
    /** Another process on the same store; the one before is gone in the middle of what it did. */
    restart: async () => {
      // Its messages may hang for ever: it is not waited for.
      void alerts.stop();
      alerts = start();
      await settle();
    },
    /** One more process on the same store. */
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
    /** Counts messages, and lets the time pass until they are looked at. */
    async spend(messages: number) {
      await world.send(messages);
      alerts.spent(INSTANCE);
      clock.move(1_000);
      await settle();
    },
    told: () => sender.sent.map(({ body }) => JSON.parse(Buffer.from(body ?? []).toString())),
  };
}

const about = (percent: number, spent: number) => ({ queue_id: INSTANCE, month: '2026-11', budget: 20, spent, percent });

test('the owner is told at 80 % and at 100 %, once each', async (t) => {
  const world = await open(t);
  await world.spend(1_500_000);
  assert.deepEqual(world.told(), []);
  await world.spend(100_000);
  assert.deepEqual(world.told(), [about(80, 16)]);
  await world.spend(100_000);
  await world.spend(300_000);
  assert.deepEqual(world.told(), [about(80, 16), about(100, 20)]);
  await world.spend(1_000_000);
  assert.equal(world.told().length, 2);
});

test('the message is signed and goes to the URL that was set', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  const [message] = world.sender.sent;
  assert.ok(message);
  const { url, method, signed, instanceId } = message satisfies Message;
  assert.deepEqual([url, method, signed?.kind, instanceId], [URL_OF_OWNER, 'POST', 'budget-alert', INSTANCE]);
});

test('a budget that is passed at once is told of once, and never again after a restart', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  assert.deepEqual(world.told(), [about(100, 20)]);
  await world.restart();
  await world.spend(1);
  assert.equal(world.told().length, 1);
});

test('what nobody had taken when the service was gone is told after the next start, and then no more', async (t) => {
  const world = await open(t);
  world.hang(true);
  await world.spend(1_600_000);
  assert.deepEqual(world.told(), [about(80, 16)]);
  world.hang(false);
  await world.restart();
  assert.deepEqual(world.told(), [about(80, 16), about(80, 16)]);
  await world.restart();
  await world.spend(1);
  await world.pass(86_400_000);
  assert.equal(world.told().length, 2);
});

test('attempts and the time of the next one outlive the service', async (t) => {
  const world = await open(t);
  world.answerWith(500);
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

test('while the store fails nothing is told and nothing forgotten', async (t) => {
  const world = await open(t);
  await world.send(1_600_000);
  world.fail(true);
  await world.spend(1);
  await world.pass(1_000);
  assert.deepEqual(world.told(), []);
  world.fail(false);
  await world.pass(1_000);
  assert.equal(world.told().length, 1);
  await world.pass(60_000);
  assert.equal(world.told().length, 1);
});

test('what is tried again goes to the URL of that time, and to nobody when there is none any more', async (t) => {
  const world = await open(t);
  world.answerWith(404);
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

test('a budget that is raised is told of anew at its own 80 %', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  assert.deepEqual(world.told(), [about(100, 20)]);
  await world.change({ budgetDollars: 100 });
  await world.spend(5_900_000);
  assert.equal(world.told().length, 1);
  await world.spend(100_000);
  assert.deepEqual(world.told().slice(1), [{ ...about(80, 80), budget: 100 }]);
});

test('a budget that is lowered below what is spent is told of at once, and again when it is lowered once more', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 100 });
  await world.spend(8_000_000);
  await world.change({ budgetDollars: 60 });
  await world.spend(0);
  await world.change({ budgetDollars: 60 });
  await world.spend(0);
  await world.change({ budgetDollars: 50 });
  await world.spend(0);
  assert.deepEqual(world.told(), [
    { ...about(80, 80), budget: 100 },
    { ...about(100, 80), budget: 60 },
    { ...about(100, 80), budget: 50 },
  ]);
});

test('a new owner is told of what it spends itself, and a former one who has it again too', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  await world.change({ accountId: OTHER_OWNER });
  await world.spend(1_599_999);
  assert.equal(world.told().length, 1);
  await world.spend(1);
  assert.deepEqual(world.told().slice(1), [about(80, 16)]);
  await world.change({ accountId: OWNER });
  await world.spend(0);
  assert.deepEqual(world.told().slice(2), [about(100, 20)]);
});

test('what nobody has taken of the budget before is not told any more, and does not hold up what is told of the new one', async (t) => {
  const world = await open(t);
  world.hang(true);
  await world.spend(1_600_000);
  await world.change({ budgetDollars: 19 });
  await world.change({ budgetDollars: 20 });
  await world.spend(1);
  assert.deepEqual(world.told(), [about(80, 16), about(80, 16.00001)]);
  world.hang(false);
  await world.restart();
  assert.deepEqual(world.told().slice(2), [about(80, 16.00001)]);
});

test('a budget that changes while it is looked at is told of as it is, not as it was', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 100 });
  await world.send(8_000_000);
  world.changeAfterLook({ budgetDollars: 60 });
  await world.spend(1);
  assert.deepEqual(world.told(), []);
  await world.spend(0);
  assert.deepEqual(world.told(), [{ ...about(100, 80.00001), budget: 60 }]);
});

test('each month is told of anew', async (t) => {
  const world = await open(t);
  await world.spend(2_000_000);
  world.at(DECEMBER);
  await world.spend(1_600_000);
  assert.deepEqual(world.told()[1], { ...about(80, 16), month: '2026-12' });
});

test('a message that nobody takes is sent again, later each time, and then given up', async (t) => {
  const world = await open(t);
  world.answerWith(500);
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

test('without a URL nobody is told, until one is set', async (t) => {
  const world = await open(t, { budgetAlertUrl: null });
  await world.spend(1_600_000);
  assert.deepEqual(world.told(), []);
  await world.change({ budgetAlertUrl: URL_OF_OWNER });
  await world.spend(1);
  assert.equal(world.told().length, 1);
});

test('without a budget nobody is told', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER, budgetDollars: 0 });
  await world.spend(100_000_000);
  assert.deepEqual(world.told(), []);
});

test('of several processes that look for what is owed one tells it', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER }, true);
  const others = [await world.join(), await world.join()];
  world.hang(true);
  await world.send(2_000_000);
  for (const other of others) other.spent(INSTANCE);
  await world.spend(0);
  for (const other of others) other.start();
  await world.pass(10_000);
  assert.deepEqual(world.told(), [about(100, 20)]);
});

test('what a process was telling when it ended in the middle of it another tells a minute later', async (t) => {
  const world = await open(t, { budgetAlertUrl: URL_OF_OWNER }, true);
  world.hang(true);
  await world.spend(2_000_000);
  await world.restart();
  world.hang(false);
  await world.pass(50_000);
  assert.equal(world.told().length, 1);
  await world.pass(10_000);
  assert.equal(world.told().length, 2);
  await world.pass(600_000);
  assert.equal(world.told().length, 2);
});
