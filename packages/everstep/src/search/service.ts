/** Combines the operations on search indexes into the search service. */
import { AccountRules, done, notFound } from '../accounts/account-rules.js';
import { createLimitOf } from '../accounts/quotas/account-limits.js';
import { isOperator } from '../accounts/users/user-rules.js';
import { createIndexOwnership } from './index-ownership.js';
import { IndexRemovals } from './index-removals.js';
import type { SearchService, SearchServiceOptions } from './search-service.js';
import { issueSearchTokens, searchAccessOf } from './search-tokens.js';
import { accessOf, createVisibleIndexes, INDEX } from './visible-indexes.js';

export function createSearchService(options: SearchServiceOptions): SearchService {
  const { accounts, indexes, documents, plans, publicUrl } = options;
  const rules = new AccountRules(options);
  const removals = new IndexRemovals(options);
  const limitOf = plans && createLimitOf({ accounts, plans, isOperator: (userId) => isOperator(rules, userId) });
  const visible = createVisibleIndexes({ rules, indexes, publicUrl });

  return {
    ...createIndexOwnership({ rules, indexes, visible, removals, limitOf }),
    documents,

    list: async (principal) => (await visible.list(principal)).map(({ index, role }) => visible.view(index, role)),

    async find(principal, indexId) {
      const visibleIndex = await visible.find(principal, indexId, 'see');
      return visibleIndex.kind === 'seen' ? done(visible.view(visibleIndex.index, visibleIndex.role)) : visibleIndex;
    },

    rename: (principal, { indexId, name }) =>
      rules.inTurnOfOwner(
        () => visible.ownerOf(indexId),
        async () => {
          const visibleIndex = await visible.find(principal, indexId, 'change');
          if (visibleIndex.kind !== 'seen') return visibleIndex;
          const details = { from: visibleIndex.index.name, to: name };
          const entry = { action: 'search.rename', details, accountIds: [visibleIndex.index.accountId] };
          return (await visible.change(principal, indexId, { name }, entry)) ? done(null) : notFound(INDEX);
        },
      ),

    resetPassword: (principal, indexId) =>
      rules.inTurnOfOwner(
        () => visible.ownerOf(indexId),
        async () => {
          const visibleIndex = await visible.find(principal, indexId, 'change');
          if (visibleIndex.kind !== 'seen') return visibleIndex;
          const entry = { action: 'search.reset-password', accountIds: [visibleIndex.index.accountId] };
          const { hashes: tokenHashes, ...tokens } = issueSearchTokens();
          const changedIndex = await visible.change(principal, indexId, { tokenHashes }, entry);
          return changedIndex ? done({ ...visible.view(changedIndex, visibleIndex.role), ...tokens }) : notFound(INDEX);
        },
      ),

    async stats(principal) {
      const visibleIndexes = await visible.list(principal);
      return Promise.all(visibleIndexes.map(async ({ index }) => ({ index, ...(await documents.info(index)) })));
    },

    async statsOf(principal, indexId) {
      const visibleIndex = await visible.find(principal, indexId, 'see');
      if (visibleIndex.kind !== 'seen') return visibleIndex;
      return done({ index: visibleIndex.index, ...(await documents.info({ indexId })) });
    },

    async admit({ indexId, token }) {
      const index = await indexes.find({ indexId });
      const access = index && (await searchAccessOf(accounts, index, token));
      return access ? { indexId, access } : null;
    },

    async accessTo(principal, indexId) {
      const visibleIndex = await visible.find(principal, indexId, 'see');
      if (visibleIndex.kind !== 'seen') return visibleIndex;
      return done({ indexId, accountId: visibleIndex.index.accountId, access: accessOf(visibleIndex.role) });
    },

    async storedBytes(accountId) {
      const owned = await indexes.list({ accountIds: [accountId] });
      return owned.length === 0 ? 0 : documents.storedBytes({ indexIds: owned.map(({ indexId }) => indexId) });
    },

    ownerOf: visible.ownerOf,

    start: () => removals.resume(),
    stop: () => removals.stop(),
  };
}
