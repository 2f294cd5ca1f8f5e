/**
 * Operations on search indexes: for users, who create, see, transfer and delete them, and for holders of an index
 * token, who work with its documents.
 */
import type { Outcome, Principal } from '../accounts/account-service.js';
import type { Plans } from '../accounts/plans/plans.js';
import type { Log } from '../ports/log.js';
import type { Random } from '../ports/random.js';
import type { AccountStore } from '../ports/stores/account-store.js';
import type {
  SearchDocuments,
  SearchIndexInfo,
  SearchIndexRecord,
  SearchIndexStore,
  SearchType,
} from '../ports/stores/search-store.js';
import type { SearchAccess } from './search-tokens.js';

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
  /** The account that owns the index. */
  readonly accountId: string;
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
  /** Transfers an index. Requires permissions in both accounts. A personal account as target is `invalid`. */
  transfer(principal: Principal, move: { readonly indexId: string; readonly accountId: string }): Promise<Outcome<null>>;
  /** Replaces the tokens of an index. After the promise resolves, the old tokens are rejected. */
  resetPassword(principal: Principal, indexId: string): Promise<Outcome<IssuedSearchIndex>>;
  /** Removes an index. After the promise resolves, the index is not found. Its documents are removed later. */
  remove(principal: Principal, indexId: string): Promise<Outcome<null>>;
  stats(principal: Principal): Promise<readonly SearchIndexStats[]>;
  statsOf(principal: Principal, indexId: string): Promise<Outcome<SearchIndexStats>>;
  /** Returns the caller with this token, or null if the token is invalid or the index does not exist. */
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
  /** Resolves when no removal is in progress. Remaining removals continue after the next start. */
  stop(): Promise<void>;
}

export interface SearchServiceOptions {
  readonly accounts: AccountStore;
  /** Plans limit the number of indexes of an account. Without plans, only the limit of the server applies. */
  readonly plans?: Plans;
  readonly indexes: SearchIndexStore;
  readonly documents: SearchDocuments;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  readonly random: Random;
  readonly log: Log;
  /** URL of the server, without a trailing slash. */
  readonly publicUrl: () => string;
}
