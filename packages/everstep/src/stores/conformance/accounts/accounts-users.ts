import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { UserRecord } from '../../../ports/stores/account-store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import { addTeam, addUsers, sampleApiKey, sampleAudit, sampleInstance, sampleMember, sampleUser } from './account-samples.js';

const operator = (name: string): UserRecord => ({ ...sampleUser(name), isOperator: true });
const session = (sessionHash: string, name: string) => ({
  sessionHash,
  userId: `usr_${name}`,
  apiKeyId: `key_${name}`,
  createdAt: T0,
  expiresAt: T0 + 1_000,
});
const invitation = (name: string) => ({
  invitationId: `inv_${name}`,
  teamId: 'team_kin',
  email: 'new@example.com',
  role: 'dev' as const,
  secretHash: `secret of ${name}`,
  invitedBy: `usr_${name}`,
  createdAt: T0,
  expiresAt: T0 + 1_000,
});

export function userConformance(open: OpenStore): void {
  describe('users', () => {
    test(
      'are listed in pages in the order of creation, with their properties',
      withStore(open, async (store, underTest) => {
        const [zoe, disabledUser] = [operator('zoe'), { ...sampleUser('ben'), disabledAt: T0 + 1 }];
        await store.accounts.createUser({ user: zoe, apiKey: sampleApiKey('zoe') });
        await addUsers(store.accounts, 'ann');
        await store.accounts.createUser({ user: disabledUser, apiKey: sampleApiKey('ben') });
        const { accounts } = await underTest.reopen();
        const firstPage = await accounts.listUsersPage({ after: null, limit: 2 });
        assert.deepEqual(firstPage.items, [zoe, sampleUser('ann')]);
        const lastPage = { items: [disabledUser], next: null };
        assert.deepEqual(await accounts.listUsersPage({ after: firstPage.next, limit: 1 }), lastPage);
        assert.equal(await accounts.deleteUser({ userId: 'usr_ann', successorId: null }), 'deleted');
        assert.deepEqual(await accounts.listUsersPage({ after: firstPage.next, limit: 2 }), lastPage, 'the position stays valid');
      }),
    );

    test(
      'who are disabled have no session and get none until they are enabled',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await addTeam(accounts, 'kin', 'ann');
        await accounts.createSession({ session: session('h1', 'ann') });
        await accounts.createSession({ session: session('h2', 'ben') });
        await accounts.putInvitation({ invitation: invitation('ann') });
        assert.equal(await accounts.setUserDisabled({ userId: 'usr_none', at: T0 }), 'not-found');
        assert.equal(await accounts.setUserDisabled({ userId: 'usr_ann', at: T0 + 5 }), 'done');
        assert.deepEqual(await accounts.findUser({ userId: 'usr_ann' }), { ...sampleUser('ann'), disabledAt: T0 + 5 });
        assert.equal(await accounts.findSession({ sessionHash: 'h1' }), null);
        assert.ok(await accounts.findSession({ sessionHash: 'h2' }));
        assert.equal(await accounts.findInvitation({ invitationId: 'inv_ann' }), null);
        assert.equal(await accounts.createSession({ session: session('h3', 'ann') }), false);
        assert.equal(await accounts.setUserDisabled({ userId: 'usr_ann', at: null }), 'done');
        assert.deepEqual(await accounts.findUser({ userId: 'usr_ann' }), sampleUser('ann'));
        assert.equal(await accounts.createSession({ session: session('h3', 'ann') }), true);
        assert.equal(await accounts.deleteSessions({ userId: 'usr_ann' }), 1);
        assert.equal(await accounts.findSession({ sessionHash: 'h3' }), null);
      }),
    );

    test(
      'always include an operator who is not disabled',
      withStore(open, async ({ accounts }) => {
        await accounts.createUser({ user: operator('ann'), apiKey: sampleApiKey('ann') });
        await addUsers(accounts, 'ben');
        const change = (name: string, isOperator: boolean) => accounts.setOperator({ userId: `usr_${name}`, isOperator });
        const disable = (name: string) => accounts.setUserDisabled({ userId: `usr_${name}`, at: T0 });
        const remove = (name: string) => accounts.deleteUser({ userId: `usr_${name}`, successorId: null });
        for (const attempt of [change('ann', false), disable('ann'), remove('ann')]) assert.equal(await attempt, 'last-operator');
        assert.equal(await change('none', true), 'not-found');
        assert.equal(await change('ben', true), 'done');
        assert.equal((await accounts.findUser({ userId: 'usr_ben' }))?.isOperator, true);
        assert.equal(await disable('ben'), 'done');
        assert.equal(await change('ann', false), 'last-operator', 'a disabled operator does not count');
        await accounts.setUserDisabled({ userId: 'usr_ben', at: null });
        assert.equal(await change('ann', false), 'done');
        assert.deepEqual(await accounts.findUser({ userId: 'usr_ann' }), sampleUser('ann'));
        assert.equal(await remove('ben'), 'last-operator');
      }),
    );

    test(
      'are deleted with everything that belongs to them, and their email can be used again',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await addTeam(accounts, 'kin', 'ann');
        await addTeam(accounts, 'alone', 'ben');
        await accounts.putMember({ member: sampleMember('kin', 'ben', 'admin') });
        await accounts.createSession({ session: session('h1', 'ben') });
        await accounts.recordLogin({ userId: 'usr_ben', location: 'p', at: T0 });
        await accounts.putInvitation({ invitation: invitation('ben') });
        await accounts.createInstance(sampleInstance('qi_a', { accountId: 'usr_ben' }));
        const remove = (audit?: ReturnType<typeof sampleAudit>) =>
          accounts.deleteUser({ userId: 'usr_ben', successorId: null, ...(audit ? { audit } : {}) });
        assert.equal(await remove(sampleAudit(1, ['usr_ann'])), 'owns-resources');
        await accounts.changeInstance({ instanceId: 'qi_a', change: { accountId: 'usr_ann' } });
        assert.equal(await remove(sampleAudit(2, ['usr_ann'])), 'deleted');
        assert.equal(await remove(sampleAudit(3, ['usr_ann'])), 'not-found');
        assert.deepEqual(
          (await accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 9 })).map(({ auditId }) => auditId),
          ['aud_2'],
        );
        assert.equal(await accounts.findUser({ userId: 'usr_ben' }), null);
        assert.equal(await accounts.findUserByEmail({ email: 'ben@example.com' }), null);
        assert.deepEqual(await accounts.listApiKeys({ userId: 'usr_ben' }), []);
        assert.equal(await accounts.findSession({ sessionHash: 'h1' }), null);
        assert.equal(await accounts.lastLoginAt({ userId: 'usr_ben', location: 'p' }), null);
        assert.equal(await accounts.findInvitation({ invitationId: 'inv_ben' }), null);
        assert.equal(await accounts.findTeam({ teamId: 'team_alone' }), null);
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_kin' }), [sampleMember('kin', 'ann', 'owner')]);
        await addUsers(accounts, 'ben');
      }),
    );

    test(
      'who are the last owner of a team are deleted only if a member of it takes over',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben', 'eve');
        await addTeam(accounts, 'kin', 'ann');
        await accounts.putMember({ member: sampleMember('kin', 'ben', 'dev', T0 + 1) });
        for (const successorId of [null, 'usr_eve', 'usr_ann', 'usr_none'])
          assert.equal(await accounts.deleteUser({ userId: 'usr_ann', successorId }), 'last-owner', String(successorId));
        assert.equal((await accounts.listMembers({ teamId: 'team_kin' })).length, 2);
        assert.equal(await accounts.deleteUser({ userId: 'usr_ann', successorId: 'usr_ben' }), 'deleted');
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_kin' }), [sampleMember('kin', 'ben', 'owner', T0 + 1)]);
        await accounts.createInstance(sampleInstance('qi_a', { accountId: 'team_kin' }));
        assert.equal(
          await accounts.deleteUser({ userId: 'usr_ben', successorId: null }),
          'last-owner',
          'the team owns something',
        );
      }),
    );

    test(
      'lose all their keys, their sessions and their recovery link at once',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await accounts.createApiKey({ apiKey: sampleApiKey('second', { userId: 'usr_ann' }) });
        await accounts.createSession({ session: session('h1', 'ann') });
        await accounts.createSession({ session: session('h2', 'ben') });
        for (const name of ['ann', 'ben'])
          await accounts.putRecoveryLink({ userId: `usr_${name}`, secretHash: `of ${name}`, createdAt: T0, expiresAt: T0 + 9 });
        assert.equal(await accounts.revokeApiKeys({ userId: 'usr_ann', at: T0 + 3 }), 2);
        assert.equal(await accounts.revokeApiKeys({ userId: 'usr_ann', at: T0 + 4 }), 0);
        assert.deepEqual(
          (await accounts.listApiKeys({ userId: 'usr_ann' })).map(({ revokedAt }) => revokedAt),
          [T0 + 3, T0 + 3],
        );
        assert.equal(await accounts.findSession({ sessionHash: 'h1' }), null);
        assert.ok(await accounts.findSession({ sessionHash: 'h2' }));
        assert.equal(await accounts.findRecovery({ secretHash: 'of ann', at: T0 + 4 }), null);
        assert.ok(await accounts.findRecovery({ secretHash: 'of ben', at: T0 + 4 }));
      }),
    );
  });
}
