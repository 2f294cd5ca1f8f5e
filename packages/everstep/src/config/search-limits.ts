/** Limits of search indexes, as a part of `LIMITS`. */
const KiB = 1024;

export const SEARCH_LIMITS = Object.freeze({
  maxSearchIndexes: 1_000,
  maxSearchNamespaces: 1_000,
  maxSearchNamespaceLength: 128,
  maxSearchDocumentIdLength: 512,
  maxSearchDocumentBytes: 128 * KiB,
  /** Maximum number of documents in one upsert, fetch by id or deletion by id. */
  maxSearchDocumentsAtOnce: 1_000,
  maxSearchQueryLength: 2 * KiB,
  searchResultsDefault: 5,
  maxSearchResults: 1_000,
  maxSearchFilterLength: 4 * KiB,
  /** Maximum number of conditions and list values in one filter. */
  maxSearchFilterValues: 100,
  maxSearchFilterDepth: 20,
  /** Maximum number of stars in one pattern. Each star may match at every position. */
  maxSearchGlobStars: 4,
  /** Maximum length of all GLOB patterns in one filter. Each character may be compared with each character of a document. */
  maxSearchGlobLength: 256,
});
