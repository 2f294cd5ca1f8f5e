/** A store in memory with one instance, and a clock that a test moves. */
import type { TestContext } from 'node:test';
import type { InstanceChange } from '../ports/account-store.js';
import type { Store } from '../ports/store.js';
import { openSqliteStore } from '../stores/sqlite/index.js';

export const INSTANCE = 'qi_1';
export const OWNER = 'usr_1';
export const OTHER_OWNER = 'usr_2';
/** Noon of the last day of November 2026, UTC. */
export const NOON = Date.UTC(2026, 10, 30, 12);
export const DECEMBER = Date.UTC(2026, 11, 1);

export interface SpendingWorld {
  readonly store: Store;
  /** Unix ms; to be set. */
  at: number;
  /** Counts messages at the present time. */
  send(messages: number): Promise<void>;
  /** Counts runs as started at the present time, as the units that start them do. */
  start(runs: number): Promise<void>;
  change(change: InstanceChange): Promise<void>;
}

export async function openSpending(t: TestContext, more: InstanceChange = {}): Promise<SpendingWorld> {
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
  const world: SpendingWorld = {
    store,
    at: NOON,
    async send(messages) {
      await store.commit([{ guards: [], writes: [{ kind: 'count-messages', instanceId: INSTANCE, messages, at: world.at }] }]);
    },
    async start(count) {
      await store.commit([
        { guards: [], writes: [{ kind: 'count-of-day', instanceId: INSTANCE, what: 'run', count, at: world.at }] },
      ]);
    },
    async change(change) {
      await store.accounts.changeInstance({ instanceId: INSTANCE, change });
    },
  };
  await world.change(more);
  return world;
}
