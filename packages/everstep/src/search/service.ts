/** Combines the operations on search indexes into the search service. */
import { AccountRules, done, notFound } from '../accounts/account-rules.js';
import { createLimitLookup } from '../accounts/quotas/account-limits.js';
import { isOperator } from '../accounts/users/user-rules.js';
import { createIndexOwnership } from './index-ownership.js';
import { IndexRemovals } from './index-removals.js';
import type { SearchService, SearchServiceOptions } from './search-service.js';
import { issueSearchTokens, searchAccessOf } from './search-tokens.js';
import { accessOf, createVisibleIndexes, SEARCH_INDEX } from './visible-indexes.js';

export function createSearchService(options: SearchServiceOptions): SearchService {
  const { accounts, indexes, documents, plans, publicUrl } = options;
  const rules = new AccountRules(options);
  const removals = new IndexRemovals(options);
  const limitOf = plans && createLimitLookup({ accounts, plans, isOperator: (userId) => isOperator(rules, userId) });
  const visibleIndexes = createVisibleIndexes({ rules, indexes, publicUrl });

  return {
    ...createIndexOwnership({ rules, indexes, visibleIndexes, removals, limitOf }),
    documents,

    list: async (principal) => (await visibleIndexes.list(principal)).map(({ index, role }) => visibleIndexes.view(index, role)),

    async find(principal, indexId) {
      const lookup = await visibleIndexes.find(principal, indexId, 'see');
      return lookup.kind === 'found' ? done(visibleIndexes.view(lookup.index, lookup.role)) : lookup;
    },

    rename: (principal, { indexId, name }) =>
      rules.withOwnerLock(
        principal,
        () => visibleIndexes.ownerOf(indexId),
        async () => {
          const lookup = await visibleIndexes.find(principal, indexId, 'change');
          if (lookup.kind !== 'found') return lookup;
          const details = { from: lookup.index.name, to: name };
          const entry = { action: 'search.rename', details, accountIds: [lookup.index.accountId] };
          return (await visibleIndexes.change(principal, indexId, { name }, entry)) ? done(null) : notFound(SEARCH_INDEX);
        },
      ),

    resetPassword: (principal, indexId) =>
      rules.withOwnerLock(
        principal,
        () => visibleIndexes.ownerOf(indexId),
        async () => {
          const lookup = await visibleIndexes.find(principal, indexId, 'change');
          if (lookup.kind !== 'found') return lookup;
          const entry = { action: 'search.reset-password', accountIds: [lookup.index.accountId] };
          const { hashes: tokenHashes, ...tokens } = issueSearchTokens();
          const changedIndex = await visibleIndexes.change(principal, indexId, { tokenHashes }, entry);
          return changedIndex ? done({ ...visibleIndexes.view(changedIndex, lookup.role), ...tokens }) : notFound(SEARCH_INDEX);
        },
      ),

    async stats(principal) {
      const entries = await visibleIndexes.list(principal);
      return Promise.all(entries.map(async ({ index }) => ({ index, ...(await documents.info(index)) })));
    },

    async statsOf(principal, indexId) {
      const lookup = await visibleIndexes.find(principal, indexId, 'see');
      if (lookup.kind !== 'found') return lookup;
      return done({ index: lookup.index, ...(await documents.info({ indexId })) });
    },

    async admit({ indexId, token }) {
      const index = await indexes.find({ indexId });
      const access = index && (await searchAccessOf(accounts, index, token));
      return access ? { indexId, accountId: index.accountId, access } : null;
    },

    async accessTo(principal, indexId) {
      const lookup = await visibleIndexes.find(principal, indexId, 'see');
      if (lookup.kind !== 'found') return lookup;
      return done({ indexId, accountId: lookup.index.accountId, access: accessOf(lookup.role) });
    },

    async storedBytes(accountId) {
      const ownedIndexes = await indexes.list({ accountIds: [accountId] });
      return ownedIndexes.length === 0 ? 0 : documents.storedBytes({ indexIds: ownedIndexes.map(({ indexId }) => indexId) });
    },

    ownerOf: visibleIndexes.ownerOf,

    start: () => removals.resume(),
    stop: () => removals.stop(),
  };
}
