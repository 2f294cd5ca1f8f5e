/** Two nodes on one database: rights are checked in turn with the changes that they allow, on whichever node. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { createSystemRandom } from '../clock/system-random.js';
import { LIMITS } from '../config/limits.js';
import { openPostgresNode } from '../stores/postgres/index.js';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { BUILT_IN_PLANS } from './plans/plans.js';
import { createAccountService } from './service.js';
import { createAuthority } from './tokens/authority.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('accounts on several nodes', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const random = createSystemRandom();
  const now = () => 1_800_000_000_000;
  const nodes = await Promise.all(
    [1, 2].map(async () => {
      const { store } = await openPostgresNode({ url: schema.url, log, facts: { host: 'test', version: '0' } });
      const { accounts } = store;
      const authority = await createAuthority({
        store,
        now,
        cacheCoordinator: { elapsedMs: () => performance.now(), notifyChanged: () => {} },
      });
      return { store, authority, service: createAccountService({ accounts, authority, now, random, plans: BUILT_IN_PLANS }) };
    }),
  );
  const [one] = nodes;
  assert.ok(one);
  after(async () => {
    for (const { store } of nodes) await store.close();
  });
  afterEach(() => schema.clear());

  async function newUser(name: string) {
    const user = { userId: `usr_${name}`, email: `${name}@example.com`, createdAt: 1 };
    const apiKey = { apiKeyId: `key_${name}`, userId: user.userId, name: 'first', keyHash: `hash ${name}`, createdAt: 1 };
    await one?.store.accounts.createUser({ user, apiKey });
    return { user, address: '192.0.2.1' };
  }

  describe('accounts on several nodes', { timeout: 60_000 }, () => {
    test('concurrent creation on two nodes cannot exceed the maximum number of queue instances', async () => {
      const ann = await newUser('ann');
      const keys = { currentSigningKey: 'a', nextSigningKey: 'b' };
      const there = { region: 'eu-central-1', name: 'there', createdAt: 1, accountId: ann.user.userId, ...keys };
      await Promise.all(
        Array.from({ length: LIMITS.maxInstances - 1 }, (_, n) => {
          return one.store.accounts.createInstance({ instanceId: `qi_${n}`, ...there });
        }),
      );
      const made = await Promise.all(
        Array.from({ length: 8 }, (_, n) => nodes[n % 2]?.service.createInstance(ann, { name: `n${n}`, region: 'eu-central-1' })),
      );
      assert.equal(made.filter((outcome) => outcome?.kind === 'done').length, 1);
      assert.equal((await one.store.accounts.listInstances()).length, LIMITS.maxInstances);
    });

    test('signing keys rotated on two nodes at once are rotated one after the other', async () => {
      const keys = { currentSigningKey: 'a', nextSigningKey: 'b' };
      const instanceId = 'qi_rotated';
      await one.store.accounts.createInstance({ instanceId, region: 'eu-central-1', name: 'there', createdAt: 1, ...keys });
      const rotated = await Promise.all(
        Array.from({ length: 8 }, (_, n) => (nodes[n % 2] ?? one).authority.rotateSigningKeys(instanceId)),
      );
      assert.equal(new Set(rotated.map(({ current }) => current)).size, 8);
      const nexts = new Set(['b', ...rotated.map(({ next }) => next)]);
      for (const { current } of rotated) assert.ok(nexts.delete(current));
      const instance = await one.store.accounts.findInstance({ instanceId });
      assert.deepEqual([...nexts], [instance?.nextSigningKey]);
    });
  });
}
