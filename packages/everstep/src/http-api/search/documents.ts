/** The API of one search index: its documents, in namespaces. The token names what may be done; the path names the index. */

import Type, { type Static } from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError, type ErrorCode } from '../../contract/error-codes.js';
import { like } from '../../contract/patterns.js';
import {
  DeleteBody,
  DocumentPage,
  FetchBody,
  IndexInfo,
  NothingToSay,
  RangeBody,
  resultOf,
  ScoredDocument,
  SearchBody,
  StoredDocument,
  Success,
  UpsertBody,
} from '../../contract/search.js';
import type { DocumentChoice, Filter, Namespace, SearchDocument, SearchDocuments } from '../../ports/search-store.js';
import { contentBytes, RECORD_BYTES } from '../../ports/stored-bytes.js';
import { parseFilter } from '../../search/filter-parser.js';
import { change, ONLY_READS } from '../audited/audit-rule.js';
import { type ApiContext, answer, indexOperation, type Operation } from '../operation.js';
import { shown } from '../parameters/unacceptable.js';
import { presentDocument, presentHit, presentInfo, readDocument } from './presenters.js';

const TAG = 'Documents';
const ERRORS: readonly ErrorCode[] = ['bad-parameter', 'bad-body', 'unsupported-media-type'];
const SUCCESS = answer(200, { result: 'Success' as const });

const LEFT_OUT = `An answer has at most ${LIMITS.maxPageBytes} bytes of content and metadata: documents behind that have \`leftOut\` in their place. Fetch them with fewer ids.`;

const inIndex = Type.Object({ indexId: Type.String({ minLength: 1, maxLength: LIMITS.maxRecordIdLength }) });
const inNamespace = Type.Object({
  indexId: inIndex.properties.indexId,
  namespace: Type.String({
    maxLength: LIMITS.maxSearchNamespaceLength,
    ...like('withoutControls'),
    description: 'Without it, the one without a name is meant.',
  }),
});

const common = { tag: TAG, method: 'POST', unknownQuery: 'ignore', errors: ERRORS } as const;
/** Paths with a namespace and without. */
const at = (word: string) =>
  ({ path: `/search/{indexId}/${word}/{namespace}`, otherPaths: [`/search/{indexId}/${word}`] }) as const;
const json = <Schema extends Parameters<typeof Type.Array>[0]>(schema: Schema) =>
  ({ kind: 'json', required: true, schema }) as const;
/** Clients send an empty list where there is nothing to say. */
const NO_BODY = { kind: 'json', required: false, schema: NothingToSay } as const;

function read<Body>(body: Body | undefined): Body {
  if (body === undefined) throw new ApiError('bad-body', 'a JSON body is missing');
  return body;
}

function readFilter(source: string): Filter {
  const parsed = parseFilter(source);
  if (!parsed.ok) throw new ApiError('bad-body', `the body.filter: ${parsed.message}`);
  return parsed.filter;
}

/** Exactly one of ids, prefix and filter. */
function readChoice({ ids, prefix, filter }: Static<typeof DeleteBody>): DocumentChoice {
  const choices: DocumentChoice[] = [];
  if (ids !== undefined) choices.push({ kind: 'ids', ids: ids.map(String) });
  if (prefix !== undefined) choices.push({ kind: 'prefix', prefix });
  if (filter !== undefined) choices.push({ kind: 'filter', filter: readFilter(filter) });
  const [choice] = choices;
  if (choice && choices.length === 1) return choice;
  throw new ApiError('bad-body', 'the body must say which documents: by ids, by prefix or by filter, and by one of them alone');
}

/** A cursor is the last id of the page before. */
const cursorOf = (last: SearchDocument): string => Buffer.from(last.id).toString('base64url');
function readCursor(cursor: string | number | undefined): string | null {
  const text = String(cursor ?? '');
  if (text === '' || text === '0') return null;
  const id = Buffer.from(text, 'base64url').toString();
  if (id !== '' && Buffer.from(id).toString('base64url') === text) return id;
  throw new ApiError('bad-body', `the body.cursor ${shown(text)} is none of a page before`);
}

/** A page of documents ends early; other answers leave out the content of what is behind. */
const BOUND = { maxBytes: LIMITS.maxPageBytes };
const longestAnswer = (documents: number): number => Math.min(documents * LIMITS.maxSearchDocumentBytes, BOUND.maxBytes);

/** Throws ApiError when the account of the index may not store the documents. */
async function allowDocuments(
  { limits, search }: ApiContext,
  indexId: string,
  documents: readonly SearchDocument[],
): Promise<void> {
  const owner = limits && (await search.ownerOf(indexId));
  if (!limits || !owner) return;
  const bytes = documents.reduce((sum, { content, metadata }) => sum + RECORD_BYTES + contentBytes(content, metadata), 0);
  const refusal = await limits.refuseDocuments(owner, bytes);
  if (refusal) throw new ApiError('storage-quota-exceeded', refusal.message);
}

function checkSize(documents: readonly SearchDocument[]): void {
  for (const { id, content, metadata } of documents) {
    const bytes = Buffer.byteLength(content) + Buffer.byteLength(metadata ?? '');
    if (bytes > LIMITS.maxSearchDocumentBytes)
      throw new ApiError(
        'body-too-large',
        `a document may have ${LIMITS.maxSearchDocumentBytes} bytes of content and metadata; ${shown(id)} has ${bytes}`,
      );
  }
}

const upsertDocuments = indexOperation({
  ...common,
  ...at('upsert-data'),
  operationId: 'upsertDocuments',
  audit: change('search.upsert-documents', 'indexId', { onlyUsers: true }),
  summary: 'Make or replace documents: all of them or none',
  needs: 'read-write',
  pathParameters: inNamespace,
  body: { ...json(UpsertBody), maxBytes: LIMITS.maxBodyBytes },
  responses: { 200: resultOf(Success) },
  errors: [...ERRORS, 'conflict', 'not-found', 'storage-quota-exceeded'],
  async handle({ path, body }, context) {
    const { search } = context;
    const documents = [read(body)].flat().map(readDocument);
    checkSize(documents);
    await allowDocuments(context, path.indexId, documents);
    const result = await search.documents.upsert({ ...path, documents });
    if (result === 'gone') throw new ApiError('not-found', 'the search index was deleted');
    if (result === 'too-many-namespaces')
      throw new ApiError('conflict', `a search index has at most ${LIMITS.maxSearchNamespaces} namespaces; delete one first`);
    return SUCCESS;
  },
});

const searchDocuments = indexOperation({
  ...common,
  ...at('search'),
  operationId: 'searchDocuments',
  audit: ONLY_READS,
  summary: 'Search the content of documents',
  description:
    'Full text by BM25: words in any case, without accents, by their English stems. The fields that tune other ways of searching (`reranking`, `semanticWeight`, `inputEnrichment`) are taken and have no effect. ' +
    LEFT_OUT,
  needs: 'read',
  pathParameters: inNamespace,
  body: json(SearchBody),
  responses: { 200: resultOf(Type.Array(ScoredDocument)) },
  async handle({ path, body, request }, { search }) {
    const { query: text, topK: limit = LIMITS.searchResultsDefault, filter, ...parts } = read(body);
    await request.reserve(longestAnswer(limit));
    const wanted = { ...path, text, limit, filter: filter === undefined ? null : readFilter(filter), ...BOUND };
    const found = await search.documents.search(wanted);
    return answer(200, { result: found.map((document) => presentHit(document, parts)) });
  },
});

/** All of a prefix, up to the limit of one answer. */
async function fetchPrefix(
  place: Namespace,
  prefix: string,
  documents: { range: RangeOfDocuments },
): Promise<readonly SearchDocument[]> {
  const limit = LIMITS.maxSearchDocumentsAtOnce;
  const found = await documents.range({ ...place, prefix, after: null, limit: limit + 1, ...BOUND });
  if (found.length > limit)
    throw new ApiError('bad-body', `more than ${limit} documents have ids with the body.prefix; use range, which has pages`);
  return found;
}
type RangeOfDocuments = SearchDocuments['range'];

const fetchDocuments = indexOperation({
  ...common,
  ...at('fetch'),
  operationId: 'fetchDocuments',
  audit: ONLY_READS,
  summary: 'Get documents by their ids, or by how these begin',
  description: LEFT_OUT,
  needs: 'read',
  pathParameters: inNamespace,
  body: json(FetchBody),
  responses: {
    200: resultOf(
      Type.Array(Type.Union([StoredDocument, Type.Null()]), {
        description: 'In the order of the ids; null where there is none.',
      }),
    ),
  },
  async handle({ path, body, request }, { search: { documents } }) {
    const { ids, prefix, ...parts } = read(body);
    await request.reserve(longestAnswer(ids?.length ?? LIMITS.maxSearchDocumentsAtOnce));
    const choice = readChoice({ ...(ids === undefined ? {} : { ids }), ...(prefix === undefined ? {} : { prefix }) });
    const found =
      choice.kind === 'ids'
        ? await documents.fetch({ ...path, ids: choice.ids, ...BOUND })
        : await fetchPrefix(path, prefix ?? '', documents);
    return answer(200, { result: found.map((document) => document && presentDocument(document, parts)) });
  },
});

const deleteDocuments = indexOperation({
  ...common,
  ...at('delete'),
  operationId: 'deleteDocuments',
  audit: change('search.delete-documents', 'indexId', { onlyUsers: true }),
  summary: 'Delete documents by their ids, by how these begin, or by a filter',
  needs: 'read-write',
  pathParameters: inNamespace,
  body: json(DeleteBody),
  responses: { 200: resultOf(Type.Object({ deleted: Type.Integer() }, { additionalProperties: false })) },
  async handle({ path, body }, { search }) {
    const deleted = await search.documents.remove({ ...path, choice: readChoice(read(body)) });
    return answer(200, { result: { deleted } });
  },
});

const rangeDocuments = indexOperation({
  ...common,
  ...at('range'),
  operationId: 'rangeDocuments',
  audit: ONLY_READS,
  summary: 'List documents by id, page by page',
  description: 'A page with long documents ends early.',
  needs: 'read',
  pathParameters: inNamespace,
  body: json(RangeBody),
  responses: { 200: resultOf(DocumentPage) },
  async handle({ path, body, request }, { search }) {
    const { cursor, limit, prefix = '', ...parts } = read(body);
    await request.reserve(longestAnswer(limit));
    // One more than is shown tells whether there is a next page.
    const found = await search.documents.range({ ...path, prefix, after: readCursor(cursor), limit: limit + 1, ...BOUND });
    const end = found.findIndex(({ leftOut }) => leftOut !== undefined);
    const page = found.slice(0, end === -1 ? limit : Math.min(end, limit));
    const last = page.at(-1);
    const nextCursor = last && found.length > page.length ? cursorOf(last) : '';
    return answer(200, { result: { nextCursor, vectors: page.map((document) => presentDocument(document, parts)) } });
  },
});

const resetDocuments = indexOperation({
  ...common,
  ...at('reset'),
  operationId: 'resetDocuments',
  audit: change('search.reset-documents', 'indexId', { onlyUsers: true }),
  summary: 'Delete all documents of a namespace, or with the query parameter all those of every namespace',
  needs: 'read-write',
  pathParameters: inNamespace,
  body: NO_BODY,
  responses: { 200: resultOf(Success) },
  async handle({ path: { indexId, namespace }, request }, { search }) {
    const all = new URLSearchParams(request.target.query).has('all');
    await search.documents.reset({ indexId, namespace: all ? null : namespace });
    return SUCCESS;
  },
});

const deleteNamespace = indexOperation({
  ...common,
  path: '/search/{indexId}/delete-namespace/{namespace}',
  operationId: 'deleteNamespace',
  audit: change('search.delete-namespace', 'indexId', { onlyUsers: true }),
  summary: 'Delete a namespace with all its documents',
  needs: 'read-write',
  pathParameters: inNamespace,
  body: NO_BODY,
  responses: { 200: resultOf(Success) },
  errors: [...ERRORS, 'not-found'],
  async handle({ path }, { search }) {
    if (await search.documents.removeNamespace(path)) return SUCCESS;
    throw new ApiError('not-found', `there is no namespace ${shown(path.namespace)}`);
  },
});

const listNamespaces = indexOperation({
  ...common,
  path: '/search/{indexId}/list-namespaces',
  operationId: 'listNamespaces',
  audit: ONLY_READS,
  summary: 'List the namespaces',
  needs: 'read',
  pathParameters: inIndex,
  body: NO_BODY,
  responses: { 200: resultOf(Type.Array(Type.String())) },
  handle: async ({ path }, { search }) =>
    answer(200, { result: (await search.documents.info(path)).namespaces.map(({ name }) => name) }),
});

const getIndexInfo = indexOperation({
  ...common,
  path: '/search/{indexId}/info',
  operationId: 'getIndexInfo',
  audit: ONLY_READS,
  summary: 'How many documents there are, and how much room they take',
  needs: 'read',
  pathParameters: inIndex,
  body: NO_BODY,
  responses: { 200: resultOf(IndexInfo) },
  handle: async ({ path }, { search }) => answer(200, { result: presentInfo(await search.documents.info(path)) }),
});

export const DOCUMENT_OPERATIONS: readonly Operation[] = [
  upsertDocuments,
  searchDocuments,
  fetchDocuments,
  deleteDocuments,
  rangeDocuments,
  resetDocuments,
  listNamespaces,
  deleteNamespace,
  getIndexInfo,
];
