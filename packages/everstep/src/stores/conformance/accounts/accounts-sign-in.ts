import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SessionRecord } from '../../../ports/stores/account-store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import { addUsers, sampleApiKey, sampleAudit, sampleUser } from './account-samples.js';

const ISSUER = 'https://id.example';
const identity = (subject: string, issuer = ISSUER) => ({ issuer, subject });
const session = (n: number, userId: string): SessionRecord => ({
  ...{ sessionHash: `hash ${n}`, userId, apiKeyId: null, createdAt: T0, expiresAt: T0 + 1_000 },
});

export function signInConformance(open: OpenStore): void {
  describe('identities of users', () => {
    test(
      'belong to one user each, who is created without an API key or existed before',
      withStore(open, async ({ accounts }, underTest) => {
        await addUsers(accounts, 'ann');
        const [ann, ben] = [sampleUser('ann'), sampleUser('ben')];
        const audit = sampleAudit(1, [ben.userId]);
        assert.equal(await accounts.linkIdentity({ identity: identity('1'), userId: ann.userId, at: T0 }), true);
        assert.equal(await accounts.linkIdentity({ identity: identity('9'), userId: 'usr_none', at: T0 }), false);
        assert.equal(await accounts.createUserOfIdentity({ identity: identity('1'), user: ben }), false);
        assert.equal(await accounts.createUserOfIdentity({ identity: identity('2'), user: { ...ben, email: ann.email } }), false);
        assert.equal(await accounts.createUserOfIdentity({ identity: identity('2'), user: ben, audit }), true);
        assert.equal(await accounts.linkIdentity({ identity: identity('2'), userId: ann.userId, at: T0 }), false);
        const reopenedAccounts = (await underTest.reopen()).accounts;
        assert.deepEqual(await reopenedAccounts.findByIdentity(identity('1')), ann);
        assert.deepEqual(await reopenedAccounts.findByIdentity(identity('2')), ben);
        assert.equal(await reopenedAccounts.findByIdentity(identity('1', 'https://other.example')), null);
        assert.equal((await reopenedAccounts.listAudit({ accountIds: [ben.userId], after: null, limit: 9 })).length, 1);
        await reopenedAccounts.deleteUser({ userId: ben.userId, successorId: null });
        assert.equal(await reopenedAccounts.findByIdentity(identity('2')), null);
      }),
    );

    test(
      'are listed and unlinked, which ends the sessions that were started without an API key',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await accounts.linkIdentity({ identity: identity('2'), userId: 'usr_ann', at: T0 + 1 });
        await accounts.linkIdentity({ identity: identity('1'), userId: 'usr_ann', at: T0 + 2 });
        await accounts.linkIdentity({ identity: identity('3'), userId: 'usr_ben', at: T0 });
        await accounts.createApiKey({ apiKey: sampleApiKey('ann', { apiKeyId: 'key_x', keyHash: 'hash x' }) });
        await accounts.createSession({ session: session(1, 'usr_ann') });
        await accounts.createSession({ session: { ...session(2, 'usr_ann'), apiKeyId: 'key_x' } });
        await accounts.createSession({ session: session(3, 'usr_ben') });
        const audit = sampleAudit(1, ['usr_ann']);
        const unlink = (subject: string, userId: string) =>
          accounts.unlinkIdentity({ identity: identity(subject), userId, audit });
        assert.deepEqual(await accounts.listIdentities({ userId: 'usr_ann' }), [
          { ...identity('2'), linkedAt: T0 + 1 },
          { ...identity('1'), linkedAt: T0 + 2 },
        ]);
        assert.equal(await unlink('1', 'usr_ben'), false);
        assert.equal(await unlink('9', 'usr_ann'), false);
        assert.ok(await accounts.findSession({ sessionHash: 'hash 1' }));
        assert.equal(await unlink('1', 'usr_ann'), true);
        assert.equal(await accounts.findByIdentity(identity('1')), null);
        assert.deepEqual(await accounts.listIdentities({ userId: 'usr_ann' }), [{ ...identity('2'), linkedAt: T0 + 1 }]);
        const hashes = ['hash 1', 'hash 2', 'hash 3'];
        const sessions = await Promise.all(hashes.map((sessionHash) => accounts.findSession({ sessionHash })));
        assert.deepEqual(
          sessions.map((found) => found !== null),
          [false, true, true],
        );
        assert.equal((await accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 9 })).length, 1);
      }),
    );

    test(
      'start sessions without an API key, except for disabled users',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        assert.equal(await accounts.createSession({ session: session(1, 'usr_ben') }), true);
        assert.equal((await accounts.findSession({ sessionHash: 'hash 1' }))?.session.apiKeyId, null);
        assert.equal((await accounts.listSessions({ userId: 'usr_ben' }))[0]?.apiKeyId, null);
        await accounts.setUserDisabled({ userId: 'usr_ben', at: T0 });
        assert.equal(await accounts.findSession({ sessionHash: 'hash 1' }), null);
        assert.equal(await accounts.createSession({ session: session(2, 'usr_ben') }), false);
      }),
    );
  });

  describe('recovery links', () => {
    test(
      'give their user one API key, once and until they expire; a new link replaces the previous one',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann');
        const putLink = (secretHash: string, userId = 'usr_ann') =>
          accounts.putRecoveryLink({ userId, secretHash, createdAt: T0, expiresAt: T0 + 100 });
        const useLink = (secretHash: string, at: number, n: number) =>
          accounts.useRecoveryLink({
            secretHash,
            at,
            apiKey: sampleApiKey('ann', { apiKeyId: `key_${n}`, keyHash: `hash ${n}` }),
          });
        assert.equal(await putLink('x', 'usr_none'), false);
        assert.equal(await putLink('first'), true);
        assert.equal(await putLink('second'), true);
        assert.equal(await accounts.findRecovery({ secretHash: 'first', at: T0 }), null);
        assert.equal((await accounts.findRecovery({ secretHash: 'second', at: T0 }))?.userId, 'usr_ann');
        assert.equal(await useLink('first', T0, 1), false);
        assert.equal(await useLink('second', T0 + 100, 2), false);
        await accounts.setUserDisabled({ userId: 'usr_ann', at: T0 });
        await accounts.setUserDisabled({ userId: 'usr_ann', at: null });
        assert.equal(await useLink('second', T0 + 99, 3), false);
        assert.equal(await putLink('third'), true);
        assert.equal(await useLink('third', T0 + 99, 4), true);
        assert.equal(await useLink('third', T0 + 99, 5), false);
        const keys = await accounts.listApiKeys({ userId: 'usr_ann' });
        assert.deepEqual(
          keys.map(({ apiKeyId }) => apiKeyId),
          ['key_ann', 'key_4'],
        );
      }),
    );
  });
}
