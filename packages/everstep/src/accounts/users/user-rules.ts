/** Users: disabling and deleting them, revoking their keys, ending their sessions, and the operator role. */
import type { UserRecord } from '../../ports/stores/account-store.js';
import { type AccountRules, done, notFound, type Refusal, refuse } from '../account-rules.js';
import type { AccountService, Outcome, Principal } from '../account-service.js';

type UserPart = Pick<
  AccountService,
  | 'isOperator'
  | 'listUsers'
  | 'setUserDisabled'
  | 'deleteUser'
  | 'setOperator'
  | 'listApiKeysOf'
  | 'revokeApiKeyOf'
  | 'revokeApiKeysOf'
  | 'endSessionsOf'
>;

const USER = 'user';
const LAST_OPERATOR = refuse('conflict', 'this is the last operator; grant the operator role to another user first');

export async function isOperator({ accounts }: Pick<AccountRules, 'accounts'>, userId: string): Promise<boolean> {
  const user = await accounts.findUser({ userId });
  return user?.isOperator === true && user.disabledAt === undefined;
}

function outcomeOf(result: 'done' | 'deleted' | 'not-found' | 'last-operator'): Outcome<null> {
  if (result === 'not-found') return notFound(USER);
  return result === 'last-operator' ? LAST_OPERATOR : done(null);
}

export const auditEntryOf = (
  rules: AccountRules,
  { user, address }: Principal,
  action: string,
  { userId, email }: UserRecord,
  details = {},
) =>
  rules.audit(
    { user, address },
    { action, subject: userId, details: { email, ...details }, accountIds: [...new Set([userId, user.userId])] },
  );

type AllowedCaller = 'operator' | 'operator-or-self';

/** Finds a user for an operator or, if `allowedCaller` permits, for that user. Other callers get `not-found`. */
export async function findUserFor(
  rules: AccountRules,
  { user: caller }: Principal,
  userId: string,
  allowedCaller: AllowedCaller,
): Promise<{ readonly kind: 'found'; readonly user: UserRecord } | Refusal> {
  const isAllowed =
    (allowedCaller === 'operator-or-self' && caller.userId === userId) || (await isOperator(rules, caller.userId));
  const user = isAllowed ? await rules.accounts.findUser({ userId }) : null;
  return user ? { kind: 'found', user } : notFound(USER);
}

export function createUserRules(rules: AccountRules): UserPart {
  const { accounts, now } = rules;

  const find = (principal: Principal, userId: string, allowedCaller: AllowedCaller) =>
    findUserFor(rules, principal, userId, allowedCaller);

  return {
    isOperator: ({ user }) => isOperator(rules, user.userId),

    async listUsers({ user }, query) {
      if (!(await isOperator(rules, user.userId)))
        return refuse('forbidden', 'only an operator of this installation can list its users');
      return done(await accounts.listUsersPage(query));
    },

    setUserDisabled: (principal, { userId, disabled }) =>
      rules.withUserLock(principal, async () => {
        const lookup = await find(principal, userId, 'operator');
        if (lookup.kind !== 'found') return lookup;
        const entry = auditEntryOf(rules, principal, disabled ? 'user.disable' : 'user.enable', lookup.user);
        return outcomeOf(await accounts.setUserDisabled({ userId, at: disabled ? now() : null, audit: entry }));
      }),

    deleteUser: (principal, { userId, successorId }) =>
      rules.withUserLock(principal, async () => {
        const lookup = await find(principal, userId, 'operator-or-self');
        if (lookup.kind !== 'found') return lookup;
        const entry = auditEntryOf(rules, principal, 'user.delete', lookup.user, { handedOverTo: successorId });
        const deletionResult = await accounts.deleteUser({ userId, successorId, audit: entry });
        switch (deletionResult) {
          case 'owns-resources':
            return refuse('conflict', 'the user owns queue instances or search indexes; move or delete them first');
          case 'last-owner':
            return refuse(
              'conflict',
              'the user is the last owner of a team; name a member of each such team in hand_over_to, or delete the team first',
            );
          default:
            return outcomeOf(deletionResult);
        }
      }),

    setOperator: (principal, { userId, isOperator: shouldGrant }) =>
      rules.withUserLock(principal, async () => {
        const lookup = await find(principal, userId, 'operator');
        if (lookup.kind !== 'found') return lookup;
        if (shouldGrant && lookup.user.disabledAt !== undefined)
          return refuse('conflict', 'the user is disabled; enable the user first');
        const entry = auditEntryOf(rules, principal, shouldGrant ? 'user.grant-operator' : 'user.revoke-operator', lookup.user);
        return outcomeOf(await accounts.setOperator({ userId, isOperator: shouldGrant, audit: entry }));
      }),

    async listApiKeysOf(principal, userId) {
      const lookup = await find(principal, userId, 'operator-or-self');
      return lookup.kind === 'found' ? done(await accounts.listApiKeys({ userId })) : lookup;
    },

    revokeApiKeyOf: (principal, { userId, apiKeyId }) =>
      rules.withUserLock(principal, async () => {
        const lookup = await find(principal, userId, 'operator');
        if (lookup.kind !== 'found') return lookup;
        const entry = { ...auditEntryOf(rules, principal, 'api-key.revoke', lookup.user), subject: apiKeyId };
        const isRevoked = await accounts.revokeApiKey({ apiKeyId, userId, at: now(), audit: entry });
        return isRevoked ? done(null) : notFound('valid API key');
      }),

    revokeApiKeysOf: (principal, userId) =>
      rules.withUserLock(principal, async () => {
        const lookup = await find(principal, userId, 'operator');
        if (lookup.kind !== 'found') return lookup;
        const entry = auditEntryOf(rules, principal, 'api-key.revoke-all', lookup.user);
        await accounts.revokeApiKeys({ userId, at: now(), audit: entry });
        return done(null);
      }),

    endSessionsOf: (principal, userId) =>
      rules.withUserLock(principal, async () => {
        const lookup = await find(principal, userId, 'operator-or-self');
        if (lookup.kind !== 'found') return lookup;
        await accounts.deleteSessions({ userId, audit: auditEntryOf(rules, principal, 'session.end-all', lookup.user) });
        return done(null);
      }),
  };
}
