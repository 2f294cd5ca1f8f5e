/**
 * API of a search index: its documents, in namespaces. The path contains the id of the index; the token determines the
 * access.
 */

import Type, { type Static } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError, type ErrorCode } from '../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../contract/fields/no-other-properties.js';
import { patternOption } from '../../contract/patterns.js';
import {
  DeleteBody,
  DocumentPage,
  EmptyBody,
  FetchBody,
  IndexInfo,
  RangeBody,
  resultOf,
  ScoredDocument,
  SearchBody,
  StoredDocument,
  Success,
  UpsertBody,
} from '../../contract/search.js';
import type { DocumentSelector, Filter, Namespace, SearchDocument, SearchDocuments } from '../../ports/stores/search-store.js';
import { contentBytes, RECORD_BYTES } from '../../ports/stores/stored-bytes.js';
import { parseFilter } from '../../search/filter-parser.js';
import { change, READ_ONLY } from '../audited/audit-rule.js';
import { type ApiContext, indexOperation, type Operation, respond } from '../operation.js';
import { quoteValue } from '../parameters/value-errors.js';
import { Flag } from '../parameters/values.js';
import { presentDocument, presentHit, presentInfo, readDocument } from './presenters.js';

const TAG = 'Documents';
const ERRORS: readonly ErrorCode[] = ['bad-parameter', 'bad-body', 'unsupported-media-type'];
const SUCCESS = respond(200, { result: 'Success' as const });

const OMISSION_NOTE = `A response contains at most ${LIMITS.maxPageBytes} bytes of content and metadata. Further documents have \`leftOut\` instead; get them with fewer ids per request.`;

const IndexPath = Type.Object({
  indexId: Type.String({ minLength: 1, maxLength: LIMITS.maxRecordIdLength, description: 'Id of the search index.' }),
});
const NamespacePath = Type.Object({
  indexId: IndexPath.properties.indexId,
  namespace: Type.String({
    maxLength: LIMITS.maxSearchNamespaceLength,
    ...patternOption('withoutControls'),
    description: 'Name of the namespace. Without it, the default namespace is used.',
  }),
});

const commonSettings = { tag: TAG, method: 'POST', unknownQuery: 'ignore', errors: ERRORS } as const;
/** Returns the paths of an operation, with and without a namespace. */
const pathsOf = (name: string) =>
  ({ path: `/search/{indexId}/${name}/{namespace}`, otherPaths: [`/search/{indexId}/${name}`] }) as const;
const jsonBody = <Schema extends Parameters<typeof Type.Array>[0]>(schema: Schema) =>
  ({ kind: 'json', required: true, schema }) as const;
/** Body of operations without input. Clients send an empty array. */
const NO_BODY = { kind: 'json', required: false, schema: EmptyBody } as const;

function requiredBody<Body>(body: Body | undefined): Body {
  if (body === undefined)
    throw new ApiError('bad-body', 'the request body is missing; send a JSON value with Content-Type: application/json');
  return body;
}

function readFilter(source: string): Filter {
  const parsedFilter = parseFilter(source);
  if (!parsedFilter.ok) throw new ApiError('bad-body', `body.filter is invalid: ${parsedFilter.message}`);
  return parsedFilter.filter;
}

/** Returns the selected documents. Requires exactly one of ids, prefix and filter. */
function readChoice({ ids, prefix, filter }: Static<typeof DeleteBody>): DocumentSelector {
  const choices: DocumentSelector[] = [];
  if (ids !== undefined) choices.push({ kind: 'ids', ids: ids.map(String) });
  if (prefix !== undefined) choices.push({ kind: 'prefix', prefix });
  if (filter !== undefined) choices.push({ kind: 'filter', filter: readFilter(filter) });
  const [choice] = choices;
  if (choice && choices.length === 1) return choice;
  throw new ApiError('bad-body', 'the body must have exactly one of "ids", "prefix" and "filter"');
}

/** Returns the cursor of the next page, which contains the last id of this page. */
const cursorOf = (lastDocument: SearchDocument): string => Buffer.from(lastDocument.id).toString('base64url');
function readCursor(cursor: string | number | undefined): string | null {
  const text = String(cursor ?? '');
  if (text === '' || text === '0') return null;
  const id = Buffer.from(text, 'base64url').toString();
  if (id !== '' && Buffer.from(id).toString('base64url') === text) return id;
  throw new ApiError(
    'bad-body',
    `body.cursor ${quoteValue(text)} was not returned by a previous page; omit it to start from the beginning`,
  );
}

/** Limit of one response. A page of documents ends early. Other responses omit the content of the remaining documents. */
const RESPONSE_LIMIT = { maxBytes: LIMITS.maxPageBytes };
const maxResponseBytes = (documentCount: number): number =>
  Math.min(documentCount * LIMITS.maxSearchDocumentBytes, RESPONSE_LIMIT.maxBytes);

/** Throws ApiError when the storage quota of the account does not allow the documents. */
async function allowDocuments(
  { limits, search }: ApiContext,
  indexId: string,
  documents: readonly SearchDocument[],
): Promise<void> {
  const ownerId = limits && (await search.ownerOf(indexId));
  if (!limits || !ownerId) return;
  const bytes = documents.reduce((sum, { content, metadata }) => sum + RECORD_BYTES + contentBytes(content, metadata), 0);
  const refusal = await limits.refuseDocuments(ownerId, bytes);
  if (refusal) throw new ApiError('storage-quota-exceeded', refusal.message);
}

function checkSize(documents: readonly SearchDocument[]): void {
  for (const { id, content, metadata } of documents) {
    const bytes = Buffer.byteLength(content) + Buffer.byteLength(metadata ?? '');
    if (bytes > LIMITS.maxSearchDocumentBytes)
      throw new ApiError(
        'body-too-large',
        `a document must not have more than ${LIMITS.maxSearchDocumentBytes} bytes of content and metadata; ${quoteValue(id)} has ${bytes}`,
      );
  }
}

const upsertDocuments = indexOperation({
  ...commonSettings,
  ...pathsOf('upsert-data'),
  operationId: 'upsertDocuments',
  audit: change('search.upsert-documents', 'indexId', { isOnlyForUsers: true }),
  summary: 'Upsert documents',
  description: 'Creates or replaces one document or several, all or nothing.',
  requiredAccess: 'read-write',
  pathParameters: NamespacePath,
  body: { ...jsonBody(UpsertBody), maxBytes: LIMITS.maxBodyBytes },
  responses: { 200: resultOf(Success) },
  errors: [...ERRORS, 'conflict', 'not-found', 'storage-quota-exceeded'],
  async handle({ path, body }, context) {
    const { search } = context;
    const documents = [requiredBody(body)].flat().map(readDocument);
    checkSize(documents);
    await allowDocuments(context, path.indexId, documents);
    const upsertResult = await search.documents.upsert({ ...path, documents });
    if (upsertResult === 'gone') throw new ApiError('not-found', 'the search index was deleted');
    if (upsertResult === 'too-many-namespaces')
      throw new ApiError(
        'conflict',
        `the search index has reached the limit of ${LIMITS.maxSearchNamespaces} namespaces; delete one first`,
      );
    return SUCCESS;
  },
});

const searchDocuments = indexOperation({
  ...commonSettings,
  ...pathsOf('search'),
  operationId: 'searchDocuments',
  audit: READ_ONLY,
  summary: 'Search documents',
  description:
    'Full-text search with BM25: case-insensitive, without accents, with English stemming. `reranking`, `semanticWeight` and `inputEnrichment` are accepted for compatibility and have no effect. ' +
    OMISSION_NOTE,
  requiredAccess: 'read',
  pathParameters: NamespacePath,
  body: jsonBody(SearchBody),
  responses: { 200: resultOf(Type.Array(ScoredDocument)) },
  async handle({ path, body, request }, { search }) {
    const { query: text, topK: limit = LIMITS.searchResultsDefault, filter, ...inclusion } = requiredBody(body);
    await request.reserve(maxResponseBytes(limit));
    const searchRequest = { ...path, text, limit, filter: filter === undefined ? null : readFilter(filter), ...RESPONSE_LIMIT };
    const documents = await search.documents.search(searchRequest);
    return respond(200, { result: documents.map((document) => presentHit(document, inclusion)) });
  },
});

/** Returns all documents with a prefix, up to the limit of one response. */
async function fetchPrefix(
  namespace: Namespace,
  prefix: string,
  documents: { range: RangeOfDocuments },
): Promise<readonly SearchDocument[]> {
  const limit = LIMITS.maxSearchDocumentsAtOnce;
  const matchingDocuments = await documents.range({ ...namespace, prefix, after: null, limit: limit + 1, ...RESPONSE_LIMIT });
  if (matchingDocuments.length > limit)
    throw new ApiError('bad-body', `more than ${limit} documents match "prefix"; use the range operation, which has pages`);
  return matchingDocuments;
}
type RangeOfDocuments = SearchDocuments['range'];

const getDocuments = indexOperation({
  ...commonSettings,
  ...pathsOf('fetch'),
  operationId: 'getDocuments',
  audit: READ_ONLY,
  summary: 'Get documents by id or prefix',
  description: `Returns the documents with the given ids, or all documents whose ids have the prefix. ${OMISSION_NOTE}`,
  requiredAccess: 'read',
  pathParameters: NamespacePath,
  body: jsonBody(FetchBody),
  responses: {
    200: resultOf(
      Type.Array(Type.Union([StoredDocument, Type.Null()]), {
        description: 'Documents in the order of the ids. Null for an id that does not exist.',
      }),
    ),
  },
  async handle({ path, body, request }, { search: { documents } }) {
    const { ids, prefix, ...inclusion } = requiredBody(body);
    await request.reserve(maxResponseBytes(ids?.length ?? LIMITS.maxSearchDocumentsAtOnce));
    const choice = readChoice({ ...(ids === undefined ? {} : { ids }), ...(prefix === undefined ? {} : { prefix }) });
    const selectedDocuments =
      choice.kind === 'ids'
        ? await documents.fetch({ ...path, ids: choice.ids, ...RESPONSE_LIMIT })
        : await fetchPrefix(path, prefix ?? '', documents);
    return respond(200, { result: selectedDocuments.map((document) => document && presentDocument(document, inclusion)) });
  },
});

const deleteDocuments = indexOperation({
  ...commonSettings,
  ...pathsOf('delete'),
  operationId: 'deleteDocuments',
  audit: change('search.delete-documents', 'indexId', { isOnlyForUsers: true }),
  summary: 'Delete documents',
  description: 'Deletes documents by id, by prefix or by filter, and returns the number of deleted documents.',
  requiredAccess: 'read-write',
  pathParameters: NamespacePath,
  body: jsonBody(DeleteBody),
  responses: { 200: resultOf(Type.Object({ deleted: Type.Integer() }, NO_OTHER_PROPERTIES)) },
  async handle({ path, body }, { search }) {
    const deletedCount = await search.documents.remove({ ...path, choice: readChoice(requiredBody(body)) });
    return respond(200, { result: { deleted: deletedCount } });
  },
});

const listDocuments = indexOperation({
  ...commonSettings,
  ...pathsOf('range'),
  operationId: 'listDocuments',
  audit: READ_ONLY,
  summary: 'List documents',
  description: 'Returns documents in pages, ordered by id. A page with large documents contains fewer documents.',
  requiredAccess: 'read',
  pathParameters: NamespacePath,
  body: jsonBody(RangeBody),
  responses: { 200: resultOf(DocumentPage) },
  async handle({ path, body, request }, { search }) {
    const { cursor, limit, prefix = '', ...inclusion } = requiredBody(body);
    await request.reserve(maxResponseBytes(limit));
    // One extra document is read to find out whether there is a next page.
    const documents = await search.documents.range({
      ...path,
      prefix,
      after: readCursor(cursor),
      limit: limit + 1,
      ...RESPONSE_LIMIT,
    });
    const omittedIndex = documents.findIndex(({ leftOut }) => leftOut !== undefined);
    const page = documents.slice(0, omittedIndex === -1 ? limit : Math.min(omittedIndex, limit));
    const lastDocument = page.at(-1);
    const nextCursor = lastDocument && documents.length > page.length ? cursorOf(lastDocument) : '';
    return respond(200, { result: { nextCursor, vectors: page.map((document) => presentDocument(document, inclusion)) } });
  },
});

const ResetQuery = Type.Object({
  all: Type.Optional(
    // Published clients send the name without a value.
    Flag({ description: 'Whether to delete the documents of all namespaces. `all` without a value means `true`.' }),
  ),
});

const resetDocuments = indexOperation({
  ...commonSettings,
  ...pathsOf('reset'),
  operationId: 'resetDocuments',
  audit: change('search.reset-documents', 'indexId', { isOnlyForUsers: true }),
  summary: 'Delete all documents of a namespace',
  description: 'With `all`, deletes the documents of all namespaces.',
  requiredAccess: 'read-write',
  pathParameters: NamespacePath,
  query: ResetQuery,
  body: NO_BODY,
  responses: { 200: resultOf(Success) },
  async handle({ path: { indexId, namespace }, query: { all = false } }, { search }) {
    await search.documents.reset({ indexId, namespace: all ? null : namespace });
    return SUCCESS;
  },
});

const deleteNamespace = indexOperation({
  ...commonSettings,
  path: '/search/{indexId}/delete-namespace/{namespace}',
  operationId: 'deleteNamespace',
  audit: change('search.delete-namespace', 'indexId', { isOnlyForUsers: true }),
  summary: 'Delete a namespace',
  description: 'Deletes the namespace with all its documents.',
  requiredAccess: 'read-write',
  pathParameters: NamespacePath,
  body: NO_BODY,
  responses: { 200: resultOf(Success) },
  errors: [...ERRORS, 'not-found'],
  async handle({ path }, { search }) {
    if (await search.documents.removeNamespace(path)) return SUCCESS;
    throw new ApiError('not-found', `namespace ${quoteValue(path.namespace)} not found`);
  },
});

const listNamespaces = indexOperation({
  ...commonSettings,
  path: '/search/{indexId}/list-namespaces',
  operationId: 'listNamespaces',
  audit: READ_ONLY,
  summary: 'List namespaces',
  description: 'Returns the names of all namespaces. The default namespace is an empty string.',
  requiredAccess: 'read',
  pathParameters: IndexPath,
  body: NO_BODY,
  responses: { 200: resultOf(Type.Array(Type.String())) },
  handle: async ({ path }, { search }) =>
    respond(200, { result: (await search.documents.info(path)).namespaces.map(({ name }) => name) }),
});

const getIndexInfo = indexOperation({
  ...commonSettings,
  path: '/search/{indexId}/info',
  operationId: 'getIndexInfo',
  audit: READ_ONLY,
  summary: 'Get the statistics of the index',
  description: 'Returns the number of documents by namespace and the disk usage.',
  requiredAccess: 'read',
  pathParameters: IndexPath,
  body: NO_BODY,
  responses: { 200: resultOf(IndexInfo) },
  handle: async ({ path }, { search }) => respond(200, { result: presentInfo(await search.documents.info(path)) }),
});

export const DOCUMENT_OPERATIONS: readonly Operation[] = [
  upsertDocuments,
  searchDocuments,
  getDocuments,
  deleteDocuments,
  listDocuments,
  resetDocuments,
  listNamespaces,
  deleteNamespace,
  getIndexInfo,
];
