/** Converts documents and index statistics to the format that clients of search services expect. */
import type { Static } from 'typebox';
import type { DocumentBody, IndexInfo, ScoredDocument, StoredDocument } from '../../contract/search.js';
import type { FoundDocument, SearchDocument, SearchIndexInfo } from '../../ports/stores/search-store.js';

/** Parts of documents that are included in a response. */
export interface Inclusion {
  readonly includeData?: boolean;
  readonly includeMetadata?: boolean;
}

export function presentDocument({ id, content, metadata, leftOut }: SearchDocument, inclusion: Inclusion): StoredDocument {
  if (leftOut !== undefined) return { id, leftOut };
  return {
    id,
    ...(inclusion.includeData === false ? {} : { content: JSON.parse(content) }),
    ...(inclusion.includeMetadata === false || metadata === null ? {} : { metadata: JSON.parse(metadata) }),
  };
}

export const presentHit = (document: FoundDocument, inclusion: Inclusion): Static<typeof ScoredDocument> => ({
  ...presentDocument(document, inclusion),
  score: document.score,
});

export function presentInfo({ namespaces, diskBytes }: SearchIndexInfo): Static<typeof IndexInfo> {
  return {
    vectorCount: namespaces.reduce((sum, { documents }) => sum + documents, 0),
    pendingVectorCount: 0,
    indexSize: diskBytes,
    dimension: 0,
    similarityFunction: 'BM25',
    namespaces: Object.fromEntries(
      namespaces.map(({ name, documents }) => [name, { vectorCount: documents, pendingVectorCount: 0 }]),
    ),
  };
}

export const readDocument = ({ id, content, metadata }: Static<typeof DocumentBody>): SearchDocument => ({
  id: String(id),
  content: JSON.stringify(content),
  metadata: metadata ? JSON.stringify(metadata) : null,
});
