/** An in-memory store with one instance, and a clock that the test sets. */
import type { TestContext } from 'node:test';
import type { InstanceChange } from '../ports/stores/account-store.js';
import type { Store } from '../ports/stores/store.js';
import { openSqliteStore } from '../stores/sqlite/index.js';

export const INSTANCE = 'qi_1';
export const OWNER = 'usr_1';
export const OTHER_OWNER = 'usr_2';
/** Noon UTC on November 30, 2026. */
export const NOON = Date.UTC(2026, 10, 30, 12);
export const DECEMBER = Date.UTC(2026, 11, 1);

export interface SpendingHarness {
  readonly store: Store;
  /** Current time in Unix ms; set by the test. */
  at: number;
  /** Counts messages at the current time. */
  send(messages: number): Promise<void>;
  /** Counts runs started at the current time, like the units that start them. */
  start(runs: number): Promise<void>;
  change(change: InstanceChange): Promise<void>;
}

export async function openSpending(t: TestContext, settings: InstanceChange = {}): Promise<SpendingHarness> {
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(() => store.close());
  for (const userId of [OWNER, OTHER_OWNER]) {
    const user = { userId, email: `${userId}@example.com`, createdAt: NOON };
    const apiKey = { apiKeyId: `key_${userId}`, userId, name: 'first', keyHash: `hash of ${userId}`, createdAt: NOON };
    await store.accounts.createUser({ user, apiKey });
  }
  const keys = { currentSigningKey: 'a', nextSigningKey: 'b' };
  const instance = { instanceId: INSTANCE, region: 'eu-central-1', name: 'main', createdAt: NOON, accountId: OWNER, ...keys };
  await store.accounts.createInstance(instance);
  const harness: SpendingHarness = {
    store,
    at: NOON,
    async send(messages) {
      await store.commit([{ guards: [], writes: [{ kind: 'count-messages', instanceId: INSTANCE, messages, at: harness.at }] }]);
    },
    async start(count) {
      await store.commit([
        { guards: [], writes: [{ kind: 'count-of-day', instanceId: INSTANCE, what: 'run', count, at: harness.at }] },
      ]);
    },
    async change(change) {
      await store.accounts.changeInstance({ instanceId: INSTANCE, change });
    },
  };
  await harness.change(settings);
  return harness;
}
