/** Requests and responses of the API of a search index. */

/** A JSON object. */
export type JsonObject = { readonly [name: string]: unknown };

/** A document to store. */
export interface SearchDocument {
  /** Unique in its namespace. A number is converted to text. */
  readonly id: string | number;
  /** Fields that are searched and can be filtered. */
  readonly content: JsonObject;
  /** Fields that can be filtered but are not searched. */
  readonly metadata?: JsonObject | null;
}

/** A stored document. */
export interface StoredDocument {
  readonly id: string;
  /** Absent if it was not requested. */
  readonly content?: JsonObject;
  readonly metadata?: JsonObject;
  /** Bytes of content and metadata that were omitted because the response would be too long. */
  readonly leftOut?: number;
}

/** A document found by a search. */
export interface ScoredDocument extends StoredDocument {
  /** BM25 score: larger is better. Scores are comparable within one response. */
  readonly score: number;
}

/** One page of documents. */
export interface DocumentPage {
  /** Empty at the end. */
  readonly nextCursor: string;
  /** The documents, by id. */
  readonly vectors: readonly StoredDocument[];
}

/** Number of documents of a namespace. */
export interface NamespaceCounts {
  /** Number of documents. */
  readonly vectorCount: number;
  /** Always 0: acknowledged documents can be found at once. */
  readonly pendingVectorCount: number;
}

/** Size of an index, with its namespaces. */
export interface SearchIndexInfo extends NamespaceCounts {
  /** Bytes on disk. */
  readonly indexSize: number;
  /** Always 0: the index has no vectors. */
  readonly dimension: 0;
  readonly similarityFunction: 'BM25';
  /** By name; the default namespace is "". */
  readonly namespaces: Readonly<Record<string, NamespaceCounts>>;
}

/** Parts of documents to return. Default: all. */
export interface DocumentParts {
  readonly includeMetadata?: boolean;
  readonly includeData?: boolean;
}

/** Options of a search. */
export interface SearchOptions extends DocumentParts {
  readonly query: string;
  /** Maximum number of results, 1 to 1000. Default: 5. */
  readonly topK?: number;
  /** Such as `genre = 'drama' AND @metadata.year >= 1990`. */
  readonly filter?: string;
}

/** Options of a page of documents. */
export interface DocumentRangeOptions extends DocumentParts {
  /** `nextCursor` of the previous page. */
  readonly cursor?: string;
  /** Number of documents per page, 1 to 1000. */
  readonly limit: number;
  /** Prefix of the ids. */
  readonly prefix?: string;
}

/** Selects documents by ids or by a prefix of their ids. */
export type DocumentsById = { readonly ids: readonly (string | number)[] } | { readonly prefix: string };
/** Selects documents by ids, by a prefix of their ids, or by a filter. */
export type DocumentChoice = DocumentsById | { readonly filter: string };
