/** Creates and deletes teams, and adds, changes and removes their members, if the caller has the permission. */
import { LIMITS } from '../../config/limits.js';
import type { MemberRecord, Role, TeamRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound, type PermissionCheck, type Refusal, refuse } from '../account-rules.js';
import type { AccountService, Permission, Principal } from '../account-service.js';
import type { LimitLookup } from '../quotas/account-limits.js';
import type { Invitations } from './invitations.js';

type TeamPart = Pick<AccountService, 'listTeams' | 'createTeam' | 'deleteTeam' | 'listMembers' | 'putMember' | 'removeMember'>;

const LAST_OWNER = refuse('conflict', 'a team must have at least one owner; delete the team instead');

/** Returns whether a caller who is not an owner would change an owner or make one. An admin could thus take over the team. */
const lacksOwnerRole = (callerRole: Role, ...roles: (Role | undefined)[]): boolean =>
  callerRole !== 'owner' && roles.includes('owner');

function teamLimitRefusal(teams: readonly { readonly role: Role }[], maxOwned: number): Refusal | null {
  if (teams.length >= LIMITS.maxTeams)
    return refuse('conflict', `a user can be in at most ${LIMITS.maxTeams} teams; leave or delete one first`);
  if (teams.filter(({ role }) => role === 'owner').length < maxOwned) return null;
  return refuse('conflict', `you have reached the limit of teams that you can own (maxTeams: ${maxOwned}); delete one first`);
}

function teamSizeRefusal(memberCount: number, maxMembers: number): Refusal | null {
  if (memberCount >= LIMITS.maxTeamMembers)
    return refuse('conflict', `a team can have at most ${LIMITS.maxTeamMembers} members; remove one first`);
  if (memberCount < maxMembers) return null;
  return refuse('conflict', `this team has reached its limit of members (maxTeamMembers: ${maxMembers}); remove one first`);
}

export function createTeamRules(rules: AccountRules, invitations: Pick<Invitations, 'invite'>, limitOf: LimitLookup): TeamPart {
  const { accounts, now } = rules;

  /** Checks a permission in a team. A personal account is not a team, not even the user's own. */
  async function checkTeamPermission(principal: Principal, teamId: string, permission: Permission): Promise<PermissionCheck> {
    if (!(await accounts.findTeam({ teamId }))) return notFound('team');
    return rules.checkPermission(principal, teamId, permission, 'team');
  }

  return {
    listTeams: ({ user }) => accounts.listTeams({ userId: user.userId }),

    createTeam: (principal, name) =>
      rules.withUserLock(principal, async () => {
        const { userId, email } = principal.user;
        const refusal = teamLimitRefusal(await accounts.listTeams({ userId }), await limitOf('maxTeams', userId, userId));
        if (refusal) return refusal;
        const team: TeamRecord = { teamId: rules.newId('team'), name, createdAt: now() };
        const owner: MemberRecord = { teamId: team.teamId, userId, email, role: 'owner', addedAt: team.createdAt };
        const change = { action: 'team.create', subject: team.teamId, details: { name }, accountIds: [team.teamId] };
        await accounts.createTeam({ team, owner, audit: rules.audit(principal, change) });
        return done(team);
      }, [principal.user.userId]),

    deleteTeam: (principal, teamId) =>
      rules.withUserLock(principal, async () => {
        const check = await checkTeamPermission(principal, teamId, 'transfer');
        if (check.kind !== 'allowed') return check;
        // The deleted account has no members, so the entry also belongs to the user who deleted it.
        const accountIds = [teamId, principal.user.userId];
        const audit = rules.audit(principal, { action: 'team.delete', subject: teamId, accountIds });
        switch (await accounts.deleteTeam({ teamId, audit })) {
          case 'deleted':
            return done(null);
          case 'not-found':
            return notFound('team');
          case 'owns-resources':
            return refuse('conflict', 'the team owns queue instances or search indexes; move or delete them first');
        }
      }, [teamId]),

    async listMembers(principal, teamId) {
      const check = await checkTeamPermission(principal, teamId, 'see');
      return check.kind === 'allowed' ? done(await accounts.listMembers({ teamId })) : check;
    },

    putMember: (principal, { teamId, email: rawEmail, role }) =>
      rules.withUserLock(principal, async () => {
        const email = rawEmail.toLowerCase();
        const check = await checkTeamPermission(principal, teamId, 'manage-members');
        if (check.kind !== 'allowed') return check;
        const members = await accounts.listMembers({ teamId });
        const member = members.find((candidate) => candidate.email === email);
        if (lacksOwnerRole(check.role, member?.role, role))
          return refuse('forbidden', 'only an owner of the team can make another member an owner, or change an owner');
        const memberLimit = () => limitOf('maxTeamMembers', teamId, principal.user.userId);
        const refusal = member ? null : teamSizeRefusal(members.length, await memberLimit());
        if (refusal) return refusal;
        if (member?.role === 'owner' && role !== 'owner' && members.filter((other) => other.role === 'owner').length === 1)
          return LAST_OWNER;
        if (!member) return invitations.invite(principal, { teamId, email, role });
        const changedMember: MemberRecord = { ...member, role };
        const details = { email, from: member.role, to: role };
        const change = { action: 'team.put-member', subject: teamId, details, accountIds: [teamId, member.userId] };
        const putResult = await accounts.putMember({ member: changedMember, audit: rules.audit(principal, change) });
        return putResult === 'done' ? done({ kind: 'member', member: changedMember }) : LAST_OWNER;
      }, [teamId]),

    removeMember: (principal, { teamId, email: rawEmail }) =>
      rules.withUserLock(principal, async () => {
        const email = rawEmail.toLowerCase();
        const check = await checkTeamPermission(principal, teamId, email === principal.user.email ? 'see' : 'manage-members');
        if (check.kind !== 'allowed') return check;
        const member = (await accounts.listMembers({ teamId })).find((candidate) => candidate.email === email);
        if (!member) return refuse('not-found', 'the team has no member with this email');
        if (lacksOwnerRole(check.role, member.role)) return refuse('forbidden', 'only an owner of the team can remove an owner');
        const { userId } = member;
        const details = { email, from: member.role, to: null };
        const change = { action: 'team.remove-member', subject: teamId, details, accountIds: [teamId, userId] };
        switch (await accounts.removeMember({ teamId, userId, audit: rules.audit(principal, change) })) {
          case 'done':
            return done(null);
          case 'not-found':
            return refuse('not-found', 'the team has no member with this email');
          case 'last-owner':
            return LAST_OWNER;
        }
      }, [teamId]),
  };
}
