/** Finds pending invitations by their secrets, and checks whether a user can still join the team. */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../config/limits.js';
import type { InvitationRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, type Refusal, refuse } from '../account-rules.js';
import { type AcceptedInvitation, PERMISSIONS } from '../account-service.js';
import type { LimitLookup } from '../quotas/account-limits.js';

const SECRET = /^inv_[A-Za-z0-9_-]{43}$/;
export const hashOfInvitation = (secret: string): string => createHash('sha256').update(secret).digest('hex');
/** Returns whether the invitation is still pending. `now` is in Unix ms. */
export const isPending = ({ expiresAt }: InvitationRecord, now: number): boolean => expiresAt > now;

export const NO_INVITATION = refuse(
  'not-found',
  'there is no invitation with this secret; it was used, declined or revoked, or it has expired',
);

export interface InvitationOptions {
  readonly rules: AccountRules;
  readonly limitOf: LimitLookup;
  /** Counts an invalid secret as a failed login from the address. */
  readonly countFailure: (client: { readonly address: string }) => void;
}

export interface PendingInvitations {
  /** Returns null and counts a failed login from the address if no valid invitation has this secret. */
  find(secret: string, address: string): Promise<InvitationRecord | null>;
  /** Returns the team and the new member, or the refusal if the team is full or the user cannot join it. */
  checkCapacity(
    invitation: InvitationRecord,
    userId: string,
  ): Promise<{ readonly kind: 'available'; readonly membership: AcceptedInvitation } | Refusal>;
}

export function createPendingInvitations({ rules, limitOf, countFailure }: InvitationOptions): PendingInvitations {
  const { accounts, now } = rules;

  /** An invitation is valid only while the inviter may still create it. */
  async function inviterCanInvite({ teamId, invitedBy, role }: InvitationRecord): Promise<boolean> {
    const inviterRole = await accounts.roleOf({ accountId: teamId, userId: invitedBy });
    return (
      inviterRole !== null && PERMISSIONS[inviterRole].includes('manage-members') && (role !== 'owner' || inviterRole === 'owner')
    );
  }

  async function find(secret: string, address: string): Promise<InvitationRecord | null> {
    const invitation = SECRET.test(secret) ? await accounts.findInvitation({ secretHash: hashOfInvitation(secret) }) : null;
    if (invitation && isPending(invitation, now()) && (await inviterCanInvite(invitation))) return invitation;
    countFailure({ address });
    return null;
  }

  async function checkCapacity(
    { teamId, email, role }: InvitationRecord,
    userId: string,
  ): Promise<{ readonly kind: 'available'; readonly membership: AcceptedInvitation } | Refusal> {
    const team = await accounts.findTeam({ teamId });
    if (!team) return NO_INVITATION;
    const members = await accounts.listMembers({ teamId });
    if (members.some((member) => member.userId === userId)) return refuse('conflict', 'you are already a member of this team');
    const maxMembers = Math.min(LIMITS.maxTeamMembers, await limitOf('maxTeamMembers', teamId, userId));
    if (members.length >= maxMembers)
      return refuse('conflict', `this team has reached its limit of members (${maxMembers}); an owner or admin can remove one`);
    return { kind: 'available', membership: { team, member: { teamId, userId, email, role, addedAt: now() } } };
  }

  return { find, checkCapacity };
}
