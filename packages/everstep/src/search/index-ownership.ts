/** Creates, transfers and removes search indexes: operations that change which indexes an account owns. */
import { type AccountRules, done, notFound, refuse } from '../accounts/account-rules.js';
import type { Principal } from '../accounts/account-service.js';
import type { LimitLookup } from '../accounts/quotas/account-limits.js';
import { LIMITS } from '../config/limits.js';
import type { SearchIndexStore } from '../ports/stores/search-store.js';
import type { IndexRemovals } from './index-removals.js';
import type { SearchService } from './search-service.js';
import { issueSearchTokens } from './search-tokens.js';
import { SEARCH_INDEX, type VisibleIndexes } from './visible-indexes.js';

/** Number of an index whose tokens are random instead of derived. */
const NOT_DERIVED = 0;

export interface IndexOwnershipOptions {
  readonly rules: AccountRules;
  readonly indexes: SearchIndexStore;
  readonly visibleIndexes: VisibleIndexes;
  readonly removals: IndexRemovals;
  /** If undefined, only the limit of the server applies. */
  readonly limitOf: LimitLookup | undefined;
}

export function createIndexOwnership(options: IndexOwnershipOptions): Pick<SearchService, 'create' | 'transfer' | 'remove'> {
  const { rules, indexes, visibleIndexes, removals, limitOf } = options;
  const { accounts } = rules;

  /** Returns a refusal if the account may not own another index, otherwise null. */
  async function checkIndexLimit({ user }: Principal, accountId: string) {
    const limit = (await limitOf?.('maxSearchIndexes', accountId, user.userId)) ?? LIMITS.maxSearchIndexes;
    const maxIndexes = Math.min(LIMITS.maxSearchIndexes, limit);
    const ownedIndexes = await indexes.list({ accountIds: [accountId] });
    return ownedIndexes.length < maxIndexes
      ? null
      : refuse(
          'conflict',
          `this account has reached its limit of search indexes (maxSearchIndexes: ${maxIndexes}); delete one first`,
        );
  }

  return {
    create: (principal, { name, region, type, teamId }) =>
      rules.withUserLock(principal, async () => {
        const accountId = teamId ?? principal.user.userId;
        const permissionCheck = await rules.checkPermission(principal, accountId, 'change', 'team');
        if (permissionCheck.kind !== 'allowed') return permissionCheck;
        const refusal = await checkIndexLimit(principal, accountId);
        if (refusal) return refusal;
        const indexId = rules.newId('idx');
        const { hashes: tokenHashes, ...tokens } = issueSearchTokens();
        const identity = { indexId, accountId, name, region, type, createdAt: rules.now() };
        const index = { ...identity, tokenHashes, derivedNumber: NOT_DERIVED };
        const entry = {
          action: 'search.create',
          subject: indexId,
          details: { name, region, type },
          accountIds: [accountId],
        };
        await indexes.create(index, rules.audit(principal, entry));
        return done({ ...visibleIndexes.view(index, permissionCheck.role), ...tokens });
      }, [teamId ?? principal.user.userId]),

    transfer: (principal, { indexId, accountId }) =>
      rules.withUserLock(principal, async () => {
        const lookup = await visibleIndexes.find(principal, indexId, 'transfer');
        if (lookup.kind !== 'found') return lookup;
        // Checks only the format of the id, so that the response does not reveal whether the account exists.
        if (accountId.startsWith('usr_') || accountId === principal.user.userId)
          return refuse(
            'invalid',
            'body.target_account is the id of a personal account; a transfer to a personal account is not supported',
          );
        if (!(await accounts.findTeam({ teamId: accountId }))) return notFound('team');
        const permissionCheck = await rules.checkPermission(principal, accountId, 'change', 'team');
        if (permissionCheck.kind !== 'allowed') return permissionCheck;
        const previousOwner = lookup.index.accountId;
        if (previousOwner === accountId) return done(null);
        const refusal = await checkIndexLimit(principal, accountId);
        if (refusal) return refusal;
        const entry = {
          action: 'search.transfer',
          details: { from: previousOwner, to: accountId },
          accountIds: [previousOwner, accountId],
        };
        return (await visibleIndexes.change(principal, indexId, { accountId }, entry)) ? done(null) : notFound(SEARCH_INDEX);
      }),

    remove: (principal, indexId) =>
      rules.withOwnerLock(
        principal,
        () => visibleIndexes.ownerOf(indexId),
        async () => {
          const lookup = await visibleIndexes.find(principal, indexId, 'transfer');
          if (lookup.kind !== 'found') return lookup;
          const { name, accountId } = lookup.index;
          const entry = { action: 'search.delete', subject: indexId, details: { name }, accountIds: [accountId] };
          if (!(await indexes.markDeleted({ indexId, audit: rules.audit(principal, entry) }))) return notFound(SEARCH_INDEX);
          removals.start(indexId);
          return done(null);
        },
      ),
  };
}
