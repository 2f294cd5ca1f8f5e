/**
 * Which user somebody is who signed in with an identity provider, and what that user may do by the roles that the provider tells.
 *
 * A user is known by issuer and subject. An e-mail alone does not lead to a user that exists: anybody who invited the e-mail first
 * could own that user. The user links the identity while logged in, or an operator decides that e-mails are trusted.
 */
import type { Role, UserRecord } from '../../ports/account-store.js';
import type { Identity } from '../../ports/sign-in-store.js';
import type { AccountRules } from '../account-rules.js';
import type { BegunSession, Principal } from '../account-service.js';
import { isOperator } from '../user-rules.js';

/** What the identity provider's roles mean. What is not mapped stays as it is. */
export interface MappedRoles {
  /** Null: the mapping has no operators. */
  readonly isOperator: boolean | null;
  /** Teams of the mapping with the role of the user in each; null: none. */
  readonly teams: ReadonlyMap<string, Role | null>;
}

/** Who signed in, as the identity provider said and as it was verified. */
export interface VerifiedIdentity extends Identity {
  /** Lower case, verified by the identity provider. */
  readonly email: string;
  readonly roles: MappedRoles;
}

export interface SignInPolicy {
  /** Whether a user is created for an identity that is not known. */
  readonly createUsers: boolean;
  /** Whether a verified e-mail leads to the user who has it. */
  readonly linkByEmail: boolean;
}

export interface IdentitySignIn {
  readonly identity: VerifiedIdentity;
  readonly policy: SignInPolicy;
  readonly address: string;
  readonly isHttps: boolean;
  /** The user who links the identity; null: somebody signs in. */
  readonly linkTo: string | null;
}

export type SignInRefusal = 'sso-unknown-user' | 'sso-email-taken' | 'sso-user-disabled' | 'sso-identity-taken';

export type SignedIn = ({ readonly kind: 'in' } & BegunSession) | { readonly kind: 'refused'; readonly reason: SignInRefusal };

export interface IdentityRules {
  /** Counts an answer of the identity provider that is not valid as a failed login from the address. */
  signInFailed(from: { readonly address: string }): void;
  signIn(wish: IdentitySignIn): Promise<SignedIn>;
}

type Found = { readonly user: UserRecord } | { readonly reason: SignInRefusal };

export interface IdentityRulesOptions {
  readonly rules: AccountRules;
  readonly countFailure: IdentityRules['signInFailed'];
  readonly begin: (principal: Principal, by: { readonly issuer: string }, isHttps: boolean) => Promise<BegunSession | null>;
}

export function createIdentityRules({ rules, begin, countFailure }: IdentityRulesOptions): IdentityRules {
  const { accounts, now } = rules;

  async function link(user: UserRecord, { identity, address }: IdentitySignIn): Promise<Found> {
    const { issuer, subject } = identity;
    const change = { action: 'user.link-identity', subject: user.userId, details: { issuer }, accountIds: [user.userId] };
    const audit = rules.audit({ user, address }, change);
    const linked = await accounts.linkIdentity({ identity: { issuer, subject }, userId: user.userId, at: now(), audit });
    return linked ? { user } : { reason: 'sso-identity-taken' };
  }

  async function create({ identity, address }: IdentitySignIn): Promise<Found> {
    const { issuer, subject, email } = identity;
    const user: UserRecord = { userId: rules.newId('usr'), email, createdAt: now() };
    const change = { action: 'user.create', subject: user.userId, details: { email, issuer }, accountIds: [user.userId] };
    const audit = rules.audit({ user, address }, change);
    const created = await accounts.createUserOfIdentity({ identity: { issuer, subject }, user, audit });
    return created ? { user } : { reason: 'sso-email-taken' };
  }

  async function userOf(wish: IdentitySignIn): Promise<Found> {
    const { identity, policy, linkTo } = wish;
    const { issuer, subject, email } = identity;
    const known = await accounts.findByIdentity({ issuer, subject });
    if (linkTo !== null) {
      if (known) return known.userId === linkTo ? { user: known } : { reason: 'sso-identity-taken' };
      const linking = await accounts.findUser({ userId: linkTo });
      return linking ? link(linking, wish) : { reason: 'sso-unknown-user' };
    }
    if (known) return { user: known };
    const sameEmail = await accounts.findUserByEmail({ email });
    if (sameEmail) return policy.linkByEmail ? link(sameEmail, wish) : { reason: 'sso-email-taken' };
    return policy.createUsers ? create(wish) : { reason: 'sso-unknown-user' };
  }

  /** The last operator and the last owner of a team stay what they are. */
  async function applyRoles(user: UserRecord, { identity, address }: IdentitySignIn): Promise<void> {
    const { userId, email } = user;
    const { roles, issuer } = identity;
    const auditOf = (action: string, subject: string, details: Readonly<Record<string, string | null>>) =>
      rules.audit(
        { user, address },
        { action, subject, details: { ...details, issuer }, accountIds: [...new Set([subject, userId])] },
      );
    if (roles.isOperator !== null && roles.isOperator !== (await isOperator(rules, userId))) {
      const audit = auditOf(roles.isOperator ? 'user.grant-operator' : 'user.revoke-operator', userId, { email });
      await accounts.setOperator({ userId, isOperator: roles.isOperator, audit });
    }
    for (const [teamId, role] of roles.teams) {
      const before = await accounts.roleOf({ accountId: teamId, userId });
      if (before === role || !(await accounts.findTeam({ teamId }))) continue;
      if (role === null) {
        await accounts.removeMember({
          teamId,
          userId,
          audit: auditOf('team.remove-member', teamId, { email, from: before, to: null }),
        });
        continue;
      }
      const audit = auditOf('team.put-member', teamId, { email, from: before, to: role });
      await accounts.putMember({ member: { teamId, userId, email, role, addedAt: now() }, audit });
    }
  }

  async function noteRefused(user: UserRecord, { address, identity }: IdentitySignIn): Promise<void> {
    const change = {
      action: 'login.fail',
      subject: user.userId,
      details: { issuer: identity.issuer },
      accountIds: [user.userId],
    };
    await accounts.addAudit(rules.audit({ user, address }, change));
  }

  return {
    signInFailed: countFailure,

    signIn: (wish) =>
      rules.inTurn(async () => {
        const found = await userOf(wish);
        if (!('user' in found)) return { kind: 'refused', reason: found.reason };
        const { userId } = found.user;
        if (found.user.disabledAt !== undefined) {
          await noteRefused(found.user, wish);
          return { kind: 'refused', reason: 'sso-user-disabled' };
        }
        await applyRoles(found.user, wish);
        const user = (await accounts.findUser({ userId })) ?? found.user;
        const started = await begin({ user, address: wish.address }, { issuer: wish.identity.issuer }, wish.isHttps);
        return started ? { kind: 'in', ...started } : { kind: 'refused', reason: 'sso-user-disabled' };
      }),
  };
}
