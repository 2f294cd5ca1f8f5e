import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AccountStore, InstanceChange, PendingBudgetAlert } from '../../../ports/stores/account-store.js';
import type { Store } from '../../../ports/stores/store.js';
import { type OpenStore, type StoreUnderTest, withStore } from '../harness.js';
import { INSTANCE, OTHER_INSTANCE, T0 } from '../samples.js';
import { addUsers, sampleInstance } from './account-samples.js';

const BUDGET = 50;
const BUDGET_SETTINGS = { budgetDollars: BUDGET, accountId: 'usr_ann' };

const alert = (percent: number, overrides: Partial<PendingBudgetAlert> = {}): PendingBudgetAlert => ({
  instanceId: INSTANCE,
  month: '2026-11',
  percent,
  body: `{"percent":${percent}}`,
  retried: 0,
  dueAt: T0,
  ...overrides,
});

const dueAlerts = (accounts: AccountStore, before = T0) => accounts.dueBudgetAlerts({ before, limit: 10 });

const note = (accounts: AccountStore, pendingAlert: PendingBudgetAlert, lowerPercents: readonly number[] = []) =>
  accounts.createBudgetAlert({ alert: pendingAlert, lowerPercents, ...BUDGET_SETTINGS });

/** Runs `body` on a store with two instances that have a budget. */
function withBudgets(open: OpenStore, body: (store: Store, underTest: StoreUnderTest) => Promise<void>) {
  return withStore(open, async (store, underTest) => {
    await addUsers(store.accounts, 'ann', 'ben');
    for (const instanceId of [INSTANCE, OTHER_INSTANCE])
      await store.accounts.createInstance(sampleInstance(instanceId, BUDGET_SETTINGS));
    await body(store, underTest);
  });
}

export function budgetAlertConformance(open: OpenStore): void {
  describe('alerts of budgets', () => {
    test(
      'are noted once for each share of an instance and month, and are pending from then on, even after a restart',
      withBudgets(open, async (store, underTest) => {
        const noteShare = (percent: number, overrides: Partial<PendingBudgetAlert> = {}) =>
          note(store.accounts, alert(percent, overrides));
        assert.equal(await noteShare(80), true);
        assert.equal(await noteShare(80, { body: '{}', dueAt: T0 - 50 }), false);
        assert.equal(await noteShare(100, { dueAt: T0 + 3 }), true);
        assert.equal(await noteShare(80, { month: '2026-12', dueAt: T0 + 1 }), true);
        assert.equal(await noteShare(80, { instanceId: OTHER_INSTANCE, dueAt: T0 + 2 }), true);
        const { accounts } = await underTest.reopen();
        assert.equal(await note(accounts, alert(100)), false);
        assert.deepEqual(await dueAlerts(accounts, T0 + 2), [
          alert(80),
          alert(80, { month: '2026-12', dueAt: T0 + 1 }),
          alert(80, { instanceId: OTHER_INSTANCE, dueAt: T0 + 2 }),
        ]);
        assert.deepEqual(await accounts.dueBudgetAlerts({ before: T0 + 2, limit: 1 }), [alert(80)]);
        assert.equal(await accounts.nextBudgetAlertAt({ after: T0 + 2 }), T0 + 3);
        assert.equal(await accounts.nextBudgetAlertAt({ after: T0 + 3 }), null);
      }),
    );

    test(
      'of smaller shares are noted with a larger one, and are not pending',
      withBudgets(open, async ({ accounts }) => {
        assert.equal(await note(accounts, alert(100), [80]), true);
        assert.equal(await note(accounts, alert(80)), false);
        assert.deepEqual(await dueAlerts(accounts), [alert(100)]);
      }),
    );

    test(
      'that are pending stay pending when a larger share is reached',
      withBudgets(open, async ({ accounts }) => {
        await note(accounts, alert(80));
        assert.equal(await note(accounts, alert(100, { dueAt: T0 + 1 }), [80]), true);
        assert.deepEqual(await dueAlerts(accounts, T0 + 1), [alert(80), alert(100, { dueAt: T0 + 1 })]);
      }),
    );

    test(
      'are due again after an attempt while they are pending, and stay noted after the last attempt',
      withBudgets(open, async (store, underTest) => {
        await note(store.accounts, alert(80));
        await note(store.accounts, alert(100), [80]);
        await store.accounts.rescheduleBudgetAlert({ alert: alert(80), retried: 1, dueAt: T0 + 5 });
        assert.deepEqual(await dueAlerts(store.accounts), [alert(100)]);
        const { accounts } = await underTest.reopen();
        const retriedAlert = alert(80, { retried: 1, dueAt: T0 + 5 });
        assert.deepEqual(await dueAlerts(accounts, T0 + 5), [alert(100), retriedAlert]);
        await accounts.rescheduleBudgetAlert({ alert: retriedAlert, retried: 2, dueAt: null });
        assert.deepEqual(await dueAlerts(accounts, T0 + 5), [alert(100)]);
        assert.equal(await note(accounts, alert(80)), false);
      }),
    );

    test(
      'are advanced by one of several processes that have read the same state',
      withBudgets(open, async ({ accounts }) => {
        await note(accounts, alert(80));
        const move = () => accounts.rescheduleBudgetAlert({ alert: alert(80), retried: 0, dueAt: T0 + 60_000 });
        assert.deepEqual((await Promise.all([move(), move(), move()])).sort(), [false, false, true]);
        assert.deepEqual(await dueAlerts(accounts), []);
        assert.deepEqual(await dueAlerts(accounts, T0 + 60_000), [alert(80, { dueAt: T0 + 60_000 })]);
      }),
    );

    for (const [what, change] of [
      ['another budget', { budgetDollars: 60 }],
      ['no budget', { budgetDollars: 0 }],
      ['another owner', { accountId: 'usr_ben' }],
    ] as const satisfies readonly (readonly [string, InstanceChange])[]) {
      test(
        `are deleted once the instance has ${what}, including pending ones, and what was read before has no effect`,
        withBudgets(open, async (store, underTest) => {
          await note(store.accounts, alert(100), [80]);
          await note(store.accounts, alert(80, { instanceId: OTHER_INSTANCE, dueAt: T0 + 9 }));
          await store.accounts.changeInstance({ instanceId: INSTANCE, change });
          const { accounts } = await underTest.reopen();
          assert.deepEqual(await dueAlerts(accounts), []);
          assert.equal(await note(accounts, alert(80)), false, 'an alert of the earlier budget');
          const changedSettings = { ...BUDGET_SETTINGS, ...change };
          const body = 'of the current budget';
          assert.equal(
            await accounts.createBudgetAlert({ alert: alert(100, { body }), lowerPercents: [80], ...changedSettings }),
            true,
          );
          assert.equal(
            await accounts.createBudgetAlert({ alert: alert(80, { body }), lowerPercents: [], ...changedSettings }),
            false,
          );
          await accounts.rescheduleBudgetAlert({ alert: alert(100), retried: 1, dueAt: null });
          assert.deepEqual(await dueAlerts(accounts), [alert(100, { body })]);
          const others = await dueAlerts(accounts, T0 + 9);
          assert.deepEqual(others.at(-1), alert(80, { instanceId: OTHER_INSTANCE, dueAt: T0 + 9 }));
        }),
      );
    }

    test(
      'stay if the change keeps the budget and the owner',
      withBudgets(open, async ({ accounts }) => {
        await note(accounts, alert(80));
        for (const change of [BUDGET_SETTINGS, { name: 'new', plan: 'big', budgetAlertUrl: 'http://a', price: 2 }])
          await accounts.changeInstance({ instanceId: INSTANCE, change });
        assert.deepEqual(await dueAlerts(accounts), [alert(80)]);
        assert.equal(await note(accounts, alert(80)), false);
      }),
    );

    test(
      'are not noted for an instance that does not exist',
      withBudgets(open, async ({ accounts }) => {
        assert.equal(await note(accounts, alert(80, { instanceId: 'qi_none' })), false);
        assert.deepEqual(await dueAlerts(accounts), []);
      }),
    );

    test(
      'of earlier months that are still pending stay pending in the next month',
      withBudgets(open, async ({ accounts }) => {
        await note(accounts, alert(100), [80]);
        await note(accounts, alert(80, { month: '2026-12', dueAt: T0 + 1 }));
        assert.deepEqual(await dueAlerts(accounts, T0 + 1), [alert(100), alert(80, { month: '2026-12', dueAt: T0 + 1 })]);
      }),
    );
  });
}
