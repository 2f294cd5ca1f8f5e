/**
 * Search indexes in the store. Their records are stored with the accounts. The documents of each index are stored separately, so
 * neither a search nor the deletion of a large index slows down the rest of the server.
 */
import type { AccountId, AuditEntry } from './accounts/records.js';

export const SEARCH_TYPES = ['free', 'payg', 'fixed'] as const;
export type SearchType = (typeof SEARCH_TYPES)[number];

/** A search index as it is stored. */
export interface SearchIndexRecord {
  readonly indexId: string;
  readonly accountId: AccountId;
  readonly name: string;
  readonly region: string;
  readonly type: SearchType;
  /** Time when the index was created, Unix ms. */
  readonly createdAt: number;
  /** Hashes of its tokens; absent if an older version created the index, because its tokens are then derived. */
  readonly tokenHashes?: SearchTokenHashes;
  /** Part of the input from which tokens are derived. */
  readonly derivedNumber: number;
}

/** SHA-256 of the tokens in hexadecimal. The tokens themselves are never stored. */
export interface SearchTokenHashes {
  readonly readWrite: string;
  readonly readOnly: string;
}

/** Changes to a search index. Absent fields keep their value. */
export interface SearchIndexChange {
  readonly accountId?: AccountId;
  readonly name?: string;
  readonly tokenHashes?: SearchTokenHashes;
}

/**
 * Records of search indexes. Each method is one durable transaction that includes the audit entry of the change. Only
 * `deleted` returns an index that is marked as deleted.
 */
export interface SearchIndexStore {
  /** Creates an index. Rejects if the id is taken, or if the account does not exist. */
  create(index: SearchIndexRecord, audit?: AuditEntry): Promise<void>;
  find(query: { readonly indexId: string }): Promise<SearchIndexRecord | null>;
  /** Lists the indexes of these accounts, ordered by creation. */
  list(query: { readonly accountIds: readonly AccountId[] }): Promise<readonly SearchIndexRecord[]>;
  /** Lists the ids of the indexes of all accounts, ordered by creation. */
  listIds(): Promise<readonly string[]>;
  /** Changes an index and returns it; null if there is none. Rejects if the new account does not exist. */
  change(query: {
    readonly indexId: string;
    readonly change: SearchIndexChange;
    readonly audit?: AuditEntry;
  }): Promise<SearchIndexRecord | null>;
  /** Stores hashes for an index that has none. */
  hashDerivedTokens(query: { readonly indexId: string; readonly hashes: SearchTokenHashes }): Promise<void>;
  /** Marks the index as deleted, so that it cannot be found once this resolves. Returns false if there is none. */
  markDeleted(query: { readonly indexId: string; readonly audit?: AuditEntry }): Promise<boolean>;
  /** Lists the ids of indexes whose documents must still be removed. */
  listDeletedIds(): Promise<readonly string[]>;
  /** Removes the record of a deleted index, after its documents were removed. */
  forget(query: { readonly indexId: string }): Promise<void>;
}

// ---------------------------------------------------------------- documents

/** A document of a search index. */
export interface SearchDocument {
  /** Id of the document, unique in its namespace. */
  readonly id: string;
  /** JSON of an object, which is searched and filtered. */
  readonly content: string;
  /** JSON of an object, or null, which is filtered but not searched. */
  readonly metadata: string | null;
  /** Bytes of content and metadata that were omitted, because the documents before it have used up the requested bytes. */
  readonly leftOut?: number;
}

/** A limit that is never reached, for queries that return few documents. */
export const NO_BYTE_LIMIT = 2 ** 40;

/** Limits the total bytes of content and metadata of all documents in a response. */
export interface DocumentBound {
  readonly maxBytes: number;
}

/** A document found by a search. */
export interface FoundDocument extends SearchDocument {
  /** BM25 score, larger is better. Comparable within one response. */
  readonly score: number;
}

/** A field in a document: names and array indexes (negative: from the end). */
export interface FieldPath {
  readonly of: 'content' | 'metadata';
  readonly steps: readonly (string | number)[];
}

export type FilterValue = string | number | boolean;

/** A condition on documents. A missing field matches only `has` with `not`. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | {
      readonly kind: 'compare';
      readonly field: FieldPath;
      readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>=';
      readonly value: FilterValue;
    }
  /** A text that matches the pattern, with `*`, `?` and `[a-z]` as in file names. Matches only text. */
  | { readonly kind: 'glob'; readonly field: FieldPath; readonly not: boolean; readonly pattern: string }
  | { readonly kind: 'in'; readonly field: FieldPath; readonly not: boolean; readonly values: readonly FilterValue[] }
  /** An array that contains the value. Matches only arrays. */
  | { readonly kind: 'contains'; readonly field: FieldPath; readonly not: boolean; readonly value: FilterValue }
  | { readonly kind: 'has'; readonly field: FieldPath; readonly not: boolean };

export interface NamespaceInfo {
  readonly name: string;
  readonly documents: number;
}

export interface SearchIndexInfo {
  /** Namespaces, ordered by name. */
  readonly namespaces: readonly NamespaceInfo[];
  readonly diskBytes: number;
}

export interface Namespace {
  readonly indexId: string;
  /** Name of the namespace; empty for the default namespace. A namespace is created with its first document. */
  readonly namespace: string;
}

/** Selects documents by ids, by a prefix of their ids, or by a filter. */
export type DocumentSelector =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'prefix'; readonly prefix: string }
  | { readonly kind: 'filter'; readonly filter: Filter };

/** Result of an upsert. It is `gone` if the index was dropped in the meantime. */
export type UpsertResult = 'done' | 'too-many-namespaces' | 'gone';

/** The documents of all indexes. A change is durable when its call resolves, and searches find it from then on. */
export interface SearchDocuments {
  /** Stores all documents or none. Replaces documents with the same id. */
  upsert(query: Namespace & { readonly documents: readonly SearchDocument[] }): Promise<UpsertResult>;
  /** Returns the documents in the order of the ids, with null for each missing document. */
  fetch(query: Namespace & DocumentBound & { readonly ids: readonly string[] }): Promise<readonly (SearchDocument | null)[]>;
  /** Lists documents after `after`, ordered by id. */
  range(
    query: Namespace & DocumentBound & { readonly prefix: string; readonly after: string | null; readonly limit: number },
  ): Promise<readonly SearchDocument[]>;
  /**
   * Returns the best matches first: documents that contain the most significant words of the query, by BM25. If some
   * words occur in very many documents, documents without any of the rarer words can be omitted.
   */
  search(
    query: Namespace & DocumentBound & { readonly text: string; readonly limit: number; readonly filter: Filter | null },
  ): Promise<readonly FoundDocument[]>;
  /** Deletes documents and returns how many existed. It uses limited transactions, so a crash can leave some of them. */
  remove(query: Namespace & { readonly choice: DocumentSelector }): Promise<number>;
  /** Empties a namespace immediately, or all namespaces if it is null. The disk space is released later. */
  reset(query: { readonly indexId: string; readonly namespace: string | null }): Promise<void>;
  /** Removes the namespace. Returns false if there is none. The disk space is released later. */
  removeNamespace(query: Namespace): Promise<boolean>;
  /**
   * Returns the counted size of the documents of these indexes: the bytes of content and metadata, and `RECORD_BYTES`
   * for each document. The size is updated in the transaction that changes the documents. An emptied namespace does not count.
   */
  storedBytes(query: { readonly indexIds: readonly string[] }): Promise<number>;
  info(query: { readonly indexId: string }): Promise<SearchIndexInfo>;
  /** Removes all data of an index, and releases its disk space. Does nothing for an unknown index. */
  drop(query: { readonly indexId: string }): Promise<void>;
  /** Continues removals that a stop or a crash interrupted, and resolves when they are complete. */
  resume(query: { readonly indexId: string }): Promise<void>;
  close(): Promise<void>;
}
