import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type OpenStore, withStore } from '../harness.js';
import { T0 } from '../samples.js';
import { addTeam, addUsers, sampleInstance, sampleMember, sampleTeam } from './account-samples.js';

export function teamConformance(open: OpenStore): void {
  describe('teams', () => {
    test(
      'are listed in the order of creation for their members, with the role of each',
      withStore(open, async (store, underTest) => {
        await addUsers(store.accounts, 'ann', 'ben', 'eve');
        await addTeam(store.accounts, 'second', 'ann');
        await addTeam(store.accounts, 'first', 'ben');
        const member = sampleMember('first', 'ann', 'finance', T0 + 1);
        assert.equal(await store.accounts.putMember({ member }), 'done');
        const { accounts } = await underTest.reopen();
        assert.deepEqual(await accounts.listTeams({ userId: 'usr_ann' }), [
          { ...sampleTeam('second'), role: 'owner' },
          { ...sampleTeam('first'), role: 'finance' },
        ]);
        assert.deepEqual(await accounts.listTeams({ userId: 'usr_ben' }), [{ ...sampleTeam('first'), role: 'owner' }]);
        assert.deepEqual(await accounts.listTeams({ userId: 'usr_eve' }), []);
        assert.deepEqual(await accounts.findTeam({ teamId: 'team_first' }), sampleTeam('first'));
        assert.equal(await accounts.findTeam({ teamId: 'team_none' }), null);
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_first' }), [sampleMember('first', 'ben', 'owner'), member]);
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_none' }), []);
      }),
    );

    test(
      'are rejected with an existing id, or with an owner who is not a user, and then leave nothing behind',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await addTeam(accounts, 'kin', 'ann');
        await assert.rejects(addTeam(accounts, 'kin', 'ben'));
        await assert.rejects(addTeam(accounts, 'lost', 'nobody'));
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_kin' }), [sampleMember('kin', 'ann', 'owner')]);
        assert.equal(await accounts.findTeam({ teamId: 'team_lost' }), null);
      }),
    );

    test(
      'can give a member another role, and keep the time at which the member was added',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben', 'eve');
        await addTeam(accounts, 'kin', 'ann');
        for (const member of [
          sampleMember('kin', 'ben', 'dev', T0 + 1),
          sampleMember('kin', 'eve', 'dev', T0 + 2),
          sampleMember('kin', 'ben', 'admin', T0 + 3),
        ])
          assert.equal(await accounts.putMember({ member }), 'done');
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_kin' }), [
          sampleMember('kin', 'ann', 'owner'),
          sampleMember('kin', 'ben', 'admin', T0 + 1),
          sampleMember('kin', 'eve', 'dev', T0 + 2),
        ]);
        await assert.rejects(accounts.putMember({ member: sampleMember('none', 'ann', 'dev') }));
        await assert.rejects(accounts.putMember({ member: sampleMember('kin', 'nobody', 'dev') }));
      }),
    );

    test(
      'keep at least one owner',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await addTeam(accounts, 'kin', 'ann');
        await addTeam(accounts, 'other', 'ben');
        const put = (user: string, role: 'owner' | 'admin') => accounts.putMember({ member: sampleMember('kin', user, role) });
        const remove = (user: string) => accounts.removeMember({ teamId: 'team_kin', userId: `usr_${user}` });
        assert.equal(await put('ben', 'admin'), 'done');
        assert.equal(await put('ann', 'admin'), 'last-owner');
        assert.equal(await put('ann', 'owner'), 'done');
        assert.equal(await remove('ann'), 'last-owner');
        assert.equal(await put('ben', 'owner'), 'done');
        assert.equal(await remove('ann'), 'done');
        assert.equal(await remove('ann'), 'not-found');
        assert.equal(await remove('ben'), 'last-owner');
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_kin' }), [sampleMember('kin', 'ben', 'owner')]);
      }),
    );

    test(
      'are deleted with their members if they own nothing',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann');
        await addTeam(accounts, 'kin', 'ann');
        await addTeam(accounts, 'other', 'ann');
        await accounts.createInstance(sampleInstance('qi_a', { accountId: 'team_kin' }));
        const deleteTeam = () => accounts.deleteTeam({ teamId: 'team_kin' });
        assert.equal(await deleteTeam(), 'owns-resources');
        assert.deepEqual(await accounts.findTeam({ teamId: 'team_kin' }), sampleTeam('kin'));
        await accounts.changeInstance({ instanceId: 'qi_a', change: { accountId: 'usr_ann' } });
        assert.equal(await deleteTeam(), 'deleted');
        assert.equal(await deleteTeam(), 'not-found');
        assert.equal(await accounts.findTeam({ teamId: 'team_kin' }), null);
        assert.deepEqual(await accounts.listMembers({ teamId: 'team_kin' }), []);
        assert.deepEqual(await accounts.listTeams({ userId: 'usr_ann' }), [{ ...sampleTeam('other'), role: 'owner' }]);
      }),
    );

    test(
      'give their members a role in the account; each user owns the personal account',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann', 'ben');
        await addTeam(accounts, 'kin', 'ann');
        const roleOf = (accountId: string, userId: string) => accounts.roleOf({ accountId, userId });
        assert.equal(await roleOf('usr_ann', 'usr_ann'), 'owner');
        assert.equal(await roleOf('usr_ann', 'usr_ben'), null);
        assert.equal(await roleOf('usr_none', 'usr_none'), null);
        assert.equal(await roleOf('team_kin', 'usr_ann'), 'owner');
        assert.equal(await roleOf('team_kin', 'usr_ben'), null);
        assert.equal(await roleOf('team_none', 'usr_ann'), null);
        await accounts.putMember({ member: sampleMember('kin', 'ben', 'finance') });
        assert.equal(await roleOf('team_kin', 'usr_ben'), 'finance');
        await accounts.removeMember({ teamId: 'team_kin', userId: 'usr_ben' });
        assert.equal(await roleOf('team_kin', 'usr_ben'), null);
      }),
    );
  });
}
