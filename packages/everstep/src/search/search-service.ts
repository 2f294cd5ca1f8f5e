/**
 * Operations on search indexes: for users, who create, see, transfer and delete them, and for holders of an index
 * token, who work with its documents.
 */
import { AccountRules, done, notFound, refuse } from '../accounts/account-rules.js';
import { type Outcome, type Principal, RIGHTS, type Right } from '../accounts/account-service.js';
import type { Plans } from '../accounts/plans/plans.js';
import { createLimitOf } from '../accounts/quotas/account-limits.js';
import { isOperator } from '../accounts/users/user-rules.js';
import { LIMITS } from '../config/limits.js';
import type { Log } from '../ports/log.js';
import type { Random } from '../ports/random.js';
import type { AccountStore, Role } from '../ports/stores/account-store.js';
import type {
  SearchDocuments,
  SearchIndexChange,
  SearchIndexInfo,
  SearchIndexRecord,
  SearchIndexStore,
  SearchType,
} from '../ports/stores/search-store.js';
import { issueSearchTokens, type SearchAccess, searchAccessOf } from './search-tokens.js';

const INDEX = 'search index';
/** Tokens of new indexes are random instead of derived. */
const NOT_DERIVED = 0;

/** An index with the fields that the caller may see. */
export interface SearchIndexView {
  readonly index: SearchIndexRecord;
  /** URL of the index API. */
  readonly endpoint: string;
  /** Access of the user to the documents. */
  readonly access: SearchAccess;
}

/** A view with tokens, which are shown only once. */
export interface IssuedSearchIndex extends SearchIndexView {
  readonly token: string;
  readonly readOnlyToken: string;
}

export interface SearchIndexStats extends SearchIndexInfo {
  readonly index: SearchIndexRecord;
}

/** The holder of a token of an index, or a user. */
export interface SearchCaller {
  readonly indexId: string;
  readonly access: SearchAccess;
  /** The account that owns the index; absent for the holder of a token. */
  readonly accountId?: string;
  /** The user; absent for the holder of a token. */
  readonly principal?: Principal;
}

export interface SearchService {
  /** Lists the indexes of all accounts that the user can see. */
  list(principal: Principal): Promise<readonly SearchIndexView[]>;
  find(principal: Principal, indexId: string): Promise<Outcome<SearchIndexView>>;
  /** Creates an index in the personal account, or in a team. */
  create(
    principal: Principal,
    request: { readonly name: string; readonly region: string; readonly type: SearchType; readonly teamId?: string },
  ): Promise<Outcome<IssuedSearchIndex>>;
  rename(principal: Principal, request: { readonly indexId: string; readonly name: string }): Promise<Outcome<null>>;
  /** Requires rights on both sides. A personal account as target is `invalid`. */
  transfer(principal: Principal, move: { readonly indexId: string; readonly accountId: string }): Promise<Outcome<null>>;
  /** When it resolves, the old tokens are refused. */
  resetPassword(principal: Principal, indexId: string): Promise<Outcome<IssuedSearchIndex>>;
  /** When it resolves, the index is not found. Its documents are removed later. */
  remove(principal: Principal, indexId: string): Promise<Outcome<null>>;
  stats(principal: Principal): Promise<readonly SearchIndexStats[]>;
  statsOf(principal: Principal, indexId: string): Promise<Outcome<SearchIndexStats>>;
  /** Returns null for an invalid token of this index, and for an index that does not exist. */
  admit(query: { readonly indexId: string; readonly token: string }): Promise<SearchCaller | null>;
  /** Returns read-write access for roles that may use the index, and read-only access for roles that only see it. */
  accessTo(principal: Principal, indexId: string): Promise<Outcome<SearchCaller>>;
  readonly documents: SearchDocuments;
  /** Returns the bytes of all indexes of the account. */
  storedBytes(accountId: string): Promise<number>;
  /** Returns null if the index does not exist. */
  ownerOf(indexId: string): Promise<string | null>;
  /** Continues interrupted removals. */
  start(): void;
  /** Resolves when no removal is in progress. Remaining ones continue after the next start. */
  stop(): Promise<void>;
}

export interface SearchServiceOptions {
  readonly accounts: AccountStore;
  /** Plans limit the number of indexes of an account. Absent: only the limit of the service applies. */
  readonly plans?: Plans;
  readonly indexes: SearchIndexStore;
  readonly documents: SearchDocuments;
  /** Unix ms. */
  readonly now: () => number;
  readonly random: Random;
  readonly log: Log;
  /** URL of the service, without a trailing slash. */
  readonly publicUrl: () => string;
}

type VisibleIndex =
  | { readonly kind: 'seen'; readonly index: SearchIndexRecord; readonly role: Role }
  | Exclude<Outcome<never>, { readonly kind: 'done' }>;

/** Runs removals in the background, one at a time. */
class Removals {
  private readonly options: Pick<SearchServiceOptions, 'indexes' | 'documents' | 'log'>;
  private latest: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(options: Pick<SearchServiceOptions, 'indexes' | 'documents' | 'log'>) {
    this.options = options;
  }

  resume(): void {
    const { indexes, documents } = this.options;
    this.run(async () => {
      for (const indexId of await indexes.deleted()) await this.drop(indexId);
      for (const indexId of await indexes.listIds()) if (!this.stopped) await documents.resume({ indexId });
    });
  }

  begin(indexId: string): void {
    this.run(() => this.drop(indexId));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.latest;
  }

  private async drop(indexId: string): Promise<void> {
    if (this.stopped) return;
    const { indexes, documents } = this.options;
    await documents.drop({ indexId });
    await indexes.forget({ indexId });
  }

  private run(work: () => Promise<void>): void {
    const { log } = this.options;
    this.latest = this.latest.then(work).catch((error) => {
      log.error({ error: String(error) }, 'could not remove the data of a deleted search index, retrying at the next start');
    });
  }
}

export function createSearchService(options: SearchServiceOptions): SearchService {
  const { accounts, indexes, documents, publicUrl } = options;
  const rules = new AccountRules(options);
  const removals = new Removals(options);
  const { plans } = options;
  const limitOf = plans && createLimitOf({ accounts, plans, isOperator: (userId) => isOperator(rules, userId) });

  const ownerOf = async (indexId: string): Promise<string | null> => (await indexes.find({ indexId }))?.accountId ?? null;
  const endpointOf = (indexId: string): string => `${publicUrl()}/search/${indexId}`;

  const accessOf = (role: Role): SearchAccess => (RIGHTS[role].includes('use') ? 'read-write' : 'read-only');
  const view = (index: SearchIndexRecord, role: Role): SearchIndexView => {
    return { index, endpoint: endpointOf(index.indexId), access: accessOf(role) };
  };

  async function find(principal: Principal, indexId: string, right: Right): Promise<VisibleIndex> {
    const index = await indexes.find({ indexId });
    if (!index) return notFound(INDEX);
    const allowed = await rules.allowed(principal, index.accountId, right, INDEX);
    return allowed.kind === 'allowed' ? { kind: 'seen', index, role: allowed.role } : allowed;
  }

  /** Returns the role in each account that the user can see. */
  async function rolesOf({ user }: Principal): Promise<ReadonlyMap<string, Role>> {
    const teams = await accounts.listTeams({ userId: user.userId });
    return new Map([[user.userId, 'owner' as const], ...teams.map(({ teamId, role }) => [teamId, role] as const)]);
  }

  async function listOf(principal: Principal): Promise<readonly { readonly index: SearchIndexRecord; readonly role: Role }[]> {
    const roles = await rolesOf(principal);
    const found = await indexes.list({ accountIds: [...roles.keys()] });
    return found.flatMap((index) => {
      const role = roles.get(index.accountId);
      return role && RIGHTS[role].includes('see') ? [{ index, role }] : [];
    });
  }

  interface AuditedChange {
    readonly action: string;
    readonly details?: Readonly<Record<string, string | number>>;
    readonly accountIds: readonly string[];
  }

  const change = (principal: Principal, indexId: string, request: SearchIndexChange, auditedChange: AuditedChange) =>
    indexes.change({ indexId, change: request, audit: rules.audit(principal, { subject: indexId, ...auditedChange }) });

  /** Returns null if the account may own another index. */
  async function full({ user }: Principal, accountId: string) {
    const limit = (await limitOf?.('maxSearchIndexes', accountId, user.userId)) ?? LIMITS.maxSearchIndexes;
    const most = Math.min(LIMITS.maxSearchIndexes, limit);
    const owned = await indexes.list({ accountIds: [accountId] });
    return owned.length < most
      ? null
      : refuse('conflict', `this account can own at most ${most} search indexes (maxSearchIndexes)`);
  }

  return {
    documents,

    list: async (principal) => (await listOf(principal)).map(({ index, role }) => view(index, role)),

    async find(principal, indexId) {
      const seen = await find(principal, indexId, 'see');
      return seen.kind === 'seen' ? done(view(seen.index, seen.role)) : seen;
    },

    create: (principal, { name, region, type, teamId }) =>
      rules.inTurn(async () => {
        const accountId = teamId ?? principal.user.userId;
        const allowed = await rules.allowed(principal, accountId, 'change', 'team');
        if (allowed.kind !== 'allowed') return allowed;
        const tooMany = await full(principal, accountId);
        if (tooMany) return tooMany;
        const indexId = rules.newId('idx');
        const { hashes: tokenHashes, ...tokens } = issueSearchTokens();
        const identity = { indexId, accountId, name, region, type, createdAt: rules.now() };
        const index = { ...identity, tokenHashes, derivedNumber: NOT_DERIVED };
        const auditedChange = {
          action: 'search.create',
          subject: indexId,
          details: { name, region, type },
          accountIds: [accountId],
        };
        await indexes.create(index, rules.audit(principal, auditedChange));
        return done({ ...view(index, allowed.role), ...tokens });
      }, [teamId ?? principal.user.userId]),

    rename: (principal, { indexId, name }) =>
      rules.inTurnOfOwner(
        () => ownerOf(indexId),
        async () => {
          const seen = await find(principal, indexId, 'change');
          if (seen.kind !== 'seen') return seen;
          const details = { from: seen.index.name, to: name };
          const auditedChange = { action: 'search.rename', details, accountIds: [seen.index.accountId] };
          return (await change(principal, indexId, { name }, auditedChange)) ? done(null) : notFound(INDEX);
        },
      ),

    transfer: (principal, { indexId, accountId }) =>
      rules.inTurn(async () => {
        const seen = await find(principal, indexId, 'give-away');
        if (seen.kind !== 'seen') return seen;
        // Checks only the format of the ID, so that it does not reveal whether the account exists.
        if (accountId.startsWith('usr_') || accountId === principal.user.userId)
          return refuse(
            'invalid',
            'body.target_account is the ID of a personal account; a transfer to a personal account is not supported',
          );
        if (!(await accounts.findTeam({ teamId: accountId }))) return notFound('team');
        const allowed = await rules.allowed(principal, accountId, 'change', 'team');
        if (allowed.kind !== 'allowed') return allowed;
        const from = seen.index.accountId;
        if (from === accountId) return done(null);
        const tooMany = await full(principal, accountId);
        if (tooMany) return tooMany;
        const auditedChange = { action: 'search.transfer', details: { from, to: accountId }, accountIds: [from, accountId] };
        return (await change(principal, indexId, { accountId }, auditedChange)) ? done(null) : notFound(INDEX);
      }),

    resetPassword: (principal, indexId) =>
      rules.inTurnOfOwner(
        () => ownerOf(indexId),
        async () => {
          const seen = await find(principal, indexId, 'change');
          if (seen.kind !== 'seen') return seen;
          const auditedChange = { action: 'search.reset-password', accountIds: [seen.index.accountId] };
          const { hashes: tokenHashes, ...tokens } = issueSearchTokens();
          const changed = await change(principal, indexId, { tokenHashes }, auditedChange);
          return changed ? done({ ...view(changed, seen.role), ...tokens }) : notFound(INDEX);
        },
      ),

    remove: (principal, indexId) =>
      rules.inTurnOfOwner(
        () => ownerOf(indexId),
        async () => {
          const seen = await find(principal, indexId, 'give-away');
          if (seen.kind !== 'seen') return seen;
          const { name, accountId } = seen.index;
          const auditedChange = { action: 'search.delete', subject: indexId, details: { name }, accountIds: [accountId] };
          if (!(await indexes.markDeleted({ indexId, audit: rules.audit(principal, auditedChange) }))) return notFound(INDEX);
          removals.begin(indexId);
          return done(null);
        },
      ),

    async stats(principal) {
      const found = await listOf(principal);
      return Promise.all(found.map(async ({ index }) => ({ index, ...(await documents.info(index)) })));
    },

    async statsOf(principal, indexId) {
      const seen = await find(principal, indexId, 'see');
      if (seen.kind !== 'seen') return seen;
      return done({ index: seen.index, ...(await documents.info({ indexId })) });
    },

    async admit({ indexId, token }) {
      const index = await indexes.find({ indexId });
      const access = index && (await searchAccessOf(accounts, index, token));
      return access ? { indexId, access } : null;
    },

    async accessTo(principal, indexId) {
      const seen = await find(principal, indexId, 'see');
      if (seen.kind !== 'seen') return seen;
      return done({ indexId, accountId: seen.index.accountId, access: accessOf(seen.role) });
    },

    async storedBytes(accountId) {
      const owned = await indexes.list({ accountIds: [accountId] });
      return owned.length === 0 ? 0 : documents.storedBytes({ indexIds: owned.map(({ indexId }) => indexId) });
    },

    ownerOf,

    start: () => removals.resume(),
    stop: () => removals.stop(),
  };
}
