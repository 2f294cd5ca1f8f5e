/** What the API of a search index takes and answers, as it does. */

export type JsonObject = { readonly [name: string]: unknown };

export interface SearchDocument {
  /** Unique in its namespace. A number is read as its digits. */
  readonly id: string | number;
  /** Searched, and filtered. */
  readonly content: JsonObject;
  /** Filtered only. */
  readonly metadata?: JsonObject | null;
}

export interface StoredDocument {
  readonly id: string;
  /** Absent when it was not asked for. */
  readonly content?: JsonObject;
  readonly metadata?: JsonObject;
  /** Bytes of content and metadata that are left out because the answer would be too long. */
  readonly leftOut?: number;
}

export interface ScoredDocument extends StoredDocument {
  /** BM25: larger is better; comparable within one answer. */
  readonly score: number;
}

export interface DocumentPage {
  /** Empty at the end. */
  readonly nextCursor: string;
  /** The documents, by id. */
  readonly vectors: readonly StoredDocument[];
}

export interface NamespaceCounts {
  /** Documents. */
  readonly vectorCount: number;
  /** Always 0: what was acknowledged is found. */
  readonly pendingVectorCount: number;
}

export interface SearchIndexInfo extends NamespaceCounts {
  /** Bytes on the disk. */
  readonly indexSize: number;
  /** There are no vectors. */
  readonly dimension: 0;
  readonly similarityFunction: 'BM25';
  /** By name; the one without a name is "". */
  readonly namespaces: Readonly<Record<string, NamespaceCounts>>;
}

/** Which parts of documents are answered; all of them when absent. */
export interface DocumentParts {
  readonly includeMetadata?: boolean;
  readonly includeData?: boolean;
}

export interface SearchOptions extends DocumentParts {
  readonly query: string;
  /** Results at most, 1 to 1000; 5 when absent. */
  readonly topK?: number;
  /** Such as `genre = 'drama' AND @metadata.year >= 1990`. */
  readonly filter?: string;
}

export interface DocumentRangeOptions extends DocumentParts {
  /** Of the page before. */
  readonly cursor?: string;
  /** Documents of a page, 1 to 1000. */
  readonly limit: number;
  /** How the ids begin. */
  readonly prefix?: string;
}

/** Which documents: by one of these. */
export type DocumentsById = { readonly ids: readonly (string | number)[] } | { readonly prefix: string };
export type DocumentChoice = DocumentsById | { readonly filter: string };
