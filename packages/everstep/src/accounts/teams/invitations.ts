/** Creates, lists and revokes invitations to a team, for users who manage its members. */
import { LIMITS } from '../../config/limits.js';
import type { InvitationRecord, Role } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import type { AccountService, Outcome, Principal, PutMemberResult } from '../account-service.js';
import { hashOfInvitation, isPending } from './pending-invitations.js';

export interface Invitations extends Pick<AccountService, 'listInvitations' | 'revokeInvitation'> {
  /** Invites an email address. The caller has checked the permissions and holds the lock of the team. */
  invite(
    principal: Principal,
    request: { readonly teamId: string; readonly email: string; readonly role: Role },
  ): Promise<Outcome<PutMemberResult>>;
}

export function createInvitations(rules: AccountRules): Invitations {
  const { accounts, now } = rules;
  const filterPending = (invitations: readonly InvitationRecord[]) =>
    invitations.filter((invitation) => isPending(invitation, now()));

  return {
    async invite(principal, { teamId, email, role }) {
      const { userId } = principal.user;
      const teamInvitations = filterPending(await accounts.listInvitations({ teamId }));
      const isRepeated = teamInvitations.some((invitation) => invitation.email === email);
      if (!isRepeated && teamInvitations.length >= LIMITS.maxTeamInvitations)
        return refuse(
          'conflict',
          `a team can have at most ${LIMITS.maxTeamInvitations} pending invitations; revoke one or wait until one is accepted`,
        );
      const ownInvitations = filterPending(await accounts.listInvitations({ invitedBy: userId }));
      if (!isRepeated && ownInvitations.length >= LIMITS.maxInvitationsOfUser)
        return refuse(
          'conflict',
          `a user can have at most ${LIMITS.maxInvitationsOfUser} pending invitations; revoke one or wait until one is accepted`,
        );
      const secret = rules.newSecret('inv');
      const createdAt = now();
      const invitation: InvitationRecord = {
        invitationId: rules.newId('inv'),
        teamId,
        email,
        role,
        secretHash: hashOfInvitation(secret),
        invitedBy: userId,
        createdAt,
        expiresAt: createdAt + LIMITS.invitationLifeMs,
      };
      const change = { action: 'team.invite', subject: teamId, details: { email, role }, accountIds: [teamId] };
      await accounts.putInvitation({ invitation, audit: rules.audit(principal, change) });
      return done({ kind: 'invited', invitation, secret });
    },

    async listInvitations(principal, teamId) {
      if (!(await accounts.findTeam({ teamId }))) return notFound('team');
      const permissionCheck = await rules.checkPermission(principal, teamId, 'manage-members', 'team');
      return permissionCheck.kind === 'allowed'
        ? done(filterPending(await accounts.listInvitations({ teamId })))
        : permissionCheck;
    },

    revokeInvitation: (principal, invitationId) =>
      rules.withOwnerLock(
        principal,
        async () => (await accounts.findInvitation({ invitationId }))?.teamId ?? null,
        async () => {
          const invitation = await accounts.findInvitation({ invitationId });
          const { teamId, email } = invitation ?? {};
          const permissionCheck = await rules.checkPermission(principal, teamId, 'manage-members', 'invitation');
          if (permissionCheck.kind !== 'allowed') return permissionCheck;
          if (teamId === undefined || email === undefined) return notFound('invitation');
          const change = { action: 'team.revoke-invitation', subject: teamId, details: { email }, accountIds: [teamId] };
          const isDeleted = await accounts.deleteInvitation({ invitationId, audit: rules.audit(principal, change) });
          return isDeleted ? done(null) : notFound('invitation');
        },
      ),
  };
}
