import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleInstance } from '../../stores/conformance/accounts/account-samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { dailyUsage } from './daily-usage.js';

const DAY_MS = 86_400_000;
const FIRST_OF_DECEMBER = Date.UTC(2026, 11, 1);

test('daily usage lists every UTC day at its recorded price, and only for the current owner', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const keyHash = 'a'.repeat(64);
  for (const userId of ['usr_a', 'usr_b']) {
    const apiKey = { apiKeyId: `key_${userId}`, userId, name: 'k', keyHash: `${keyHash}${userId}`, createdAt: 0 };
    await store.accounts.createUser({ user: { userId, email: `${userId}@w.test`, createdAt: 0 }, apiKey });
  }
  const instance = sampleInstance('qi_a', { accountId: 'usr_a', price: 1, budgetDollars: 20 });
  await store.accounts.createInstance(instance);
  const count = (messages: number, at: number) =>
    store.commit([{ guards: [], writes: [{ kind: 'count-messages', instanceId: 'qi_a', messages, at }] }]);
  const change = (to: { readonly price?: number; readonly accountId?: string }) =>
    store.accounts.changeInstance({ instanceId: 'qi_a', change: to });
  await count(500_000, FIRST_OF_DECEMBER - DAY_MS - 1);
  await count(100_000, FIRST_OF_DECEMBER - 1);
  await count(200_000, FIRST_OF_DECEMBER);
  await change({ price: 3 });
  await count(100_000, FIRST_OF_DECEMBER + 5);
  await change({ accountId: 'usr_b' });
  await count(1, FIRST_OF_DECEMBER + 6);

  const usage = (owner: string, days: number) =>
    dailyUsage(store.accounts, { instance, owner, days, now: FIRST_OF_DECEMBER + 7, price: 9 });
  assert.deepEqual(await usage('usr_a', 3), {
    days: [
      { day: '2026-11-29', messages: 500_000, dollars: 5 },
      { day: '2026-11-30', messages: 100_000, dollars: 1 },
      { day: '2026-12-01', messages: 300_000, dollars: 5 },
    ],
    budgetDollars: 20,
    spentDollars: 5,
  });
  const { days } = await usage('usr_b', 366);
  assert.deepEqual(
    [days.length, days[0]?.day, days.at(-1)],
    [366, '2025-12-01', { day: '2026-12-01', messages: 1, dollars: 0.00003 }],
  );
  await store.close();
});
