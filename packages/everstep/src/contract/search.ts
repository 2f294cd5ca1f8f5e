/** Wire schemas of search indexes: their records in the management API, and their own API, as clients of search services know it. */
import Type, { type Static, type TSchema } from 'typebox';
import { LIMITS } from '../config/limits.js';

const CLOSED = { additionalProperties: false } as const;
const id = Type.String({ description: 'Unguessable, and sortable by creation.' });
const customerId = Type.String({ description: 'The account that owns it: of a user or of a team.' });
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
    creation_time: Type.Integer({ format: 'int64', description: 'Unix seconds' }),
    access: Type.Enum(['read-write', 'read-only'], { type: 'string', description: 'What the user may do with its documents.' }),
    token: Type.Optional(Type.String({ description: 'Reads and writes. Only in the answer that creates it.' })),
    read_only_token: Type.Optional(Type.String({ description: 'Reads. Only in the answer that creates it.' })),
  },
  CLOSED,
);
export type SearchIndexEntry = Static<typeof SearchIndexEntry>;

export const SearchIndexStatsEntry = Type.Object(
  {
    id,
    customer_id: customerId,
    name: Type.String(),
    document_count: count('Documents in all namespaces'),
    namespace_count: count('Namespaces'),
    disk_size: count('Bytes of its file'),
  },
  CLOSED,
);
export type SearchIndexStatsEntry = Static<typeof SearchIndexStatsEntry>;

export const SearchStats = Type.Object(
  {
    index_count: count('Indexes of all accounts that the user is in'),
    document_count: count('Documents of these indexes'),
    disk_size: count('Bytes of their files'),
    indexes: Type.Array(SearchIndexStatsEntry),
  },
  CLOSED,
);

// ---------------------------------------------------------------- documents

const JsonObject = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });
const documentId = Type.Union(
  [
    Type.String({ minLength: 1, maxLength: LIMITS.maxSearchDocumentIdLength }),
    Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
  ],
  { description: 'Unique in the namespace. A number is read as its digits.' },
);
const content = JsonObject('What is searched, and filtered.');
const metadata = JsonObject('What is filtered, but not searched.');

export const DocumentBody = Type.Object(
  { id: documentId, content, metadata: Type.Optional(Type.Union([metadata, Type.Null()])) },
  CLOSED,
);
export const DocumentsBody = Type.Array(DocumentBody, { minItems: 1, maxItems: LIMITS.maxSearchDocumentsAtOnce });
/** One document, or several. */
export const UpsertBody = Type.Union([DocumentsBody, DocumentBody]);

const filter = Type.String({
  minLength: 1,
  maxLength: LIMITS.maxSearchFilterLength,
  description: "Such as `genre = 'drama' AND @metadata.year >= 1990`.",
});
const includeMetadata = Type.Optional(Type.Boolean({ description: 'False: the metadata is left out.' }));
const includeData = Type.Optional(Type.Boolean({ description: 'False: the content is left out.' }));

const NO_EFFECT = { description: 'Taken, and without effect.' } as const;
/** What clients of other search services send besides. Anything else is refused: a mistyped filter must not mean "all". */
const includeVectors = Type.Optional(Type.Boolean(NO_EFFECT));

export const SearchBody = Type.Object(
  {
    query: Type.String({ maxLength: LIMITS.maxSearchQueryLength }),
    topK: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.maxSearchResults,
        description: `Results at most; ${LIMITS.searchResultsDefault} when absent.`,
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
  CLOSED,
);

const ids = Type.Array(documentId, { maxItems: LIMITS.maxSearchDocumentsAtOnce });
const prefix = Type.String({ maxLength: LIMITS.maxSearchDocumentIdLength, description: 'How the ids begin.' });

export const FetchBody = Type.Object(
  { ids: Type.Optional(ids), prefix: Type.Optional(prefix), includeMetadata, includeData, includeVectors },
  CLOSED,
);

export const DeleteBody = Type.Object(
  { ids: Type.Optional(ids), prefix: Type.Optional(prefix), filter: Type.Optional(filter) },
  CLOSED,
);

export const RangeBody = Type.Object(
  {
    cursor: Type.Optional(
      Type.Union([Type.String({ maxLength: LIMITS.maxUrlLength }), Type.Integer()], {
        description: 'Of the page before; empty or 0 for the first.',
      }),
    ),
    limit: Type.Integer({ minimum: 1, maximum: LIMITS.maxSearchResults }),
    prefix: Type.Optional(prefix),
    includeMetadata,
    includeData,
    includeVectors,
  },
  CLOSED,
);

/** Of an operation that takes no body; clients send an empty list, or an empty object. */
export const NothingToSay = Type.Union([Type.Array(Type.Unknown(), { maxItems: 0 }), Type.Object({}, CLOSED), Type.Null()]);

const leftOut = Type.Optional(
  Type.Integer({ description: 'Bytes of content and metadata that are left out because the answer would be too long.' }),
);

export const StoredDocument = Type.Object(
  { id: Type.String(), content: Type.Optional(content), metadata: Type.Optional(metadata), leftOut },
  CLOSED,
);
export type StoredDocument = Static<typeof StoredDocument>;

export const ScoredDocument = Type.Object(
  {
    id: Type.String(),
    content: Type.Optional(content),
    metadata: Type.Optional(metadata),
    leftOut,
    score: Type.Number({ description: 'BM25: larger is better; comparable within one answer.' }),
  },
  CLOSED,
);

export const resultOf = <Result extends TSchema>(result: Result) => Type.Object({ result }, CLOSED);

export const Success = Type.Literal('Success');
export const DocumentPage = Type.Object(
  {
    nextCursor: Type.String({ description: 'Empty at the end.' }),
    vectors: Type.Array(StoredDocument, { description: 'The documents; clients know them by this name.' }),
  },
  CLOSED,
);
const NamespaceCounts = Type.Object(
  {
    vectorCount: count('Documents'),
    pendingVectorCount: count('Always 0: a document is searched from the moment it is acknowledged.'),
  },
  CLOSED,
);
export const IndexInfo = Type.Object(
  {
    vectorCount: count('Documents in all namespaces'),
    pendingVectorCount: count('Always 0: a document is searched from the moment it is acknowledged.'),
    indexSize: count('Bytes of the file'),
    dimension: Type.Literal(0, { description: 'There are no vectors.' }),
    similarityFunction: Type.Literal('BM25'),
    namespaces: Type.Record(Type.String(), NamespaceCounts),
  },
  CLOSED,
);
