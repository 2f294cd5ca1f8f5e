/** Requests and responses of the API of a search index. */

export type JsonObject = { readonly [name: string]: unknown };

export interface SearchDocument {
  /** Unique in its namespace. A number is converted to text. */
  readonly id: string | number;
  /** Fields that are searched and can be filtered. */
  readonly content: JsonObject;
  /** Fields that can be filtered but are not searched. */
  readonly metadata?: JsonObject | null;
}

export interface StoredDocument {
  readonly id: string;
  /** Absent if it was not requested. */
  readonly content?: JsonObject;
  readonly metadata?: JsonObject;
  /** Bytes of content and metadata that were omitted because the response would be too long. */
  readonly leftOut?: number;
}

export interface ScoredDocument extends StoredDocument {
  /** BM25 score: larger is better. Scores are comparable within one response. */
  readonly score: number;
}

export interface DocumentPage {
  /** Empty at the end. */
  readonly nextCursor: string;
  /** The documents, by id. */
  readonly vectors: readonly StoredDocument[];
}

export interface NamespaceCounts {
  /** Number of documents. */
  readonly vectorCount: number;
  /** Always 0: acknowledged documents can be found at once. */
  readonly pendingVectorCount: number;
}

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

export interface SearchOptions extends DocumentParts {
  readonly query: string;
  /** Maximum number of results, 1 to 1000. Default: 5. */
  readonly topK?: number;
  /** Such as `genre = 'drama' AND @metadata.year >= 1990`. */
  readonly filter?: string;
}

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
export type DocumentChoice = DocumentsById | { readonly filter: string };
