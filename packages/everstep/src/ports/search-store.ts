/**
 * What is kept of search indexes. Their records stand with the accounts; the
 * documents of each index are kept apart from everything else, so that neither
 * a search nor the end of a huge index holds up the rest of the service.
 */
import type { AccountId, AuditEntry } from './account-store.js';

export const SEARCH_TYPES = ['free', 'payg', 'fixed'] as const;
export type SearchType = (typeof SEARCH_TYPES)[number];

export interface SearchIndexRecord {
  readonly indexId: string;
  readonly accountId: AccountId;
  readonly name: string;
  readonly region: string;
  readonly type: SearchType;
  /** Unix ms. */
  readonly createdAt: number;
  /** Absent: an earlier version made the index, and its tokens are derived. */
  readonly tokenHashes?: SearchTokenHashes;
  /** Part of what derived tokens are made of. */
  readonly derivedNumber: number;
}

/** SHA-256 of tokens, hex. The tokens themselves are never stored. */
export interface SearchTokenHashes {
  readonly readWrite: string;
  readonly readOnly: string;
}

export interface SearchIndexChange {
  readonly accountId?: AccountId;
  readonly name?: string;
  readonly tokenHashes?: SearchTokenHashes;
}

/**
 * Each method is one durable transaction, with the audit entry of the change in it. An index that is marked as deleted is
 * found by `deleted` alone.
 */
export interface SearchIndexStore {
  /** Rejects when the id is taken, or when the account does not exist (any more). */
  create(index: SearchIndexRecord, audit?: AuditEntry): Promise<void>;
  find(query: { readonly indexId: string }): Promise<SearchIndexRecord | null>;
  /** Of these accounts, by creation. */
  list(query: { readonly accountIds: readonly AccountId[] }): Promise<readonly SearchIndexRecord[]>;
  /** Of every account, by creation. */
  listIds(): Promise<readonly string[]>;
  /** Null when there is none. Rejects when the new account does not exist (any more). */
  change(query: {
    readonly indexId: string;
    readonly change: SearchIndexChange;
    readonly audit?: AuditEntry;
  }): Promise<SearchIndexRecord | null>;
  /** Stores hashes for an index that has none. */
  hashDerivedTokens(query: { readonly indexId: string; readonly hashes: SearchTokenHashes }): Promise<void>;
  /** From the moment it resolves nobody finds the index. False when there is none. */
  markDeleted(query: { readonly indexId: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Ids of indexes whose documents are still to be removed. */
  deleted(): Promise<readonly string[]>;
  /** When the documents of a deleted index are gone. */
  forget(query: { readonly indexId: string }): Promise<void>;
}

// ---------------------------------------------------------------- documents

export interface SearchDocument {
  /** Unique in its namespace. */
  readonly id: string;
  /** JSON of an object: what is searched, and filtered. */
  readonly content: string;
  /** JSON of an object, or null: what is filtered, but not searched. */
  readonly metadata: string | null;
  /** Bytes of content and metadata that are left out, as the documents before it have used up the bytes that were asked for. */
  readonly leftOut?: number;
}

/** No bound: for documents that are known to be few. */
export const ANY_BYTES = 2 ** 40;

/** The bytes of content and metadata that all documents of an answer may have. */
export interface DocumentBound {
  readonly maxBytes: number;
}

export interface FoundDocument extends SearchDocument {
  /** BM25, larger is better; comparable within one answer. */
  readonly score: number;
}

/** A place in a document: names and positions in arrays (below 0: from the end). */
export interface FieldPath {
  readonly of: 'content' | 'metadata';
  readonly steps: readonly (string | number)[];
}

export type FilterValue = string | number | boolean;

/** A condition on documents. A field that a document does not have fulfils none but `has` with `not`. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | {
      readonly kind: 'compare';
      readonly field: FieldPath;
      readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>=';
      readonly value: FilterValue;
    }
  /** `*`, `?` and `[a-z]` as in file names; a text alone fulfils it. */
  | { readonly kind: 'glob'; readonly field: FieldPath; readonly not: boolean; readonly pattern: string }
  | { readonly kind: 'in'; readonly field: FieldPath; readonly not: boolean; readonly values: readonly FilterValue[] }
  /** An array that has the value; an array alone fulfils it. */
  | { readonly kind: 'contains'; readonly field: FieldPath; readonly not: boolean; readonly value: FilterValue }
  | { readonly kind: 'has'; readonly field: FieldPath; readonly not: boolean };

export interface NamespaceInfo {
  readonly name: string;
  readonly documents: number;
}

export interface SearchIndexInfo {
  /** By name. */
  readonly namespaces: readonly NamespaceInfo[];
  readonly diskBytes: number;
}

export interface Namespace {
  readonly indexId: string;
  /** May be empty: the one that is meant where none is named. Comes into being with its first document. */
  readonly namespace: string;
}

/** Which documents: by their ids, by how their ids begin, or by what is in them. */
export type DocumentChoice =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'prefix'; readonly prefix: string }
  | { readonly kind: 'filter'; readonly filter: Filter };

/** `gone`: the index was dropped meanwhile. */
export type UpsertResult = 'done' | 'too-many-namespaces' | 'gone';

/** The documents of all indexes. Every change is durable when its call resolves, and is searched from then on. */
export interface SearchDocuments {
  /** All of them or none. A document of the same id is replaced. */
  upsert(query: Namespace & { readonly documents: readonly SearchDocument[] }): Promise<UpsertResult>;
  /** In the order of the ids, null where there is none. */
  fetch(query: Namespace & DocumentBound & { readonly ids: readonly string[] }): Promise<readonly (SearchDocument | null)[]>;
  /** By id, behind `after`. */
  range(
    query: Namespace & DocumentBound & { readonly prefix: string; readonly after: string | null; readonly limit: number },
  ): Promise<readonly SearchDocument[]>;
  /**
   * The best first: those that have the most telling words of the query, by BM25. Where words are in very many documents,
   * documents that have none of the rarer words may be left out.
   */
  search(
    query: Namespace & DocumentBound & { readonly text: string; readonly limit: number; readonly filter: Filter | null },
  ): Promise<readonly FoundDocument[]>;
  /** How many there were. In bounded transactions, so that a crash may leave some of them. */
  remove(query: Namespace & { readonly choice: DocumentChoice }): Promise<number>;
  /** Empties a namespace (null: all of them) at once; the disk space is given back after. */
  reset(query: { readonly indexId: string; readonly namespace: string | null }): Promise<void>;
  /** False when there is none. The disk space is given back after. */
  removeNamespace(query: Namespace): Promise<boolean>;
  /**
   * What the documents of these indexes count: the bytes of their content and metadata, and `RECORD_BYTES` for each. Counted
   * in the transaction that changes them; a namespace that was emptied counts nothing.
   */
  storedBytes(query: { readonly indexIds: readonly string[] }): Promise<number>;
  info(query: { readonly indexId: string }): Promise<SearchIndexInfo>;
  /** Removes all that is kept of an index, and its disk space; of one that is not there, nothing. */
  drop(query: { readonly indexId: string }): Promise<void>;
  /** Goes on with what a stop or crash left half removed; resolves when nothing is left of it. */
  resume(query: { readonly indexId: string }): Promise<void>;
  close(): Promise<void>;
}
