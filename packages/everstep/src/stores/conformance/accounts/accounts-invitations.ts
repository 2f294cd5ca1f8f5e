import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InvitationRecord } from '../../../ports/stores/account-store.js';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import { addTeam, addUsers, sampleApiKey, sampleAudit, sampleMember, sampleUser } from './account-samples.js';

const sample = (name: string, overrides: Partial<InvitationRecord> = {}): InvitationRecord => ({
  invitationId: `inv_${name}`,
  teamId: 'team_kin',
  email: `${name}@example.com`,
  role: 'dev',
  secretHash: `secret of ${name}`,
  invitedBy: 'usr_ann',
  createdAt: T0,
  expiresAt: T0 + 1_000,
  ...overrides,
});

export function invitationConformance(open: OpenStore): void {
  describe('invitations', () => {
    test(
      'are found by id and by secret, and listed by team and by inviter, even after a restart',
      withStore(open, async (store, underTest) => {
        await addUsers(store.accounts, 'ann', 'ben');
        await addTeam(store.accounts, 'kin', 'ann');
        await addTeam(store.accounts, 'other', 'ben');
        const [first, second, third] = [
          sample('x'),
          sample('y', { teamId: 'team_other' }),
          sample('a', { invitedBy: 'usr_ben' }),
        ];
        for (const invitation of [first, second, third]) await store.accounts.putInvitation({ invitation });
        const { accounts } = await underTest.reopen();
        assert.deepEqual(await accounts.findInvitation({ invitationId: 'inv_x' }), first);
        assert.deepEqual(await accounts.findInvitation({ secretHash: 'secret of y' }), second);
        assert.equal(await accounts.findInvitation({ invitationId: 'none' }), null);
        assert.equal(await accounts.findInvitation({ secretHash: 'none' }), null);
        assert.deepEqual(await accounts.listInvitations({ teamId: 'team_kin' }), [first, third]);
        assert.deepEqual(await accounts.listInvitations({ invitedBy: 'usr_ann' }), [first, second]);
        assert.equal(await accounts.deleteInvitation({ invitationId: 'inv_x' }), true);
        assert.equal(await accounts.deleteInvitation({ invitationId: 'inv_x' }), false);
        await assert.rejects(accounts.putInvitation({ invitation: sample('z', { teamId: 'team_none' }) }));
      }),
    );

    test(
      'replace an earlier invitation for the same email and team, and delete expired ones',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann');
        await addTeam(accounts, 'kin', 'ann');
        await accounts.putInvitation({ invitation: sample('x') });
        await accounts.putInvitation({ invitation: sample('y', { expiresAt: T0 + 5 }) });
        const replacement = sample('again', { email: 'x@example.com', createdAt: T0 + 5 });
        await accounts.putInvitation({ invitation: replacement });
        assert.deepEqual(await accounts.listInvitations({ teamId: 'team_kin' }), [replacement]);
      }),
    );

    test(
      'are accepted once, with the new user and its key, or not at all',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await addTeam(accounts, 'kin', 'ann');
        await accounts.putInvitation({ invitation: sample('cid') });
        await accounts.putInvitation({ invitation: sample('ben') });
        const member = sampleMember('kin', 'cid', 'dev', T0 + 1);
        const created = { user: sampleUser('cid'), apiKey: sampleApiKey('cid') };
        const duplicateKey = { user: sampleUser('cid'), apiKey: sampleApiKey('cid', { keyHash: 'hash of ann' }) };
        await assert.rejects(accounts.acceptInvitation({ invitationId: 'inv_cid', member, created: duplicateKey }));
        assert.equal(await accounts.findUser({ userId: 'usr_cid' }), null);
        const audit = sampleAudit(1, ['team_kin']);
        assert.equal(await accounts.acceptInvitation({ invitationId: 'inv_cid', member, created, audit }), 'done');
        const repeatedRequest = { invitationId: 'inv_cid', member, audit: sampleAudit(2, ['team_kin']) };
        assert.equal(await accounts.acceptInvitation(repeatedRequest), 'not-found');
        const ben = sampleMember('kin', 'ben', 'finance', T0 + 2);
        assert.equal(await accounts.acceptInvitation({ invitationId: 'inv_ben', member: ben }), 'done');
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_kin' }), [sampleMember('kin', 'ann', 'owner'), member, ben]);
        assert.deepEqual(await accounts.listApiKeys({ userId: 'usr_cid' }), [created.apiKey]);
        assert.equal((await accounts.listAudit({ accountIds: ['team_kin'], after: null, limit: 9 })).length, 1);
      }),
    );

    test(
      'are deleted with their team, and with the membership of the inviter',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await addTeam(accounts, 'kin', 'ann');
        await addTeam(accounts, 'other', 'ben');
        await accounts.putMember({ member: sampleMember('kin', 'ben', 'admin') });
        const [invitationByBen, invitationByAnn, invitationToOtherTeam] = [
          sample('x', { invitedBy: 'usr_ben' }),
          sample('y'),
          sample('z', { invitedBy: 'usr_ben', teamId: 'team_other' }),
        ];
        for (const invitation of [invitationByBen, invitationByAnn, invitationToOtherTeam])
          await accounts.putInvitation({ invitation });
        assert.equal(await accounts.removeMember({ teamId: 'team_kin', userId: 'usr_ben' }), 'done');
        assert.deepEqual(await accounts.listInvitations({ teamId: 'team_kin' }), [invitationByAnn]);
        assert.deepEqual(await accounts.listInvitations({ invitedBy: 'usr_ben' }), [invitationToOtherTeam]);
        assert.equal(await accounts.deleteTeam({ teamId: 'team_other' }), 'deleted');
        assert.deepEqual(await accounts.listInvitations({ invitedBy: 'usr_ben' }), []);
      }),
    );
  });
}
