import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { QueueInstance, TokenRecord } from '../../ports/store.js';
import { type OpenStore, withStore } from './harness.js';
import { T0 } from './samples.js';

const instance = (instanceId: string): QueueInstance => ({
  instanceId,
  region: 'eu-central-1',
  name: `name of ${instanceId}`,
  createdAt: T0,
  currentSigningKey: 'sig_current',
  nextSigningKey: 'sig_next',
});

const token = (tokenId: string, instanceId: string): TokenRecord => ({
  tokenId,
  instanceId,
  access: tokenId === 'read' ? 'read-only' : 'read-write',
  createdAt: T0,
  revokedAt: null,
});

const user = { userId: 'usr_1', email: 'a@example.com', createdAt: T0 };
const apiKey = { apiKeyId: 'key_1', userId: 'usr_1', name: 'first', keyHash: 'ab'.repeat(32), createdAt: T0 };

export function accountConformance(open: OpenStore): void {
  describe('accounts', () => {
    test(
      'a secret keeps its first value, also when the store is opened again',
      withStore(open, async (store, underTest) => {
        assert.equal(await store.accounts.secret({ name: 'jwt', value: 'one' }), 'one');
        assert.equal(await store.accounts.secret({ name: 'jwt', value: 'two' }), 'one');
        assert.equal(await store.accounts.secret({ name: 'cursor', value: 'two' }), 'two');
        assert.equal(await (await underTest.reopen()).accounts.secret({ name: 'jwt', value: 'three' }), 'one');
      }),
    );

    test(
      'queue instances are found and listed as they were created, with their new signing keys',
      withStore(open, async ({ accounts }) => {
        assert.equal(await accounts.findInstance({ instanceId: 'qi_b' }), null);
        for (const id of ['qi_b', 'qi_a']) await accounts.createInstance(instance(id));
        assert.deepEqual(await accounts.listInstances(), [instance('qi_b'), instance('qi_a')]);
        await accounts.setSigningKeys({ instanceId: 'qi_a', current: 'sig_next', next: 'sig_new' });
        assert.deepEqual(await accounts.findInstance({ instanceId: 'qi_a' }), {
          ...instance('qi_a'),
          currentSigningKey: 'sig_next',
          nextSigningKey: 'sig_new',
        });
        assert.deepEqual(await accounts.findInstance({ instanceId: 'qi_b' }), instance('qi_b'));
      }),
    );

    test(
      'tokens belong to an instance; a revoked one keeps the time of its revocation',
      withStore(open, async ({ accounts }) => {
        for (const [id, owner] of [
          ['write', 'qi_a'],
          ['read', 'qi_a'],
          ['other', 'qi_b'],
        ] as const) {
          await accounts.createToken(token(id, owner));
        }
        assert.deepEqual(await accounts.listTokens({ instanceId: 'qi_a' }), [token('write', 'qi_a'), token('read', 'qi_a')]);
        await accounts.revokeToken({ tokenId: 'read', at: T0 + 5 });
        await accounts.revokeToken({ tokenId: 'read', at: T0 + 9 });
        assert.deepEqual(await accounts.findToken({ tokenId: 'read' }), { ...token('read', 'qi_a'), revokedAt: T0 + 5 });
        assert.deepEqual(await accounts.findToken({ tokenId: 'write' }), token('write', 'qi_a'));
        assert.equal(await accounts.findToken({ tokenId: 'none' }), null);
      }),
    );

    test(
      'users are listed; a second user with the same e-mail is refused and leaves nothing behind',
      withStore(open, async ({ accounts }) => {
        await accounts.createUser({ user, apiKey });
        const twin = {
          user: { ...user, userId: 'usr_2' },
          apiKey: { ...apiKey, apiKeyId: 'key_2', userId: 'usr_2', keyHash: 'cd' },
        };
        await assert.rejects(accounts.createUser(twin));
        const keyTwin = { user: { ...user, userId: 'usr_3', email: 'c@example.com' }, apiKey };
        await assert.rejects(accounts.createUser(keyTwin));
        assert.deepEqual(await accounts.listUsers(), [user]);
      }),
    );

    test(
      'ids that exist are refused, and so are signing keys for no instance',
      withStore(open, async ({ accounts }) => {
        await accounts.createInstance(instance('qi_a'));
        await accounts.createToken(token('write', 'qi_a'));
        await assert.rejects(accounts.createInstance(instance('qi_a')));
        await assert.rejects(accounts.createToken(token('write', 'qi_a')));
        await assert.rejects(accounts.setSigningKeys({ instanceId: 'qi_none', current: 'a', next: 'b' }));
      }),
    );
  });
}
