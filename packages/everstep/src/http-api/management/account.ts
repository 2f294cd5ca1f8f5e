/** Operations about the current user and its API keys. */

import Type from 'typebox';
import { AccountEntry, AccountName, ApiKeyEntry, Ok, RecordId } from '../../contract/management.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, respond } from '../operation.js';
import { BODY_ERRORS, jsonBody, OK, requiredBody, valueOrThrow } from './outcome.js';
import { presentApiKey, toSeconds } from './presenters.js';

const getAccount = accountOperation({
  operationId: 'getAccount',
  tag: 'Account',
  summary: 'Get the current user',
  description: 'Returns the user who makes the request and the accounts that the user can access.',
  method: 'GET',
  path: '/v2/account',
  unknownQuery: 'ignore',
  responses: { 200: AccountEntry },
  errors: [],
  async handle(_input, { accounts }, principal) {
    const { userId, email, createdAt } = principal.user;
    const visibleAccounts = await accounts.accountsOf(principal);
    return respond(200, {
      id: userId,
      customer_id: userId,
      email,
      creation_time: toSeconds(createdAt),
      accounts: visibleAccounts.map(({ accountId, role }) => ({ id: accountId, role })),
    });
  },
});

const listApiKeys = accountOperation({
  operationId: 'listApiKeys',
  tag: 'API keys',
  summary: 'List your API keys',
  description: 'Includes revoked keys. The response does not contain the keys themselves.',
  method: 'GET',
  path: '/v2/apikeys',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(ApiKeyEntry) },
  errors: [],
  async handle(_input, { accounts }, principal) {
    const records = await accounts.listApiKeys(principal);
    return respond(
      200,
      records.map((record) => presentApiKey(record)),
    );
  },
});

const createApiKey = accountOperation({
  operationId: 'createApiKey',
  audit: WRITES_OWN_ENTRY,
  tag: 'API keys',
  summary: 'Create an API key',
  description: 'The response contains the key. Store it: Everstep stores only a hash of it and cannot show it again.',
  method: 'POST',
  path: '/v2/apikeys',
  unknownQuery: 'refuse',
  body: jsonBody({ name: AccountName('Display name of the key.') }),
  responses: { 200: ApiKeyEntry },
  errors: ['bad-parameter', ...BODY_ERRORS, 'conflict'],
  async handle({ body }, { accounts }, principal) {
    const { apiKey, record } = valueOrThrow(await accounts.createApiKey(principal, requiredBody(body).name));
    return respond(200, presentApiKey(record, apiKey));
  },
});

const revokeApiKey = accountOperation({
  operationId: 'revokeApiKey',
  audit: WRITES_OWN_ENTRY,
  tag: 'API keys',
  summary: 'Revoke an API key',
  description: 'The key is rejected immediately, and your recovery link is deleted. You cannot revoke your last valid key.',
  method: 'DELETE',
  path: '/v2/apikeys/{id}',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: RecordId('Id of the API key.') }),
  responses: { 200: Ok },
  errors: ['bad-parameter', 'not-found', 'conflict'],
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.revokeApiKey(principal, path.id));
    return OK;
  },
});

export const accountOperations: readonly Operation[] = [getAccount, listApiKeys, createApiKey, revokeApiKey];
