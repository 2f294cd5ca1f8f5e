/** Creates, rotates and revokes tokens of queue instances. A named token is shown once; only its hash is stored. */
import { LIMITS } from '../../config/limits.js';
import type { NamedToken, ReplacedToken } from '../../ports/stores/accounts/named-tokens.js';
import { type AccountRules, done, notFound, refuse } from '../account-rules.js';
import type { AccountService, NewToken, Principal, TokenView } from '../account-service.js';
import { findVisibleInstance } from '../instances/visible-instance.js';
import type { Authority } from './authority.js';
import { hashOfToken, NAMED_TOKEN_PREFIX } from './named-token.js';
import { permanentTokenName, scopesOf } from './token-scopes.js';

type TokenPart = Pick<AccountService, 'listTokens' | 'createToken' | 'rotateToken' | 'revokeToken'>;

export interface TokenRulesOptions {
  readonly rules: AccountRules;
  readonly authority: Pick<Authority, 'revoke' | 'dropRevoked'>;
}

async function viewsOf({ accounts }: AccountRules, instanceId: string): Promise<readonly TokenView[]> {
  const [permanentTokens, namedTokens] = [
    await accounts.listTokens({ instanceId }),
    await accounts.listNamedTokens({ instanceId }),
  ];
  const views = permanentTokens.map(
    ({ tokenId, access, createdAt, revokedAt }): TokenView => ({
      ...{ tokenId, instanceId, name: permanentTokenName(access), isPermanent: true, scopes: scopesOf(access), createdBy: null },
      ...{ createdAt, expiresAt: null, revokedAt, lastUsedAt: null, replacedBy: null },
    }),
  );
  return [...views, ...namedTokens.map(({ tokenHash: _hidden, ...token }): TokenView => ({ ...token, isPermanent: false }))];
}

interface TokenIssue {
  readonly instanceId: string;
  readonly owner: string;
  readonly token: Pick<NamedToken, 'name' | 'scopes' | 'expiresAt'>;
  readonly replaces?: ReplacedToken;
}

async function issueToken(
  rules: AccountRules,
  principal: Principal,
  { instanceId, owner, token: request, replaces }: TokenIssue,
): Promise<NewToken | null> {
  const token = rules.newSecret(NAMED_TOKEN_PREFIX);
  const record: NamedToken = {
    ...request,
    ...{ tokenId: rules.newId('tok'), instanceId, tokenHash: hashOfToken(token), createdBy: principal.user.email },
    ...{ createdAt: rules.now(), revokedAt: null, lastUsedAt: null, replacedBy: null },
  };
  const details = {
    tokenId: record.tokenId,
    name: request.name,
    scopes: request.scopes.join(' '),
    ...(replaces ? { replaces: replaces.tokenId } : {}),
  };
  const action = replaces ? 'queue.rotate-named-token' : 'queue.create-named-token';
  const audit = rules.audit(principal, { action, subject: instanceId, details, accountIds: [owner] });
  if (!(await rules.accounts.createNamedToken({ token: record, ...(replaces ? { replaces } : {}), audit }))) return null;
  const { tokenHash: _hidden, ...visibleFields } = record;
  return { token, view: { ...visibleFields, isPermanent: false } };
}

export function createTokenRules({ rules, authority }: TokenRulesOptions): TokenPart {
  const { accounts, now } = rules;

  const isValid = ({ revokedAt, expiresAt }: TokenView): boolean =>
    revokedAt === null && (expiresAt === null || expiresAt > now());
  const countValid = (tokens: readonly TokenView[]): number =>
    tokens.filter((token) => !token.isPermanent && isValid(token)).length;

  return {
    async listTokens(principal, instanceId) {
      const lookup = await findVisibleInstance(rules, principal, instanceId, 'use');
      return lookup.kind === 'found' ? done(await viewsOf(rules, instanceId)) : lookup;
    },

    createToken: (principal, { instanceId, name, scopes, lifetimeMs }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const lookup = await findVisibleInstance(rules, principal, instanceId, 'change');
        if (lookup.kind !== 'found') return lookup;
        if (countValid(await viewsOf(rules, instanceId)) >= LIMITS.maxNamedTokens)
          return refuse(
            'conflict',
            `a queue instance can have at most ${LIMITS.maxNamedTokens} valid named tokens; revoke one first`,
          );
        const expiresAt = lifetimeMs === null ? null : now() + lifetimeMs;
        const newToken = await issueToken(rules, principal, {
          instanceId,
          owner: lookup.owner,
          token: { name, scopes, expiresAt },
        });
        if (!newToken) throw new Error('the store did not create the new token');
        return done(newToken);
      }),

    rotateToken: (principal, { instanceId, tokenId, overlapMs }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const lookup = await findVisibleInstance(rules, principal, instanceId, 'change');
        if (lookup.kind !== 'found') return lookup;
        const tokens = await viewsOf(rules, instanceId);
        const existingToken = tokens.find((token) => token.tokenId === tokenId);
        if (!existingToken || !isValid(existingToken)) return notFound('valid token');
        if (existingToken.isPermanent)
          return refuse(
            'conflict',
            'this token has no name and cannot be rotated; create a named token, use it, and then revoke this one',
          );
        const { name, scopes, createdAt, expiresAt, replacedBy } = existingToken;
        // Its expiry is the end of the overlap, so its lifetime is unknown.
        if (replacedBy !== null) {
          const canRotate = tokens.some((token) => token.tokenId === replacedBy && isValid(token));
          const advice = canRotate ? 'rotate that token instead' : 'that token is no longer valid, so create a new token';
          return refuse('conflict', `this token was already replaced by the token ${replacedBy}; ${advice}`);
        }
        if (overlapMs > 0 && countValid(tokens) >= LIMITS.maxNamedTokensWithReplaced)
          return refuse(
            'conflict',
            `a queue instance can have at most ${LIMITS.maxNamedTokensWithReplaced} valid named tokens, including replaced ones; revoke one first, or rotate without an overlap`,
          );
        const token = { name, scopes, expiresAt: expiresAt === null ? null : now() + (expiresAt - createdAt) };
        const replaces = { tokenId, expiresAt: overlapMs === 0 ? null : now() + overlapMs };
        const newToken = await issueToken(rules, principal, { instanceId, owner: lookup.owner, token, replaces });
        // The cached token is valid, with the old expiry.
        authority.dropRevoked(instanceId, [tokenId]);
        return newToken ? done(newToken) : notFound('valid token');
      }),

    revokeToken: (principal, { instanceId, tokenId }) =>
      rules.withInstanceLock(principal, instanceId, async () => {
        const lookup = await findVisibleInstance(rules, principal, instanceId, 'change');
        if (lookup.kind !== 'found') return lookup;
        const existingToken = (await viewsOf(rules, instanceId)).find((token) => token.tokenId === tokenId);
        if (!existingToken || existingToken.revokedAt !== null) return notFound('token');
        const details = { tokenId, name: existingToken.name };
        const audit = rules.audit(principal, {
          action: 'queue.revoke-token',
          subject: instanceId,
          details,
          accountIds: [lookup.owner],
        });
        if (existingToken.isPermanent) {
          await authority.revoke(tokenId);
          await accounts.addAudit(audit);
          return done(null);
        }
        const isRevoked = await accounts.revokeNamedToken({ instanceId, tokenId, at: now(), audit });
        authority.dropRevoked(instanceId, [tokenId]);
        return isRevoked ? done(null) : notFound('token');
      }),
  };
}
