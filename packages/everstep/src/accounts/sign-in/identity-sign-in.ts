/**
 * Finds the user for an identity of an identity provider, and applies the roles from the provider.
 *
 * A user is identified by issuer and subject. An email alone does not identify an existing user, because anyone who
 * invited that email first could own the user. Instead the user links the identity while logged in, or an operator
 * decides to trust emails.
 */
import type { UserRecord } from '../../ports/stores/account-store.js';
import type { AccountRules } from '../account-rules.js';
import type { Principal, StartedSession } from '../principal.js';
import { isOperator } from '../users/user-rules.js';
import type { IdentityRules, IdentitySignIn, SignInRefusal } from './identity-rules.js';

type UserResult = { readonly user: UserRecord } | { readonly reason: SignInRefusal };

export interface IdentityRulesOptions {
  readonly rules: AccountRules;
  readonly countFailure: IdentityRules['signInFailed'];
  readonly startSession: (
    principal: Principal,
    by: { readonly issuer: string },
    isHttps: boolean,
  ) => Promise<StartedSession | null>;
}

export function createIdentityRules({ rules, startSession, countFailure }: IdentityRulesOptions): IdentityRules {
  const { accounts, now } = rules;

  async function link(user: UserRecord, { identity, address }: IdentitySignIn): Promise<UserResult> {
    const { issuer, subject } = identity;
    const change = { action: 'user.link-identity', subject: user.userId, details: { issuer }, accountIds: [user.userId] };
    const audit = rules.audit({ user, address }, change);
    const linked = await accounts.linkIdentity({ identity: { issuer, subject }, userId: user.userId, at: now(), audit });
    return linked ? { user } : { reason: 'sso-identity-taken' };
  }

  async function create({ identity, address }: IdentitySignIn): Promise<UserResult> {
    const { issuer, subject, email } = identity;
    const user: UserRecord = { userId: rules.newId('usr'), email, createdAt: now() };
    const change = { action: 'user.create', subject: user.userId, details: { email, issuer }, accountIds: [user.userId] };
    const audit = rules.audit({ user, address }, change);
    const created = await accounts.createUserOfIdentity({ identity: { issuer, subject }, user, audit });
    return created ? { user } : { reason: 'sso-email-taken' };
  }

  async function userOf(request: IdentitySignIn): Promise<UserResult> {
    const { identity, policy, linkTo } = request;
    const { issuer, subject, email } = identity;
    const linkedUser = await accounts.findByIdentity({ issuer, subject });
    if (linkTo !== null) {
      if (linkedUser) return linkedUser.userId === linkTo ? { user: linkedUser } : { reason: 'sso-identity-taken' };
      const linkingUser = await accounts.findUser({ userId: linkTo });
      return linkingUser ? link(linkingUser, request) : { reason: 'sso-unknown-user' };
    }
    if (linkedUser) return { user: linkedUser };
    const sameEmail = await accounts.findUserByEmail({ email });
    if (sameEmail) return policy.linkByEmail ? link(sameEmail, request) : { reason: 'sso-email-taken' };
    return policy.createUsers ? create(request) : { reason: 'sso-unknown-user' };
  }

  /** The last operator and the last owner of a team keep their roles. */
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

    signIn: (request) =>
      rules.inTurn(async () => {
        const result = await userOf(request);
        if (!('user' in result)) return { kind: 'refused', reason: result.reason };
        const { userId } = result.user;
        if (result.user.disabledAt !== undefined) {
          await noteRefused(result.user, request);
          return { kind: 'refused', reason: 'sso-user-disabled' };
        }
        await applyRoles(result.user, request);
        const user = (await accounts.findUser({ userId })) ?? result.user;
        const started = await startSession(
          { user, address: request.address },
          { issuer: request.identity.issuer },
          request.isHttps,
        );
        return started ? { kind: 'in', ...started } : { kind: 'refused', reason: 'sso-user-disabled' };
      }),
  };
}
