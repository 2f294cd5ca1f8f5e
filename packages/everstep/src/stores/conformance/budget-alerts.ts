import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AccountStore, OwedBudgetAlert } from '../../ports/account-store.js';
import { type OpenStore, withStore } from './harness.js';
import { INSTANCE, OTHER_INSTANCE, T0 } from './samples.js';

const alert = (percent: number, more: Partial<OwedBudgetAlert> = {}): OwedBudgetAlert => ({
  instanceId: INSTANCE,
  month: '2026-11',
  percent,
  body: `{"percent":${percent}}`,
  retried: 0,
  dueAt: T0,
  ...more,
});

const due = (accounts: AccountStore, before = T0) => accounts.dueBudgetAlerts({ before, limit: 10 });

export function budgetAlertConformance(open: OpenStore): void {
  describe('alerts of budgets', () => {
    test(
      'are noted once for each share of an instance and month, and owed from then on, also after a restart',
      withStore(open, async (store, underTest) => {
        const note = (percent: number, more: Partial<OwedBudgetAlert> = {}) =>
          store.accounts.noteBudgetAlert({ alert: alert(percent, more), lesser: [] });
        assert.equal(await note(80), true);
        assert.equal(await note(80, { body: '{}', dueAt: T0 - 50 }), false);
        assert.equal(await note(100, { dueAt: T0 + 3 }), true);
        assert.equal(await note(80, { month: '2026-12', dueAt: T0 + 1 }), true);
        assert.equal(await note(80, { instanceId: OTHER_INSTANCE, dueAt: T0 + 2 }), true);
        const { accounts } = await underTest.reopen();
        assert.equal(await accounts.noteBudgetAlert({ alert: alert(100), lesser: [] }), false);
        assert.deepEqual(await due(accounts, T0 + 2), [
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
      'of lesser shares are noted with a greater one, and not owed',
      withStore(open, async ({ accounts }) => {
        assert.equal(await accounts.noteBudgetAlert({ alert: alert(100), lesser: [80] }), true);
        assert.equal(await accounts.noteBudgetAlert({ alert: alert(80), lesser: [] }), false);
        assert.deepEqual(await due(accounts), [alert(100)]);
      }),
    );

    test(
      'that are owed stay so when a greater share is reached',
      withStore(open, async ({ accounts }) => {
        await accounts.noteBudgetAlert({ alert: alert(80), lesser: [] });
        assert.equal(await accounts.noteBudgetAlert({ alert: alert(100, { dueAt: T0 + 1 }), lesser: [80] }), true);
        assert.deepEqual(await due(accounts, T0 + 1), [alert(80), alert(100, { dueAt: T0 + 1 })]);
      }),
    );

    test(
      'are due again after an attempt, until they are owed no more; then they are still noted',
      withStore(open, async (store, underTest) => {
        const id = { instanceId: INSTANCE, month: '2026-11', percent: 80 };
        await store.accounts.noteBudgetAlert({ alert: alert(80), lesser: [] });
        await store.accounts.noteBudgetAlert({ alert: alert(100), lesser: [80] });
        await store.accounts.moveBudgetAlert({ ...id, retried: 1, dueAt: T0 + 5 });
        assert.deepEqual(await due(store.accounts), [alert(100)]);
        const { accounts } = await underTest.reopen();
        assert.deepEqual(await due(accounts, T0 + 5), [alert(100), alert(80, { retried: 1, dueAt: T0 + 5 })]);
        await accounts.moveBudgetAlert({ ...id, retried: 2, dueAt: null });
        assert.deepEqual(await due(accounts, T0 + 5), [alert(100)]);
        assert.equal(await accounts.noteBudgetAlert({ alert: alert(80), lesser: [] }), false);
      }),
    );
  });
}
