import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TokenRecord } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import { addTeam, addUsers, sampleApiKey, sampleInstance, sampleUser } from './account-samples.js';

const token = (tokenId: string, instanceId: string): TokenRecord => ({
  tokenId,
  instanceId,
  access: tokenId === 'read' ? 'read-only' : 'read-write',
  createdAt: T0,
  revokedAt: null,
});

const [ann, ben] = [sampleUser('ann'), sampleUser('ben')];

export function accountConformance(open: OpenStore): void {
  describe('accounts', () => {
    test(
      'a secret keeps its first value, even after a restart',
      withStore(open, async (store, underTest) => {
        assert.equal(await store.accounts.findOrCreateSecret({ name: 'jwt', value: 'one' }), 'one');
        assert.equal(await store.accounts.findOrCreateSecret({ name: 'jwt', value: 'two' }), 'one');
        assert.equal(await store.accounts.findSecret({ name: 'cursor' }), null);
        assert.equal(await store.accounts.findOrCreateSecret({ name: 'cursor', value: 'two' }), 'two');
        assert.equal(await store.accounts.findSecret({ name: 'cursor' }), 'two');
        assert.equal(await (await underTest.reopen()).accounts.findOrCreateSecret({ name: 'jwt', value: 'three' }), 'one');
      }),
    );

    test(
      'a secret is replaced only if it is the one that the caller has read, and is listed until it is deleted',
      withStore(open, async ({ accounts }) => {
        await accounts.findOrCreateSecret({ name: 'jwt', value: 'one' });
        await accounts.findOrCreateSecret({ name: 'Cursor', value: 'two' });
        assert.equal(await accounts.replaceSecret({ name: 'jwt', from: 'two', to: 'three' }), false);
        assert.equal(await accounts.replaceSecret({ name: 'none', from: 'one', to: 'three' }), false);
        assert.equal(await accounts.replaceSecret({ name: 'jwt', from: 'one', to: 'three' }), true);
        const [jwt, cursor] = [
          { name: 'jwt', value: 'three' },
          { name: 'Cursor', value: 'two' },
        ];
        assert.deepEqual(await accounts.listSecrets(), [cursor, jwt]);
        await accounts.deleteSecret({ name: 'Cursor' });
        await accounts.deleteSecret({ name: 'none' });
        assert.deepEqual(await accounts.listSecrets(), [jwt]);
      }),
    );

    test(
      'the keys of an instance are replaced only if they are the ones that the caller has read',
      withStore(open, async ({ accounts }) => {
        const instance = sampleInstance('one');
        const { instanceId } = instance;
        await accounts.createInstance(instance);
        const keyPairs = { current: 'p1', next: 'p2' };
        const to = { currentSigningKey: 's1', nextSigningKey: 's2', keyPairs };
        assert.equal(await accounts.replaceInstanceKeys({ instanceId, from: to, to: instance }), false);
        assert.equal(await accounts.replaceInstanceKeys({ instanceId, from: instance, to }), true);
        assert.equal(await accounts.replaceInstanceKeys({ instanceId, from: instance, to: instance }), false);
        assert.deepEqual(await accounts.findInstance({ instanceId }), { ...instance, ...to });
        assert.equal(await accounts.replaceInstanceKeys({ instanceId, from: to, to: instance }), true);
        assert.deepEqual(await accounts.findInstance({ instanceId }), instance);
      }),
    );

    test(
      'users are found by id and by email, regardless of case',
      withStore(open, async (store, underTest) => {
        const [userWithMixedCase, apiKey] = [{ ...ben, email: 'Ben@Example.com' }, sampleApiKey('ben')];
        await addUsers(store.accounts, 'ann');
        await store.accounts.createUser({ user: userWithMixedCase, apiKey });
        const { accounts } = await underTest.reopen();
        assert.deepEqual(await accounts.listUsers(), [ann, ben]);
        assert.deepEqual(await accounts.findUser({ userId: ann.userId }), ann);
        assert.equal(await accounts.findUser({ userId: 'usr_none' }), null);
        assert.deepEqual(await accounts.findUserByEmail({ email: ben.email }), ben);
        assert.deepEqual(await accounts.findUserByEmail({ email: 'BEN@example.COM' }), ben);
        assert.equal(await accounts.findUserByEmail({ email: 'b%n@example.com' }), null);
      }),
    );

    test(
      'a second user with the same email or key is rejected and leaves nothing behind',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann');
        for (const email of [ann.email, 'ANN@example.com']) {
          const user = { ...ann, userId: 'usr_two', email };
          await assert.rejects(accounts.createUser({ user, apiKey: sampleApiKey('two') }));
        }
        await assert.rejects(accounts.createUser({ user: ben, apiKey: sampleApiKey('ben', { apiKeyId: 'key_ann' }) }));
        await assert.rejects(accounts.createUser({ user: ben, apiKey: sampleApiKey('ben', { keyHash: 'hash of ann' }) }));
        assert.deepEqual(await accounts.listUsers(), [ann]);
        assert.deepEqual(await accounts.listApiKeys({ userId: ben.userId }), []);
      }),
    );

    test(
      'API keys belong to a user; a revoked one stays in the list with the time of its revocation',
      withStore(open, async (store, underTest) => {
        await addUsers(store.accounts, 'ann', 'ben');
        const second = sampleApiKey('second', { userId: ann.userId, name: 'é', createdAt: T0 - 5 });
        await store.accounts.createApiKey({ apiKey: second });
        const revoke = (apiKeyId: string, userId: string, at: number) => store.accounts.revokeApiKey({ apiKeyId, userId, at });
        assert.equal(await revoke('key_ann', ben.userId, T0 + 1), false);
        assert.equal(await revoke('key_none', ann.userId, T0 + 1), false);
        assert.equal(await revoke('key_ann', ann.userId, T0 + 2), true);
        assert.equal(await revoke('key_ann', ann.userId, T0 + 3), false);
        const { accounts } = await underTest.reopen();
        const first = { ...sampleApiKey('ann'), revokedAt: T0 + 2 };
        assert.deepEqual(await accounts.listApiKeys({ userId: ann.userId }), [first, second]);
        assert.deepEqual(await accounts.listApiKeys({ userId: ben.userId }), [sampleApiKey('ben')]);
        await assert.rejects(accounts.createApiKey({ apiKey: sampleApiKey('third', { userId: 'usr_none' }) }));
      }),
    );

    test(
      'queue instances are found and listed as they were created, with their new signing keys',
      withStore(open, async (store, underTest) => {
        await addUsers(store.accounts, 'ann');
        const bareInstance = sampleInstance('qi_b');
        const fullInstance = sampleInstance('qi_a', {
          accountId: ann.userId,
          plan: 'small',
          budgetDollars: 20,
          budgetAlertUrl: 'https://alerts.example/budget',
          outboundRules: { allow: ['10.0.0.5:8080'], deny: [], only: null },
        });
        assert.equal(await store.accounts.findInstance({ instanceId: 'qi_b' }), null);
        for (const instance of [bareInstance, fullInstance]) await store.accounts.createInstance(instance);
        assert.deepEqual(await store.accounts.listInstances(), [bareInstance, fullInstance]);
        await store.accounts.setSigningKeys({ instanceId: 'qi_a', current: 'sig_next', next: 'sig_new' });
        const { accounts } = await underTest.reopen();
        assert.deepEqual(await accounts.findInstance({ instanceId: 'qi_a' }), {
          ...fullInstance,
          currentSigningKey: 'sig_next',
          nextSigningKey: 'sig_new',
        });
        assert.deepEqual(await accounts.findInstance({ instanceId: 'qi_b' }), bareInstance);
      }),
    );

    test(
      'a change of a queue instance affects only the named values; null removes a value',
      withStore(open, async (store, underTest) => {
        const { accounts } = store;
        await addUsers(accounts, 'ann');
        await addTeam(accounts, 'kin', 'ann');
        const [bareInstance, otherInstance] = [sampleInstance('qi_a'), sampleInstance('qi_b')];
        for (const instance of [bareInstance, otherInstance]) await accounts.createInstance(instance);
        const change = (instanceId: string, instanceChange: Parameters<typeof accounts.changeInstance>[0]['change']) =>
          accounts.changeInstance({ instanceId, change: instanceChange });

        const ownedInstance = { ...bareInstance, accountId: 'team_kin', name: 'orders' };
        assert.deepEqual(await change('qi_a', { accountId: 'team_kin', name: 'orders' }), ownedInstance);
        const outboundRules = { allow: [], deny: ['*.corp.example'], only: ['é.example', 'b.example:443'] };
        const instanceChange = { plan: 'large', budgetDollars: 0, budgetAlertUrl: 'https://alerts.example/', outboundRules };
        const changedInstance = { ...ownedInstance, ...instanceChange };
        assert.deepEqual(await change('qi_a', instanceChange), changedInstance);
        assert.deepEqual(await change('qi_a', {}), changedInstance);
        const finalInstance = { ...ownedInstance, accountId: ann.userId, budgetDollars: 20 };
        const reversal = { accountId: ann.userId, plan: null, budgetDollars: 20, budgetAlertUrl: null, outboundRules: null };
        assert.deepEqual(await change('qi_a', reversal), finalInstance);
        assert.equal(await change('qi_none', { name: 'x' }), null);
        assert.deepEqual(await (await underTest.reopen()).accounts.listInstances(), [finalInstance, otherInstance]);
      }),
    );

    test(
      'a queue instance keeps its private keys and origins, and each origin of a workflow once, up to a limit',
      withStore(open, async (store, underTest) => {
        const { accounts } = store;
        const [bareInstance, otherInstance] = [sampleInstance('qi_a'), sampleInstance('qi_b')];
        const keyPairs = { current: 'private 1', next: 'private 2' };
        const fullInstance = { ...otherInstance, keyPairs, signedOrigins: [], workflowOrigins: ['http://a.test'] };
        for (const instance of [bareInstance, fullInstance]) await accounts.createInstance(instance);
        const add = async (instanceId: string, origin: string) => {
          await accounts.addWorkflowOrigin({ instanceId, origin, limit: 2 });
          return accounts.findInstance({ instanceId });
        };
        const [first, second] = ['https://app.test', 'http://127.0.0.1:3000'];
        assert.deepEqual(await add('qi_a', first), { ...bareInstance, workflowOrigins: [first] });
        const withBothOrigins = { ...bareInstance, workflowOrigins: [first, second] };
        for (const origin of [second, first, 'http://third.test']) assert.deepEqual(await add('qi_a', origin), withBothOrigins);
        assert.equal(await add('qi_none', first), null);

        const change = (instanceChange: Parameters<typeof accounts.changeInstance>[0]['change']) =>
          accounts.changeInstance({ instanceId: 'qi_a', change: instanceChange });
        const configuredInstance = { ...withBothOrigins, keyPairs, signedOrigins: ['https://*.app.test', '*'] };
        assert.deepEqual(await change({ keyPairs, signedOrigins: configuredInstance.signedOrigins }), configuredInstance);
        assert.deepEqual(await (await underTest.reopen()).accounts.listInstances(), [configuredInstance, fullInstance]);
      }),
    );

    test(
      'origins of workflows that are added concurrently are all kept, and private keys and origins are removed',
      withStore(open, async ({ accounts }) => {
        const keyPairs = { current: 'private 1', next: 'private 2' };
        await accounts.createInstance(sampleInstance('qi_a', { keyPairs, signedOrigins: [] }));
        const origins = Array.from({ length: 9 }, (_, n) => `http://${n}.test`);
        await Promise.all(origins.map((origin) => accounts.addWorkflowOrigin({ instanceId: 'qi_a', origin, limit: 100 })));
        const instanceChange = { keyPairs: null, signedOrigins: null };
        const bareInstance = await accounts.changeInstance({ instanceId: 'qi_a', change: instanceChange });
        assert.deepEqual([...(bareInstance?.workflowOrigins ?? [])].sort(), origins);
        assert.deepEqual(
          { ...bareInstance, workflowOrigins: undefined },
          { ...sampleInstance('qi_a'), workflowOrigins: undefined },
        );
      }),
    );

    test(
      'a queue instance is not given to an account that does not exist',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann');
        await accounts.createInstance(sampleInstance('qi_a', { accountId: ann.userId }));
        await assert.rejects(accounts.createInstance(sampleInstance('qi_b', { accountId: 'team_none' })));
        await assert.rejects(accounts.changeInstance({ instanceId: 'qi_a', change: { accountId: 'team_none', name: 'x' } }));
        assert.deepEqual(await accounts.listInstances(), [sampleInstance('qi_a', { accountId: ann.userId })]);
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
      'existing ids are rejected, and so are signing keys for an unknown instance',
      withStore(open, async ({ accounts }) => {
        await accounts.createInstance(sampleInstance('qi_a'));
        await accounts.createToken(token('write', 'qi_a'));
        await assert.rejects(accounts.createInstance(sampleInstance('qi_a')));
        await assert.rejects(accounts.createToken(token('write', 'qi_a')));
        await assert.rejects(accounts.setSigningKeys({ instanceId: 'qi_none', current: 'a', next: 'b' }));
      }),
    );
  });
}
