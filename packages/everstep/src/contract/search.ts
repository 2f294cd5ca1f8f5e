/**
 * Wire schemas of search indexes: their records in the management API, and the API of an index, which is compatible with
 * existing search clients.
 */
import Type, { type Static, type TSchema } from 'typebox';
import { LIMITS } from '../config/limits.js';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';
import { patternOption } from './patterns.js';

const id = Type.String({ description: 'Random id that sorts by creation time.' });
const customerId = Type.String({ description: 'Account that owns the index: a user or a team.' });
const count = (description: string) => Type.Integer({ minimum: 0, description });

// ---------------------------------------------------------------- records

export const SearchIndexEntry = Type.Object(
  {
    id,
    customer_id: customerId,
    name: Type.String(),
    region: Type.String(),
    type: Type.String(),
    endpoint: Type.String({ description: 'URL of the API of the index.' }),
    creation_time: Type.Integer({ format: 'int64', description: 'Time when the index was created, in Unix seconds.' }),
    access: Type.Enum(['read-write', 'read-only'], { type: 'string', description: 'Access of the user to the documents.' }),
    token: Type.Optional(Type.String({ description: 'Token that can read and write. Only in the response that creates it.' })),
    read_only_token: Type.Optional(
      Type.String({ description: 'Token that can only read. Only in the response that creates it.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Search index.' },
);
export type SearchIndexEntry = Static<typeof SearchIndexEntry>;

export const SearchIndexStatsEntry = Type.Object(
  {
    id,
    customer_id: customerId,
    name: Type.String(),
    document_count: count('Number of documents in all namespaces.'),
    namespace_count: count('Number of namespaces.'),
    disk_size: count('Size of the index on disk in bytes.'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Size of one search index.' },
);
export type SearchIndexStatsEntry = Static<typeof SearchIndexStatsEntry>;

export const SearchStats = Type.Object(
  {
    index_count: count('Number of indexes in all accounts that the user belongs to.'),
    document_count: count('Number of documents in these indexes.'),
    disk_size: count('Size of these indexes on disk in bytes.'),
    indexes: Type.Array(SearchIndexStatsEntry),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Size of all search indexes, and of each one.' },
);

// ---------------------------------------------------------------- documents

const JsonObject = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });
const documentId = Type.Union(
  [
    Type.String({ minLength: 1, maxLength: LIMITS.maxSearchDocumentIdLength, ...patternOption('storable') }),
    Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  ],
  { description: 'Id of the document, unique in its namespace. A number is converted to its decimal text.' },
);
const content = JsonObject('Fields that can be searched and filtered.');
const metadata = JsonObject('Fields that can be filtered but not searched.');

export const DocumentBody = Type.Object(
  { id: documentId, content, metadata: Type.Optional(Type.Union([metadata, Type.Null()])) },
  { ...NO_OTHER_PROPERTIES, description: 'Document to store.' },
);
export const DocumentsBody = Type.Array(DocumentBody, { minItems: 1, maxItems: LIMITS.maxSearchDocumentsAtOnce });
/** One document or several documents. */
export const UpsertBody = Type.Union([DocumentsBody, DocumentBody]);

const filter = Type.String({
  minLength: 1,
  maxLength: LIMITS.maxSearchFilterLength,
  description: "Filter expression, for example `genre = 'drama' AND @metadata.year >= 1990`.",
});
const includeMetadata = Type.Optional(Type.Boolean({ description: '`false` omits the metadata.' }));
const includeData = Type.Optional(Type.Boolean({ description: '`false` omits the content.' }));

/**
 * Options of fields that clients of other search services send. All other unknown fields are rejected, because a misspelled
 * filter must not match everything.
 */
const NO_EFFECT = { description: 'Accepted for compatibility. Has no effect.' } as const;
const includeVectors = Type.Optional(Type.Boolean(NO_EFFECT));

export const SearchBody = Type.Object(
  {
    query: Type.String({ maxLength: LIMITS.maxSearchQueryLength }),
    topK: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.maxSearchResults,
        description: `Maximum number of results. Default: ${LIMITS.searchResultsDefault}.`,
      }),
    ),
    filter: Type.Optional(filter),
    includeMetadata,
    includeData,
    includeVectors,
    reranking: Type.Optional(Type.Boolean(NO_EFFECT)),
    semanticWeight: Type.Optional(Type.Number({ minimum: 0, maximum: 1, ...NO_EFFECT })),
    inputEnrichment: Type.Optional(Type.Boolean(NO_EFFECT)),
    _appendOriginalInputToEnrichmentResult: Type.Optional(Type.Boolean(NO_EFFECT)),
  },
  NO_OTHER_PROPERTIES,
);

const ids = Type.Array(documentId, { maxItems: LIMITS.maxSearchDocumentsAtOnce });
const prefix = Type.String({
  maxLength: LIMITS.maxSearchDocumentIdLength,
  ...patternOption('storable'),
  description: 'Prefix of the document ids.',
});

export const FetchBody = Type.Object(
  { ids: Type.Optional(ids), prefix: Type.Optional(prefix), includeMetadata, includeData, includeVectors },
  NO_OTHER_PROPERTIES,
);

/** An empty prefix would delete the whole namespace, for example if a variable of a client has no value. */
const prefixToDelete = Type.String({
  minLength: 1,
  maxLength: LIMITS.maxSearchDocumentIdLength,
  ...patternOption('storable'),
  description: 'Prefix of the document ids. It must not be empty: to delete all documents, use the reset operation.',
});

export const DeleteBody = Type.Object(
  { ids: Type.Optional(ids), prefix: Type.Optional(prefixToDelete), filter: Type.Optional(filter) },
  NO_OTHER_PROPERTIES,
);

export const RangeBody = Type.Object(
  {
    cursor: Type.Optional(
      Type.Union([Type.String({ maxLength: LIMITS.maxUrlLength }), Type.Integer()], {
        description: 'Cursor from the previous page. Empty or 0 for the first page.',
      }),
    ),
    limit: Type.Integer({ minimum: 1, maximum: LIMITS.maxSearchResults }),
    prefix: Type.Optional(prefix),
    includeMetadata,
    includeData,
    includeVectors,
  },
  NO_OTHER_PROPERTIES,
);

/** Body of an operation without input. Clients send an empty array or an empty object. */
export const EmptyBody = Type.Union([
  Type.Array(Type.Unknown(), { maxItems: 0 }),
  Type.Object({}, NO_OTHER_PROPERTIES),
  Type.Null(),
]);

const leftOut = Type.Optional(
  Type.Integer({ description: 'Size in bytes of content and metadata that are omitted because the response would be too long.' }),
);

export const StoredDocument = Type.Object(
  { id: Type.String(), content: Type.Optional(content), metadata: Type.Optional(metadata), leftOut },
  { ...NO_OTHER_PROPERTIES, description: 'Stored document. Parts that were not requested are absent.' },
);
export type StoredDocument = Static<typeof StoredDocument>;

export const ScoredDocument = Type.Object(
  {
    id: Type.String(),
    content: Type.Optional(content),
    metadata: Type.Optional(metadata),
    leftOut,
    score: Type.Number({
      description: 'BM25 score. A larger score is a better match. Scores can be compared within one response only.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Document that a search found.' },
);

export const resultOf = <Result extends TSchema>(result: Result) => Type.Object({ result }, NO_OTHER_PROPERTIES);

export const Success = Type.Literal('Success');
export const DocumentPage = Type.Object(
  {
    nextCursor: Type.String({ description: 'Cursor for the next page; empty when there are no more results.' }),
    vectors: Type.Array(StoredDocument, { description: 'The documents. The name is the one that existing clients expect.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of documents, ordered by id.' },
);
const NamespaceCounts = Type.Object(
  {
    vectorCount: count('Number of documents.'),
    pendingVectorCount: count('Always 0. A document can be searched as soon as the upsert returns.'),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Number of documents of a namespace.' },
);
export const IndexInfo = Type.Object(
  {
    vectorCount: count('Number of documents in all namespaces.'),
    pendingVectorCount: count('Always 0. A document can be searched as soon as the upsert returns.'),
    indexSize: count('Size of the index on disk in bytes.'),
    dimension: Type.Literal(0, { description: 'Always 0, because the index contains no vectors.' }),
    similarityFunction: Type.Literal('BM25'),
    namespaces: Type.Record(Type.String(), NamespaceCounts),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Size of an index, with its namespaces.' },
);
