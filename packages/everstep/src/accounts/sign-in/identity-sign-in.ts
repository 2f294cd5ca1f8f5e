/**
 * Finds the user for an identity of an identity provider, and applies the roles from the provider.
 *
 * A user is identified by issuer and subject. An email alone does not identify an existing user, because anyone can
 * invite an email, accept the invitation, and thus control that user. Instead, the user links the identity while logged in,
 * or an operator configures the server to trust emails.
 */
import type { UserRecord } from '../../ports/stores/account-store.js';
import type { AccountRules } from '../account-rules.js';
import type { Principal, StartedSession } from '../principal.js';
import { isOperator } from '../users/user-rules.js';
import type { IdentityLink, IdentityRules, IdentitySignIn, SignInRefusal } from './identity-rules.js';

type UserResult = { readonly user: UserRecord } | { readonly reason: SignInRefusal };

export interface IdentityRulesOptions {
  readonly rules: AccountRules;
  readonly countFailure: IdentityRules['countFailedSignIn'];
  readonly startSession: (
    principal: Principal,
    origin: { readonly issuer: string },
    isHttps: boolean,
  ) => Promise<StartedSession | null>;
}

/** Applies the roles from the provider. The last operator and the last owner of a team keep their roles. */
async function applyRoles(rules: AccountRules, user: UserRecord, { identity, address }: IdentitySignIn): Promise<void> {
  const { accounts, now } = rules;
  const { userId, email } = user;
  const { roles, issuer } = identity;
  const auditEntry = (action: string, subject: string, details: Readonly<Record<string, string | null>>) =>
    rules.audit(
      { user, address },
      { action, subject, details: { ...details, issuer }, accountIds: [...new Set([subject, userId])] },
    );
  if (roles.isOperator !== null && roles.isOperator !== (await isOperator(rules, userId))) {
    const audit = auditEntry(roles.isOperator ? 'user.grant-operator' : 'user.revoke-operator', userId, { email });
    await accounts.setOperator({ userId, isOperator: roles.isOperator, audit });
  }
  for (const [teamId, role] of roles.teams) {
    const previousRole = await accounts.roleOf({ accountId: teamId, userId });
    if (previousRole === role || !(await accounts.findTeam({ teamId }))) continue;
    if (role === null) {
      await accounts.removeMember({
        teamId,
        userId,
        audit: auditEntry('team.remove-member', teamId, { email, from: previousRole, to: null }),
      });
      continue;
    }
    const audit = auditEntry('team.put-member', teamId, { email, from: previousRole, to: role });
    await accounts.putMember({ member: { teamId, userId, email, role, addedAt: now() }, audit });
  }
}

export function createIdentityRules({ rules, startSession, countFailure }: IdentityRulesOptions): IdentityRules {
  const { accounts, now } = rules;

  async function linkUser(user: UserRecord, { identity, address }: IdentitySignIn): Promise<UserResult> {
    const { issuer, subject } = identity;
    const change = { action: 'user.link-identity', subject: user.userId, details: { issuer }, accountIds: [user.userId] };
    const audit = rules.audit({ user, address }, change);
    const isLinked = await accounts.linkIdentity({ identity: { issuer, subject }, userId: user.userId, at: now(), audit });
    return isLinked ? { user } : { reason: 'sso-identity-taken' };
  }

  async function createUser({ identity, address }: IdentitySignIn): Promise<UserResult> {
    const { issuer, subject, email } = identity;
    const user: UserRecord = { userId: rules.newId('usr'), email, createdAt: now() };
    const change = { action: 'user.create', subject: user.userId, details: { email, issuer }, accountIds: [user.userId] };
    const audit = rules.audit({ user, address }, change);
    const isCreated = await accounts.createUserOfIdentity({ identity: { issuer, subject }, user, audit });
    return isCreated ? { user } : { reason: 'sso-email-taken' };
  }

  /** Links the identity to the user of a session, unless the session has ended. */
  async function linkToSession(link: IdentityLink, request: IdentitySignIn): Promise<UserResult> {
    const found = await accounts.findSession({ sessionHash: link.sessionHash });
    if (found?.user.userId !== link.userId || found.session.expiresAt <= now()) return { reason: 'sso-expired' };
    return found.user.disabledAt === undefined ? linkUser(found.user, request) : { user: found.user };
  }

  /** Returns the user of the identity. A disabled user is returned without any change. */
  async function findOrCreateUser(request: IdentitySignIn): Promise<UserResult> {
    const { identity, policy, link } = request;
    const { issuer, subject, email } = identity;
    const linkedUser = await accounts.findByIdentity({ issuer, subject });
    if (link !== null && linkedUser)
      return linkedUser.userId === link.userId ? { user: linkedUser } : { reason: 'sso-identity-taken' };
    if (link !== null) return linkToSession(link, request);
    if (linkedUser) return { user: linkedUser };
    const userWithEmail = await accounts.findUserByEmail({ email });
    if (userWithEmail?.disabledAt !== undefined && policy.linkByEmail) return { user: userWithEmail };
    if (userWithEmail) return policy.linkByEmail ? linkUser(userWithEmail, request) : { reason: 'sso-email-taken' };
    return policy.createUsers ? createUser(request) : { reason: 'sso-unknown-user' };
  }

  async function auditRefusal(user: UserRecord, { address, identity }: IdentitySignIn): Promise<void> {
    const change = {
      action: 'login.fail',
      subject: user.userId,
      details: { issuer: identity.issuer },
      accountIds: [user.userId],
    };
    await accounts.addAudit(rules.audit({ user, address }, change));
  }

  return {
    countFailedSignIn: countFailure,

    signIn: (request) =>
      rules.withLock(async () => {
        const userResult = await findOrCreateUser(request);
        if (!('user' in userResult)) return { kind: 'refused', reason: userResult.reason };
        const { userId } = userResult.user;
        if (userResult.user.disabledAt !== undefined) {
          await auditRefusal(userResult.user, request);
          return { kind: 'refused', reason: 'sso-user-disabled' };
        }
        await applyRoles(rules, userResult.user, request);
        const user = (await accounts.findUser({ userId })) ?? userResult.user;
        const startedSession = await startSession(
          { user, address: request.address },
          { issuer: request.identity.issuer },
          request.isHttps,
        );
        return startedSession ? { kind: 'in', ...startedSession } : { kind: 'refused', reason: 'sso-user-disabled' };
      }),
  };
}
