import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NAMED_TOKENS_KEPT_MS, type NamedToken } from '../../../ports/stores/accounts/named-tokens.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import { sampleAudit } from './account-samples.js';

const sample = (tokenId: string, overrides: Partial<NamedToken> = {}): NamedToken => ({
  tokenId,
  instanceId: 'qi_1',
  name: 'é deploy',
  tokenHash: `hash of ${tokenId}`,
  scopes: ['trigger', 'read-metadata'],
  createdBy: 'ann@example.com',
  createdAt: T0,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
  replacedBy: null,
  ...overrides,
});

export function namedTokenConformance(open: OpenStore): void {
  describe('named tokens', () => {
    test(
      'a token is found by its hash, and listed in the order of creation',
      withStore(open, async (store, underTest) => {
        const [first, second] = [sample('b', { createdAt: T0 - 1, expiresAt: T0 + 5 }), sample('a')];
        const other = sample('c', { instanceId: 'qi_2' });
        for (const token of [second, first, other]) assert.equal(await store.accounts.createNamedToken({ token }), true);
        const { accounts } = await underTest.reopen();
        assert.deepEqual(await accounts.findNamedToken({ tokenHash: 'hash of b' }), first);
        assert.equal(await accounts.findNamedToken({ tokenHash: 'hash of none' }), null);
        assert.deepEqual(await accounts.listNamedTokens({ instanceId: 'qi_1' }), [first, second]);
      }),
    );

    test(
      'an existing id or hash is rejected',
      withStore(open, async ({ accounts }) => {
        await accounts.createNamedToken({ token: sample('a') });
        await assert.rejects(accounts.createNamedToken({ token: sample('a', { tokenHash: 'other' }) }));
        await assert.rejects(accounts.createNamedToken({ token: sample('b', { tokenHash: 'hash of a' }) }));
        assert.equal((await accounts.listNamedTokens({ instanceId: 'qi_1' })).length, 1);
      }),
    );

    test(
      'a replaced token expires, but never later than it would have',
      withStore(open, async ({ accounts }) => {
        await accounts.createNamedToken({ token: sample('a') });
        const replace = (from: string, to: string, expiresAt: number) =>
          accounts.createNamedToken({ token: sample(to), replaces: { tokenId: from, expiresAt } });
        const expiryOf = async (tokenId: string) =>
          (await accounts.findNamedToken({ tokenHash: `hash of ${tokenId}` }))?.expiresAt;
        assert.equal(await replace('a', 'b', T0 + 10), true);
        assert.equal(await expiryOf('a'), T0 + 10);
        assert.equal(await replace('a', 'c', T0 + 20), true);
        assert.equal(await expiryOf('a'), T0 + 10);
        assert.equal(await replace('none', 'd', T0), false);
        const tokenOfOtherInstance = { token: sample('d', { instanceId: 'qi_2' }), replaces: { tokenId: 'a', expiresAt: T0 } };
        assert.equal(await accounts.createNamedToken(tokenOfOtherInstance), false);
        assert.equal(await accounts.findNamedToken({ tokenHash: 'hash of d' }), null);
        assert.equal(await expiryOf('a'), T0 + 10);
      }),
    );

    test(
      'a token can be revoked in the transaction that creates its replacement',
      withStore(open, async ({ accounts }) => {
        for (const tokenId of ['a', 'b']) await accounts.createNamedToken({ token: sample(tokenId, { expiresAt: T0 + 90 }) });
        const replace = (from: string, to: string, expiresAt: number | null) =>
          accounts.createNamedToken({ token: sample(to, { createdAt: T0 + 5 }), replaces: { tokenId: from, expiresAt } });
        assert.equal(await replace('a', 'c', null), true);
        assert.equal(await replace('b', 'd', T0 + 10), true);
        const listed = await accounts.listNamedTokens({ instanceId: 'qi_1' });
        assert.deepEqual(
          listed.map(({ tokenId, expiresAt, revokedAt, replacedBy }) => [tokenId, expiresAt, revokedAt, replacedBy]),
          [
            ['a', T0 + 90, T0 + 5, 'c'],
            ['b', T0 + 10, null, 'd'],
            ['c', null, null, null],
            ['d', null, null, null],
          ],
        );
        assert.equal(await replace('a', 'e', null), false);
      }),
    );

    test(
      'a token is revoked once, by its instance only, with the entry of the audit log',
      withStore(open, async ({ accounts }) => {
        await accounts.createNamedToken({ token: sample('a') });
        const revoke = (instanceId: string, at: number) =>
          accounts.revokeNamedToken({ instanceId, tokenId: 'a', at, audit: sampleAudit(at - T0, ['usr_ann']) });
        assert.equal(await revoke('qi_2', T0 + 1), false);
        assert.equal(await revoke('qi_1', T0 + 2), true);
        assert.equal(await revoke('qi_1', T0 + 3), false);
        assert.equal((await accounts.findNamedToken({ tokenHash: 'hash of a' }))?.revokedAt, T0 + 2);
        const log = await accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 10 });
        assert.deepEqual(
          log.map(({ auditId }) => auditId),
          ['aud_2'],
        );
        const replaces = { tokenId: 'a', expiresAt: T0 + 9 };
        assert.equal(await accounts.createNamedToken({ token: sample('b'), replaces }), false);
      }),
    );

    test(
      'tokens that ended long ago are deleted when another one is created',
      withStore(open, async ({ accounts }) => {
        const endedAt = T0 - NAMED_TOKENS_KEPT_MS;
        const create = (token: NamedToken) => accounts.createNamedToken({ token: { ...token, createdAt: endedAt - 9 } });
        await create(sample('expired', { expiresAt: endedAt - 1 }));
        await create(sample('revoked', { revokedAt: endedAt - 1 }));
        await create(sample('kept', { expiresAt: endedAt, revokedAt: endedAt }));
        await create(sample('other', { expiresAt: endedAt - 1, instanceId: 'qi_2' }));
        await accounts.createNamedToken({ token: sample('new') });
        const idsOf = async (instanceId: string) =>
          (await accounts.listNamedTokens({ instanceId })).map(({ tokenId }) => tokenId);
        assert.deepEqual([await idsOf('qi_1'), await idsOf('qi_2')], [['kept', 'new'], ['other']]);
      }),
    );

    test(
      'the time of the latest use is kept',
      withStore(open, async ({ accounts }) => {
        await accounts.createNamedToken({ token: sample('a') });
        for (const at of [T0 + 5, T0 + 9, T0 + 7]) await accounts.recordTokenUse({ tokenId: 'a', at });
        await accounts.recordTokenUse({ tokenId: 'none', at: T0 });
        assert.equal((await accounts.findNamedToken({ tokenHash: 'hash of a' }))?.lastUsedAt, T0 + 9);
      }),
    );
  });
}
