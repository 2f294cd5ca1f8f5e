/** Operations of search indexes at `/v2/search`. */

import Type from 'typebox';
import { REGIONS } from '../../config/regions.js';
import { AccountName, Ok, RecordId } from '../../contract/management.js';
import { SearchIndexEntry, SearchIndexStatsEntry, SearchStats } from '../../contract/search.js';
import { SEARCH_TYPES } from '../../ports/stores/search-store.js';
import type { IssuedSearchIndex, SearchIndexStats, SearchIndexView } from '../../search/search-service.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, respond } from '../operation.js';
import { BODY_ERRORS, CHANGE_ERRORS, jsonBody, OK, requiredBody, valueOrThrow } from './outcome.js';
import { toSeconds } from './presenters.js';

const TAG = 'Search indexes';
const pathParameters = Type.Object({ id: RecordId('Id of the search index.') });

const presentIndex = ({ index, endpoint, access }: SearchIndexView): SearchIndexEntry => ({
  id: index.indexId,
  customer_id: index.accountId,
  name: index.name,
  region: index.region,
  type: index.type,
  endpoint,
  creation_time: toSeconds(index.createdAt),
  access,
});

const presentIssuedIndex = ({ token, readOnlyToken, ...view }: IssuedSearchIndex): SearchIndexEntry => ({
  ...presentIndex(view),
  token,
  read_only_token: readOnlyToken,
});

const presentStats = ({ index, namespaces, diskBytes }: SearchIndexStats): SearchIndexStatsEntry => ({
  id: index.indexId,
  customer_id: index.accountId,
  name: index.name,
  document_count: namespaces.reduce((sum, { documents }) => sum + documents, 0),
  namespace_count: namespaces.length,
  disk_size: diskBytes,
});

const listSearchIndexes = accountOperation({
  operationId: 'listSearchIndexes',
  tag: TAG,
  summary: 'List search indexes',
  description: 'Returns the search indexes of all accounts that the user belongs to.',
  method: 'GET',
  path: '/v2/search',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(SearchIndexEntry) },
  errors: [],
  handle: async (_input, { search }, principal) => respond(200, (await search.list(principal)).map(presentIndex)),
});

const createSearchIndex = accountOperation({
  operationId: 'createSearchIndex',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Create a search index',
  description:
    'Creates an index that belongs to the personal account of the user or to a team. The response contains its tokens, which are shown once.',
  method: 'POST',
  path: '/v2/search',
  unknownQuery: 'refuse',
  body: jsonBody({
    name: AccountName('Display name of the index.'),
    region: Type.Enum([...REGIONS], { type: 'string', description: 'Region of the index.' }),
    type: Type.Enum([...SEARCH_TYPES], {
      type: 'string',
      description: 'Pricing type of the index. All types behave the same in Everstep.',
    }),
    team_id: Type.Optional(RecordId('Id of the team that owns the index. Default: the personal account.')),
  }),
  responses: { 200: SearchIndexEntry },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { search }, principal) {
    const { name, region, type, team_id: teamId } = requiredBody(body);
    const request = { name, region, type, ...(teamId === undefined ? {} : { teamId }) };
    return respond(200, presentIssuedIndex(valueOrThrow(await search.create(principal, request))));
  },
});

const getSearchStats = accountOperation({
  operationId: 'getSearchStats',
  tag: TAG,
  summary: 'Get the totals of all search indexes',
  description: 'Returns the number of documents and the disk usage of all search indexes that the user can access.',
  method: 'GET',
  path: '/v2/search/stats',
  unknownQuery: 'ignore',
  responses: { 200: SearchStats },
  errors: [],
  async handle(_input, { search }, principal) {
    const indexes = (await search.stats(principal)).map(presentStats);
    return respond(200, {
      index_count: indexes.length,
      document_count: indexes.reduce((sum, index) => sum + index.document_count, 0),
      disk_size: indexes.reduce((sum, index) => sum + index.disk_size, 0),
      indexes,
    });
  },
});

const getSearchIndex = accountOperation({
  operationId: 'getSearchIndex',
  tag: TAG,
  summary: 'Get a search index',
  description: 'Returns the record of the index without its tokens.',
  method: 'GET',
  path: '/v2/search/{id}',
  unknownQuery: 'ignore',
  pathParameters,
  responses: { 200: SearchIndexEntry },
  errors: ['bad-parameter', 'not-found'],
  handle: async ({ path }, { search }, principal) =>
    respond(200, presentIndex(valueOrThrow(await search.find(principal, path.id)))),
});

const getSearchIndexStats = accountOperation({
  operationId: 'getSearchIndexStats',
  tag: TAG,
  summary: 'Get the statistics of a search index',
  description: 'Returns the number of documents and the disk usage of the index.',
  method: 'GET',
  path: '/v2/search/{id}/stats',
  unknownQuery: 'ignore',
  pathParameters,
  responses: { 200: SearchIndexStatsEntry },
  errors: ['bad-parameter', 'not-found'],
  handle: async ({ path }, { search }, principal) =>
    respond(200, presentStats(valueOrThrow(await search.statsOf(principal, path.id)))),
});

const renameSearchIndex = accountOperation({
  operationId: 'renameSearchIndex',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Rename a search index',
  description: 'Changes the display name of the index.',
  method: 'POST',
  path: '/v2/search/{id}/rename',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({ name: AccountName('New display name of the index.') }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS],
  async handle({ path, body }, { search }, principal) {
    valueOrThrow(await search.rename(principal, { indexId: path.id, name: requiredBody(body).name }));
    return OK;
  },
});

const transferSearchIndex = accountOperation({
  operationId: 'transferSearchIndex',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Transfer a search index to a team',
  description:
    'Transfers the index with all its documents. Its tokens stay valid. A transfer to a personal account is not supported.',
  method: 'POST',
  path: '/v2/search/{id}/transfer',
  unknownQuery: 'refuse',
  pathParameters,
  body: jsonBody({ target_account: RecordId('Id of the team that receives the index.') }),
  responses: { 200: Ok },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ path, body }, { search }, principal) {
    valueOrThrow(await search.transfer(principal, { indexId: path.id, accountId: requiredBody(body).target_account }));
    return OK;
  },
});

const resetSearchIndexTokens = accountOperation({
  operationId: 'resetSearchIndexTokens',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Rotate the tokens of a search index',
  description: 'Returns new tokens, which are shown once. The old tokens are rejected immediately.',
  method: 'POST',
  path: '/v2/search/{id}/reset-password',
  unknownQuery: 'refuse',
  pathParameters,
  responses: { 200: SearchIndexEntry },
  errors: CHANGE_ERRORS,
  handle: async ({ path }, { search }, principal) =>
    respond(200, presentIssuedIndex(valueOrThrow(await search.resetPassword(principal, path.id)))),
});

const deleteSearchIndex = accountOperation({
  operationId: 'deleteSearchIndex',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Delete a search index',
  description: 'Permanently deletes the index and all its documents.',
  method: 'DELETE',
  path: '/v2/search/{id}',
  unknownQuery: 'refuse',
  pathParameters,
  responses: { 200: Ok },
  errors: CHANGE_ERRORS,
  async handle({ path }, { search }, principal) {
    valueOrThrow(await search.remove(principal, path.id));
    return OK;
  },
});

export const searchOperations: readonly Operation[] = [
  listSearchIndexes,
  createSearchIndex,
  getSearchStats,
  getSearchIndex,
  getSearchIndexStats,
  renameSearchIndex,
  transferSearchIndex,
  resetSearchIndexTokens,
  deleteSearchIndex,
];
