/** Finds search indexes that a user may see, with the role of the user in the owning account, and changes them. */
import { type AccountRules, type Change, notFound, type Refusal } from '../accounts/account-rules.js';
import { PERMISSIONS, type Permission, type Principal } from '../accounts/account-service.js';
import type { Role } from '../ports/stores/account-store.js';
import type { SearchIndexChange, SearchIndexRecord, SearchIndexStore } from '../ports/stores/search-store.js';
import type { SearchIndexView } from './search-service.js';
import type { SearchAccess } from './search-tokens.js';

export const SEARCH_INDEX = 'search index';

/** An index, and the role of the user in the account that owns it. */
interface IndexWithRole {
  readonly index: SearchIndexRecord;
  readonly role: Role;
}

export interface VisibleIndexes {
  /** Returns `not-found` both for an id that does not exist and for one that the user may not see. */
  find(
    principal: Principal,
    indexId: string,
    permission: Permission,
  ): Promise<({ readonly kind: 'found' } & IndexWithRole) | Refusal>;
  list(principal: Principal): Promise<readonly IndexWithRole[]>;
  view(index: SearchIndexRecord, role: Role): SearchIndexView;
  /** Changes the index after the permissions of the user were checked. Returns null if it does not exist. */
  change(
    principal: Principal,
    indexId: string,
    request: SearchIndexChange,
    entry: Omit<Change, 'subject'>,
  ): Promise<SearchIndexRecord | null>;
  /** Returns null if the index does not exist. */
  ownerOf(indexId: string): Promise<string | null>;
}

export const accessOf = (role: Role): SearchAccess => (PERMISSIONS[role].includes('use') ? 'read-write' : 'read-only');

export function createVisibleIndexes(options: {
  readonly rules: AccountRules;
  readonly indexes: SearchIndexStore;
  /** URL of the server, without a trailing slash. */
  readonly publicUrl: () => string;
}): VisibleIndexes {
  const { rules, indexes, publicUrl } = options;

  /** Returns the role in each account that the user can see. */
  async function rolesOf({ user }: Principal): Promise<ReadonlyMap<string, Role>> {
    const teams = await rules.accounts.listTeams({ userId: user.userId });
    return new Map([[user.userId, 'owner' as const], ...teams.map(({ teamId, role }) => [teamId, role] as const)]);
  }

  return {
    async find(principal, indexId, permission) {
      const index = await indexes.find({ indexId });
      if (!index) return notFound(SEARCH_INDEX);
      const permissionCheck = await rules.checkPermission(principal, index.accountId, permission, SEARCH_INDEX);
      return permissionCheck.kind === 'allowed' ? { kind: 'found', index, role: permissionCheck.role } : permissionCheck;
    },

    async list(principal) {
      const roles = await rolesOf(principal);
      const indexRecords = await indexes.list({ accountIds: [...roles.keys()] });
      return indexRecords.flatMap((index) => {
        const role = roles.get(index.accountId);
        return role && PERMISSIONS[role].includes('see') ? [{ index, role }] : [];
      });
    },

    view: (index, role) => ({ index, endpoint: `${publicUrl()}/search/${index.indexId}`, access: accessOf(role) }),

    change: (principal, indexId, request, entry) =>
      indexes.change({ indexId, change: request, audit: rules.audit(principal, { subject: indexId, ...entry }) }),

    ownerOf: async (indexId) => (await indexes.find({ indexId }))?.accountId ?? null,
  };
}
