/**
 * Replies to invitations to teams: accept, join and decline. Invitations are not sent by email; the inviter passes the secret on.
 *
 * An email proves nothing: anyone can invite any email, accept the invitation, and thus control that user. Joining a team
 * therefore requires the secret from an admin of that team. If a user already has the email, joining also requires the login
 * of that user.
 */
import { LIMITS } from '../../config/limits.js';
import type { ApiKeyRecord, InvitationRecord, MemberRecord, UserRecord } from '../../ports/stores/account-store.js';
import { done, refuse } from '../account-rules.js';
import type { AccountService, Outcome, Principal } from '../account-service.js';
import { hashOfApiKey } from '../users/api-key-hash.js';
import { createPendingInvitations, hashOfInvitation, type InvitationOptions, NO_INVITATION } from './pending-invitations.js';

type InvitationReplies = Pick<AccountService, 'acceptInvitation' | 'joinTeam' | 'declineInvitation'>;

export function createInvitationReplies(options: InvitationOptions): InvitationReplies {
  const { rules, countFailure } = options;
  const { accounts, now } = rules;
  const pendingInvitations = createPendingInvitations(options);

  /** Runs a reply to a valid invitation in the turn of its team. `principal` is null if the request has no credential. */
  async function replyInTurn<Value>(
    { principal, secret, address }: { readonly principal: Principal | null; readonly secret: string; readonly address: string },
    reply: (invitation: InvitationRecord) => Promise<Outcome<Value>>,
  ): Promise<Outcome<Value>> {
    // An invalid secret takes no turn, so that it cannot delay the changes of accounts.
    if (!(await pendingInvitations.find(secret, address))) return NO_INVITATION;
    const findTeamId = async () => (await accounts.findInvitation({ secretHash: hashOfInvitation(secret) }))?.teamId ?? null;
    return rules.withOwnerLock(principal, findTeamId, async () => {
      const invitation = await pendingInvitations.find(secret, address);
      return invitation ? reply(invitation) : NO_INVITATION;
    });
  }

  const joinAuditEntry = (
    principal: Principal,
    { teamId, userId, email, role }: MemberRecord,
    invitedBy: string,
    isNewUser: boolean,
  ) => {
    const details = { email, role, invitedBy, newUser: isNewUser };
    const accountIds = [teamId, userId];
    return rules.audit(principal, { action: 'team.accept-invitation', subject: teamId, details, accountIds });
  };

  return {
    acceptInvitation: ({ secret, address }) =>
      replyInTurn({ principal: null, secret, address }, async (invitation) => {
        const { invitationId, email, invitedBy } = invitation;
        if (await accounts.findUserByEmail({ email })) {
          countFailure({ address });
          return refuse('conflict', 'a user already has this email; sign in as that user to accept the invitation');
        }
        const user: UserRecord = { userId: rules.newId('usr'), email, createdAt: now() };
        const { userId, createdAt } = user;
        const capacity = await pendingInvitations.checkCapacity(invitation, userId);
        if (capacity.kind !== 'available') return capacity;
        const { membership } = capacity;
        const apiKey = rules.newSecret('ek');
        const keyHash = hashOfApiKey(apiKey);
        const record: ApiKeyRecord = { apiKeyId: rules.newId('key'), userId, name: 'first', keyHash, createdAt };
        const audit = joinAuditEntry({ user, address }, membership.member, invitedBy, true);
        const acceptance = await accounts.acceptInvitation({
          invitationId,
          member: membership.member,
          created: { user, apiKey: record },
          audit,
        });
        return acceptance === 'done' ? done({ ...membership, apiKey }) : NO_INVITATION;
      }),

    joinTeam: (principal, secret) =>
      replyInTurn({ principal, secret, address: principal.address }, async (invitation) => {
        const { user } = principal;
        if (invitation.email !== user.email)
          return refuse('forbidden', 'this invitation is for a different email; sign in as that user');
        if ((await accounts.listTeams({ userId: user.userId })).length >= LIMITS.maxTeams)
          return refuse('conflict', `a user can be in at most ${LIMITS.maxTeams} teams; leave or delete one first`);
        const capacity = await pendingInvitations.checkCapacity(invitation, user.userId);
        if (capacity.kind !== 'available') return capacity;
        const { membership } = capacity;
        const { invitationId, invitedBy } = invitation;
        const audit = joinAuditEntry(principal, membership.member, invitedBy, false);
        const acceptance = await accounts.acceptInvitation({ invitationId, member: membership.member, audit });
        return acceptance === 'done' ? done(membership) : NO_INVITATION;
      }),

    declineInvitation: ({ secret, address }) =>
      replyInTurn({ principal: null, secret, address }, async ({ invitationId, teamId, email }) => {
        // Anyone with the secret may decline, without a login.
        const invitee: Principal = { user: { userId: '', email, createdAt: 0 }, address };
        const change = { action: 'team.decline-invitation', subject: teamId, details: { email }, accountIds: [teamId] };
        const isDeleted = await accounts.deleteInvitation({ invitationId, audit: rules.audit(invitee, change) });
        return isDeleted ? done(null) : NO_INVITATION;
      }),
  };
}
