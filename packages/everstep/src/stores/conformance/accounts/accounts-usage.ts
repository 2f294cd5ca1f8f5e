import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AccountStore, InstanceChange } from '../../../ports/stores/account-store.js';
import type { StoreWrite, UsageRecord } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, creation, INSTANCE, OTHER_INSTANCE, sampleRun, sampleStep, unit } from '../samples.js';
import { addTeam, addUsers, sampleInstance } from './account-samples.js';

const NOVEMBER = Date.UTC(2026, 10, 21, 12);
const DECEMBER = Date.UTC(2026, 11, 1);

const count = (messages: number, at = NOVEMBER, instanceId = INSTANCE): StoreWrite => ({
  kind: 'count-messages',
  instanceId,
  messages,
  at,
});

const usageRecord = (messages: number, month: string, accountId: string | null = null, instanceId = INSTANCE): UsageRecord => ({
  instanceId,
  accountId,
  month,
  price: null,
  messages,
});

export function usageConformance(open: OpenStore): void {
  describe('usage', () => {
    test(
      'is summed for each instance and month, however it is batched, and is kept after a restart',
      withStore(open, async (store, underTest) => {
        await store.commit([
          unit([count(2), count(3), count(7, NOVEMBER, OTHER_INSTANCE)]),
          unit([count(5)]),
          unit([count(1, DECEMBER)]),
        ]);
        await apply(store, [count(10), count(0, Date.UTC(2026, 8))]);
        const reopened = await underTest.reopen();
        await apply(reopened, [count(100)]);
        const usage = (instanceId: string) => reopened.accounts.usage({ instanceId, fromMonth: '2026-01' });
        assert.deepEqual(await usage(INSTANCE), [usageRecord(1, '2026-12'), usageRecord(120, '2026-11')]);
        assert.deepEqual(await usage(OTHER_INSTANCE), [usageRecord(7, '2026-11', null, OTHER_INSTANCE)]);
        assert.deepEqual(await usage('qi_none'), []);
        assert.equal(await reopened.latestTime(), DECEMBER);
      }),
    );

    test(
      'belongs to the month in UTC, to the millisecond, and is read from a given month',
      withStore(open, async (store) => {
        const newYear = Date.UTC(2027, 0);
        await apply(store, [count(1, DECEMBER - 1), count(2, DECEMBER), count(4, newYear - 1), count(8, newYear)]);
        const usageFrom = (fromMonth: string) => store.accounts.usage({ instanceId: INSTANCE, fromMonth });
        const months = [usageRecord(8, '2027-01'), usageRecord(6, '2026-12'), usageRecord(1, '2026-11')];
        assert.deepEqual(await usageFrom('2026-11'), months);
        assert.deepEqual(await usageFrom('2026-12'), months.slice(0, 2));
        assert.deepEqual(await usageFrom('2027-02'), []);
      }),
    );

    test(
      'is kept by day in UTC, to the millisecond, with owner and price, and its sum is that of the month',
      withStore(open, async (store, underTest) => {
        await addUsers(store.accounts, 'ann');
        const DAY_MS = 86_400_000;
        const today = Date.UTC(2026, 10, 21);
        await apply(store, [count(1, today - 1), count(2, today), count(4, today + DAY_MS - 1), count(8, today + DAY_MS)]);
        await store.accounts.createInstance(sampleInstance(INSTANCE, { accountId: 'usr_ann', price: 2 }));
        await store.commit([unit([count(16, today)]), unit([count(32, today), count(64, today, OTHER_INSTANCE)])]);
        const { accounts } = await underTest.reopen();
        const days = async (fromDay: string) =>
          (await accounts.usageByDay({ instanceId: INSTANCE, fromDay })).map(
            ({ day, accountId, price, messages }) => `${day} ${accountId} ${price}: ${messages}`,
          );
        const laterDays = ['2026-11-21 null 2: 6', '2026-11-21 usr_ann 2: 48', '2026-11-22 null 2: 8'];
        assert.deepEqual(await days('2026-11-20'), ['2026-11-20 null 2: 1', ...laterDays]);
        assert.deepEqual(await days('2026-11-21'), laterDays);
        assert.deepEqual(await days('2026-11-23'), []);
        const months = await accounts.usage({ instanceId: INSTANCE, fromMonth: '2026-11' });
        assert.equal(
          months.reduce((sum, { month, messages }) => sum + (month === '2026-11' ? messages : 0), 0),
          63,
        );
      }),
    );

    test(
      'is counted neither by a rejected unit nor by a faulty batch',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        await apply(store, [creation(run), count(1)]);
        const rejectedUnit = unit([count(10)], [{ kind: 'run-active', runKey: 'no such run' }]);
        assert.deepEqual(await store.commit([rejectedUnit, unit([count(2)])]), [{ kind: 'run-not-active' }, { kind: 'applied' }]);
        const duplicateSteps = [sampleStep(0), sampleStep(0)].map(
          (step): StoreWrite => ({ kind: 'record-step', runKey: run.key, step }),
        );
        await assert.rejects(store.commit([unit([count(100)]), unit(duplicateSteps)]));
        await apply(store, [count(4)]);
        assert.deepEqual(await store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2026-11' }), [usageRecord(7, '2026-11')]);
      }),
    );

    test(
      'is billed to the owner at the time: to the new owner from a change on',
      withStore(open, async (store, underTest) => {
        await addUsers(store.accounts, 'ann');
        await addTeam(store.accounts, 'kin', 'ann');
        await apply(store, [count(1)]);
        await store.accounts.createInstance(sampleInstance(INSTANCE));
        await apply(store, [count(2)]);
        const moveTo = (accountId: string) => store.accounts.changeInstance({ instanceId: INSTANCE, change: { accountId } });
        await moveTo('usr_ann');
        await apply(store, [count(10)]);
        await store.accounts.changeInstance({ instanceId: INSTANCE, change: { name: 'another' } });
        await apply(store, [count(20)]);
        await moveTo('team_kin');
        await apply(store, [count(100)]);
        const reopened = await underTest.reopen();
        await apply(reopened, [count(200)]);
        const usage = await reopened.accounts.usage({ instanceId: INSTANCE, fromMonth: '2026-11' });
        const messagesByOwner = new Map(usage.map((record) => [record.accountId, record.messages]));
        assert.deepEqual(
          messagesByOwner,
          new Map([
            ['team_kin', 300],
            ['usr_ann', 30],
            [null, 3],
          ]),
        );
      }),
    );

    test(
      'keeps the price that the instance had when it was counted, for each month and owner',
      withStore(open, async (store, underTest) => {
        const change = (accounts: AccountStore, instanceChange: InstanceChange) =>
          accounts.changeInstance({ instanceId: INSTANCE, change: instanceChange });
        await addUsers(store.accounts, 'ann', 'ben');
        const instance = sampleInstance(INSTANCE, { accountId: 'usr_ann', price: 0.1 });
        await store.accounts.createInstance(instance);
        assert.deepEqual(await store.accounts.findInstance({ instanceId: INSTANCE }), instance);
        await apply(store, [count(1)]);
        await change(store.accounts, { price: 2.5 });
        await apply(store, [count(10), count(20, DECEMBER)]);
        await change(store.accounts, { name: 'another' });
        await store.commit([unit([count(100)]), unit([count(200, DECEMBER)])]);
        const reopened = await underTest.reopen();
        await change(reopened.accounts, { accountId: 'usr_ben', price: 0 });
        await apply(reopened, [count(1_000)]);
        await change(reopened.accounts, { price: 0.1 });
        await apply(reopened, [count(2_000), count(7, NOVEMBER, OTHER_INSTANCE)]);
        await change(reopened.accounts, { accountId: 'usr_ann' });
        await apply(reopened, [count(4)]);
        const usage = await reopened.accounts.usage({ instanceId: INSTANCE, fromMonth: '2026-11' });
        assert.deepEqual(usage.map(({ month }) => month).slice(0, 2), ['2026-12', '2026-11']);
        const bills = usage.map(({ month, accountId, price, messages }) => `${month} ${accountId} ${price}: ${messages}`);
        assert.deepEqual(bills.sort(), [
          '2026-11 usr_ann 0.1: 5',
          '2026-11 usr_ann 2.5: 110',
          '2026-11 usr_ben 0.1: 2000',
          '2026-11 usr_ben 0: 1000',
          '2026-12 usr_ann 2.5: 220',
        ]);
        const [otherUsage] = await reopened.accounts.usage({ instanceId: OTHER_INSTANCE, fromMonth: '2026-11' });
        assert.equal(otherUsage?.price, null);
      }),
    );

    test(
      'that was counted before the instance had a price permanently gets the first price',
      withStore(open, async (store, underTest) => {
        await addUsers(store.accounts, 'ann');
        await apply(store, [count(1), count(7, NOVEMBER, OTHER_INSTANCE)]);
        await store.accounts.createInstance(sampleInstance(INSTANCE));
        await apply(store, [count(2, DECEMBER)]);
        const change = (instanceChange: InstanceChange) =>
          store.accounts.changeInstance({ instanceId: INSTANCE, change: instanceChange });
        await change({ accountId: 'usr_ann' });
        await apply(store, [count(4, DECEMBER)]);
        await change({ price: 3 });
        await apply(store, [count(8, DECEMBER)]);
        await change({ price: 4 });
        const { accounts } = await underTest.reopen();
        const usage = await accounts.usage({ instanceId: INSTANCE, fromMonth: '2026-11' });
        const bills = usage.map(({ month, accountId, price, messages }) => `${month} ${accountId} ${price}: ${messages}`);
        assert.deepEqual(bills.sort(), ['2026-11 null 3: 1', '2026-12 null 3: 2', '2026-12 usr_ann 3: 12']);
        const [otherUsage] = await accounts.usage({ instanceId: OTHER_INSTANCE, fromMonth: '2026-11' });
        assert.equal(otherUsage?.price, null);
      }),
    );

    test(
      'of messages counted after an instance was created is billed to its owner, even if messages were counted before',
      withStore(open, async (store) => {
        await addUsers(store.accounts, 'ann');
        await apply(store, [count(1)]);
        await store.accounts.createInstance(sampleInstance(INSTANCE, { accountId: 'usr_ann' }));
        await apply(store, [count(2)]);
        const usage = await store.accounts.usage({ instanceId: INSTANCE, fromMonth: '2026-11' });
        assert.deepEqual(
          usage.find(({ accountId }) => accountId === 'usr_ann'),
          usageRecord(2, '2026-11', 'usr_ann'),
        );
      }),
    );
  });
}
