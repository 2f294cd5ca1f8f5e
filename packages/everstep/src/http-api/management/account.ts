/** What is the user's own: who it is, its API keys, and what was changed in its accounts. */
import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { AccountEntry, AccountName, ApiKeyEntry, AuditLogPage, Ok, RecordId } from '../../contract/management.js';
import { accountOperation, answer, type Operation } from '../operation.js';
import { Cursor } from '../parameters/values.js';
import { BODY_ERRORS, done, given, jsonBody, OK } from './outcome.js';
import { presentApiKey, presentAudit, toSeconds } from './presenters.js';

const getAccount = accountOperation({
  operationId: 'getAccount',
  tag: 'Account',
  summary: 'Who am I',
  method: 'GET',
  path: '/v2/account',
  unknownQuery: 'ignore',
  responses: { 200: AccountEntry },
  errors: [],
  async handle(_input, { accounts }, principal) {
    const { userId, email, createdAt } = principal.user;
    const seen = await accounts.accountsOf(principal);
    return answer(200, {
      id: userId,
      customer_id: userId,
      email,
      creation_time: toSeconds(createdAt),
      accounts: seen.map(({ accountId, role }) => ({ id: accountId, role })),
    });
  },
});

const listApiKeys = accountOperation({
  operationId: 'listApiKeys',
  tag: 'API keys',
  summary: 'List the API keys of the user, revoked ones too',
  method: 'GET',
  path: '/v2/apikeys',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(ApiKeyEntry) },
  errors: [],
  async handle(_input, { accounts }, principal) {
    const records = await accounts.listApiKeys(principal);
    return answer(
      200,
      records.map((record) => presentApiKey(record)),
    );
  },
});

const createApiKey = accountOperation({
  operationId: 'createApiKey',
  tag: 'API keys',
  summary: 'Create an API key',
  description: 'The key is in the answer, and nowhere afterwards: only its hash is kept.',
  method: 'POST',
  path: '/v2/apikeys',
  unknownQuery: 'refuse',
  body: jsonBody({ name: AccountName('For people.') }),
  responses: { 200: ApiKeyEntry },
  errors: ['bad-parameter', ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { apiKey, record } = done(await accounts.createApiKey(principal, given(body).name));
    return answer(200, presentApiKey(record, apiKey));
  },
});

const revokeApiKey = accountOperation({
  operationId: 'revokeApiKey',
  tag: 'API keys',
  summary: 'Revoke an API key',
  description: 'It is refused from the moment this is answered. The last good key cannot be revoked.',
  method: 'DELETE',
  path: '/v2/apikeys/{id}',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: RecordId('Id of the key.') }),
  responses: { 200: Ok },
  errors: ['bad-parameter', 'not-found', 'conflict'],
  async handle({ path }, { accounts }, principal) {
    done(await accounts.revokeApiKey(principal, path.id));
    return OK;
  },
});

const listAuditLogs = accountOperation({
  operationId: 'listAuditLogs',
  tag: 'Audit log',
  summary: 'What was changed in the accounts of the user, by whom, when and from where, newest first',
  method: 'GET',
  path: '/v2/auditlogs',
  otherPaths: ['/auditlogs'],
  unknownQuery: 'refuse',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Of the page before.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.auditPageMax,
        description: `Entries of a page; ${LIMITS.auditPageDefault} when absent.`,
      }),
    ),
  }),
  responses: { 200: AuditLogPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query }, { accounts, cursors }, principal) {
    const scope = { operation: 'listAuditLogs', instanceId: principal.user.userId, filters: {} };
    const after = query.cursor ? (await cursors.open(scope, query.cursor)).after : null;
    const limit = query.count ?? LIMITS.auditPageDefault;
    // One more than is shown tells whether there is a next page.
    const found = await accounts.auditLog(principal, { after, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const goesOn = last !== undefined && found.length > limit;
    const visible = (await accounts.accountsOf(principal)).map(({ accountId }) => accountId);
    return answer(200, {
      cursor: goesOn ? await cursors.seal(scope, { after: last.auditId, horizon: null, left: null }) : '',
      auditlogs: page.map((entry) => presentAudit(entry, visible)),
    });
  },
});

export const accountOperations: readonly Operation[] = [getAccount, listApiKeys, createApiKey, revokeApiKey, listAuditLogs];
