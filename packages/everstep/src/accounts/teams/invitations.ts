/**
 * Invitations to teams. There is no mail server, so the inviter passes the secret on.
 *
 * An email proves nothing: anyone can invite any email, accept the invitation, and so own that user. Joining a team
 * therefore requires the secret from an admin of that team and, if a user already has the email, the login of that
 * user. One of the two is not enough.
 */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../config/limits.js';
import type {
  AccountStore,
  ApiKeyRecord,
  InvitationRecord,
  MemberRecord,
  Role,
  UserRecord,
} from '../../ports/stores/account-store.js';
import { type AccountRules, done, type NotDone, notFound, refuse } from '../account-rules.js';
import { type AccountService, type Joined, type Outcome, type Principal, type PutMember, RIGHTS } from '../account-service.js';
import type { LimitOf } from '../quotas/account-limits.js';
import { hashOfApiKey } from '../users/api-key-hash.js';

const SECRET = /^inv_[A-Za-z0-9_-]{43}$/;
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const NO_INVITATION = refuse(
  'not-found',
  'there is no invitation with this secret; it was used, declined or revoked, or it has expired',
);

export interface InvitationOptions {
  readonly rules: AccountRules;
  readonly limitOf: LimitOf;
  /** Counts an invalid secret as a failed login from the address. */
  readonly countFailure: (from: { readonly address: string }) => void;
}

export interface Invitations
  extends Pick<AccountService, 'listInvitations' | 'revokeInvitation' | 'acceptInvitation' | 'joinTeam' | 'declineInvitation'> {
  /** For a caller who may manage the team's members and grant the role. Called in turn. */
  invite(
    principal: Principal,
    request: { readonly teamId: string; readonly email: string; readonly role: Role },
  ): Promise<Outcome<PutMember>>;
}

export function createInvitations({ rules, limitOf, countFailure }: InvitationOptions): Invitations {
  const { accounts, now } = rules;
  const isPending = ({ expiresAt }: InvitationRecord): boolean => expiresAt > now();

  /** An invitation is valid only while the inviter may still create it. */
  async function inviterCanInvite({ teamId, invitedBy, role }: InvitationRecord): Promise<boolean> {
    const own = await accounts.roleOf({ accountId: teamId, userId: invitedBy });
    return own !== null && RIGHTS[own].includes('manage-members') && (role !== 'owner' || own === 'owner');
  }

  async function findPending(secret: string, address: string): Promise<InvitationRecord | null> {
    const found = SECRET.test(secret) ? await accounts.findInvitation({ secretHash: hashOf(secret) }) : null;
    if (found && isPending(found) && (await inviterCanInvite(found))) return found;
    countFailure({ address });
    return null;
  }

  /** Returns the team and the new member, if the team is not full. */
  async function checkCapacity(
    { teamId, email, role }: InvitationRecord,
    userId: string,
  ): Promise<{ readonly kind: 'room'; readonly joined: Joined } | NotDone> {
    const team = await accounts.findTeam({ teamId });
    if (!team) return NO_INVITATION;
    const members = await accounts.listMembers({ teamId });
    if (members.some((member) => member.userId === userId)) return refuse('conflict', 'you are already a member of this team');
    const most = Math.min(LIMITS.maxTeamMembers, await limitOf('maxTeamMembers', teamId, userId));
    if (members.length >= most) return refuse('conflict', `this team can have at most ${most} members`);
    return { kind: 'room', joined: { team, member: { teamId, userId, email, role, addedAt: now() } } };
  }

  const teamOf = async (query: Parameters<AccountStore['findInvitation']>[0]): Promise<string | null> =>
    (await accounts.findInvitation(query))?.teamId ?? null;
  const ofSecret = (secret: string) => () => teamOf({ secretHash: hashOf(secret) });

  const joinedAudit = (who: Principal, { teamId, userId, email, role }: MemberRecord, invitedBy: string, isNew: boolean) => {
    const details = { email, role, invitedBy, newUser: isNew };
    const accountIds = [teamId, userId];
    return rules.audit(who, { action: 'team.accept-invitation', subject: teamId, details, accountIds });
  };

  return {
    async invite(principal, { teamId, email, role }) {
      const { userId } = principal.user;
      const ofTeam = (await accounts.listInvitations({ teamId })).filter(isPending);
      const isRepeated = ofTeam.some((each) => each.email === email);
      if (!isRepeated && ofTeam.length >= LIMITS.maxTeamInvitations)
        return refuse(
          'conflict',
          `a team can have at most ${LIMITS.maxTeamInvitations} pending invitations; revoke one or wait until one is accepted`,
        );
      const made = (await accounts.listInvitations({ invitedBy: userId })).filter(isPending);
      if (!isRepeated && made.length >= LIMITS.maxInvitationsOfUser)
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
        secretHash: hashOf(secret),
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
      const allowed = await rules.allowed(principal, teamId, 'manage-members', 'team');
      return allowed.kind === 'allowed' ? done((await accounts.listInvitations({ teamId })).filter(isPending)) : allowed;
    },

    revokeInvitation: (principal, invitationId) =>
      rules.inTurnOfOwner(
        () => teamOf({ invitationId }),
        async () => {
          const found = await accounts.findInvitation({ invitationId });
          const { teamId, email } = found ?? {};
          const allowed = await rules.allowed(principal, teamId, 'manage-members', 'invitation');
          if (allowed.kind !== 'allowed') return allowed;
          if (teamId === undefined || email === undefined) return notFound('invitation');
          const change = { action: 'team.revoke-invitation', subject: teamId, details: { email }, accountIds: [teamId] };
          const deleted = await accounts.deleteInvitation({ invitationId, audit: rules.audit(principal, change) });
          return deleted ? done(null) : notFound('invitation');
        },
      ),

    acceptInvitation: ({ secret, address }) =>
      rules.inTurnOfOwner(ofSecret(secret), async () => {
        const invitation = await findPending(secret, address);
        if (!invitation) return NO_INVITATION;
        const { invitationId, email, invitedBy } = invitation;
        if (await accounts.findUserByEmail({ email })) {
          countFailure({ address });
          return refuse('conflict', 'a user already has this email; log in as that user to accept the invitation');
        }
        const user: UserRecord = { userId: rules.newId('usr'), email, createdAt: now() };
        const { userId, createdAt } = user;
        const room = await checkCapacity(invitation, userId);
        if (room.kind !== 'room') return room;
        const { joined } = room;
        const secretKey = rules.newSecret('ek');
        const keyHash = hashOfApiKey(secretKey);
        const apiKey: ApiKeyRecord = { apiKeyId: rules.newId('key'), userId, name: 'first', keyHash, createdAt };
        const audit = joinedAudit({ user, address }, joined.member, invitedBy, true);
        const accepted = await accounts.acceptInvitation({
          invitationId,
          member: joined.member,
          created: { user, apiKey },
          audit,
        });
        return accepted === 'done' ? done({ ...joined, apiKey: secretKey }) : NO_INVITATION;
      }),

    joinTeam: (principal, secret) =>
      rules.inTurnOfOwner(ofSecret(secret), async () => {
        const { user, address } = principal;
        const invitation = await findPending(secret, address);
        if (!invitation) return NO_INVITATION;
        if (invitation.email !== user.email)
          return refuse('forbidden', 'this invitation is for a different email; log in as that user');
        if ((await accounts.listTeams({ userId: user.userId })).length >= LIMITS.maxTeams)
          return refuse('conflict', `a user can be in at most ${LIMITS.maxTeams} teams; leave or delete one first`);
        const room = await checkCapacity(invitation, user.userId);
        if (room.kind !== 'room') return room;
        const { joined } = room;
        const { invitationId, invitedBy } = invitation;
        const audit = joinedAudit(principal, joined.member, invitedBy, false);
        const accepted = await accounts.acceptInvitation({ invitationId, member: joined.member, audit });
        return accepted === 'done' ? done(joined) : NO_INVITATION;
      }),

    declineInvitation: ({ secret, address }) =>
      rules.inTurnOfOwner(ofSecret(secret), async () => {
        const invitation = await findPending(secret, address);
        if (!invitation) return NO_INVITATION;
        const { invitationId, teamId, email } = invitation;
        // Anyone with the secret may decline, without a login.
        const invited: Principal = { user: { userId: '', email, createdAt: 0 }, address };
        const change = { action: 'team.decline-invitation', subject: teamId, details: { email }, accountIds: [teamId] };
        const deleted = await accounts.deleteInvitation({ invitationId, audit: rules.audit(invited, change) });
        return deleted ? done(null) : NO_INVITATION;
      }),
  };
}
