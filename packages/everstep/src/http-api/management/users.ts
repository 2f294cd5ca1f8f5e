/** Users, for operators: the operations at `/v2/users`. A user may delete itself and end its own sessions. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiKeyEntry, Ok, RecordId, UserPage } from '../../contract/management.js';
import { OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, answer, type Operation } from '../operation.js';
import { Cursor } from '../parameters/values.js';
import { CHANGE_ERRORS, done, OK } from './outcome.js';
import { presentApiKey, toSeconds } from './presenters.js';

const TAG = 'Users';
const userId = RecordId('Id of the user.');
const pathParameters = Type.Object({ id: userId });
const NOT_OPERATOR = 'For operators; 404 for others.';
const shared = { tag: TAG, unknownQuery: 'refuse', responses: { 200: Ok } } as const;

const listUsers = accountOperation({
  operationId: 'listUsers',
  tag: TAG,
  summary: 'List the users of the installation, by creation',
  description: 'For operators.',
  method: 'GET',
  path: '/v2/users',
  unknownQuery: 'refuse',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Of the page before.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.userPageMax,
        description: `Users of a page; ${LIMITS.userPageDefault} when absent.`,
      }),
    ),
  }),
  responses: { 200: UserPage },
  errors: ['bad-parameter', 'bad-cursor', 'forbidden'],
  async handle({ query }, { accounts, cursors }, principal) {
    const scope = { operation: 'listUsers', instanceId: principal.user.userId, filters: {} };
    const after = query.cursor ? (await cursors.open(scope, query.cursor)).after : null;
    const limit = query.count ?? LIMITS.userPageDefault;
    // One more than is shown tells whether there is a next page.
    const found = done(await accounts.listUsers(principal, { after, limit: limit + 1 }));
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return answer(200, {
      cursor:
        last !== undefined && found.length > limit
          ? await cursors.seal(scope, { after: last.userId, horizon: null, left: null })
          : '',
      users: page.map(({ userId: id, email, createdAt, isOperator, disabledAt }) => ({
        id,
        email,
        creation_time: toSeconds(createdAt),
        is_operator: isOperator === true,
        ...(disabledAt === undefined ? {} : { disabled_time: toSeconds(disabledAt) }),
      })),
    });
  },
});

const disableUser = accountOperation({
  ...shared,
  operationId: 'disableUser',
  audit: OWN_ENTRY,
  summary: 'Disable a user',
  description: `The user cannot log in, and its sessions end at once. Its memberships stay. ${NOT_OPERATOR}`,
  method: 'POST',
  path: '/v2/users/{id}/disable',
  pathParameters,
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    done(await accounts.setUserDisabled(principal, { userId: path.id, disabled: true }));
    return OK;
  },
});

const enableUser = accountOperation({
  ...shared,
  operationId: 'enableUser',
  audit: OWN_ENTRY,
  summary: 'Enable a user who was disabled',
  description: NOT_OPERATOR,
  method: 'POST',
  path: '/v2/users/{id}/enable',
  pathParameters,
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    done(await accounts.setUserDisabled(principal, { userId: path.id, disabled: false }));
    return OK;
  },
});

const deleteUser = accountOperation({
  ...shared,
  operationId: 'deleteUser',
  audit: OWN_ENTRY,
  summary: 'Delete a user',
  description:
    'Deletes its API keys, sessions and memberships. It must own no queue instance and no search index. For operators, and for the user itself. Entries of the audit log stay.',
  method: 'DELETE',
  path: '/v2/users/{id}',
  pathParameters,
  query: Type.Object({
    hand_over_to: Type.Optional(
      RecordId('Id of the user who becomes an owner of the teams that would be without one; a member of each of them.'),
    ),
  }),
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path, query }, { accounts }, principal) {
    done(await accounts.deleteUser(principal, { userId: path.id, successorId: query.hand_over_to ?? null }));
    return OK;
  },
});

const grantOperator = accountOperation({
  ...shared,
  operationId: 'grantOperator',
  audit: OWN_ENTRY,
  summary: 'Make a user an operator of the installation',
  description: NOT_OPERATOR,
  method: 'POST',
  path: '/v2/users/{id}/operator',
  pathParameters,
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    done(await accounts.setOperator(principal, { userId: path.id, isOperator: true }));
    return OK;
  },
});

const revokeOperator = accountOperation({
  ...shared,
  operationId: 'revokeOperator',
  audit: OWN_ENTRY,
  summary: 'Take the operator role from a user',
  description: `One operator who is not disabled stays. ${NOT_OPERATOR}`,
  method: 'DELETE',
  path: '/v2/users/{id}/operator',
  pathParameters,
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    done(await accounts.setOperator(principal, { userId: path.id, isOperator: false }));
    return OK;
  },
});

const listUserApiKeys = accountOperation({
  operationId: 'listUserApiKeys',
  tag: TAG,
  summary: 'List the API keys of a user, revoked ones too',
  description: 'For operators, and for the user itself.',
  method: 'GET',
  path: '/v2/users/{id}/apikeys',
  unknownQuery: 'ignore',
  pathParameters,
  responses: { 200: Type.Array(ApiKeyEntry) },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path }, { accounts }, principal) {
    const keys = done(await accounts.listApiKeysOf(principal, path.id));
    return answer(
      200,
      keys.map((key) => presentApiKey(key)),
    );
  },
});

const revokeUserApiKey = accountOperation({
  ...shared,
  operationId: 'revokeUserApiKey',
  audit: OWN_ENTRY,
  summary: 'Revoke an API key of a user',
  description: `Sessions that were started with it end. The last good key can be revoked too. ${NOT_OPERATOR}`,
  method: 'DELETE',
  path: '/v2/users/{id}/apikeys/{key_id}',
  pathParameters: Type.Object({ id: userId, key_id: RecordId('Id of the key.') }),
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    done(await accounts.revokeApiKeyOf(principal, { userId: path.id, apiKeyId: path.key_id }));
    return OK;
  },
});

const revokeUserApiKeys = accountOperation({
  ...shared,
  operationId: 'revokeUserApiKeys',
  audit: OWN_ENTRY,
  summary: 'Revoke all API keys of a user and end its sessions',
  description: NOT_OPERATOR,
  method: 'DELETE',
  path: '/v2/users/{id}/apikeys',
  pathParameters,
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    done(await accounts.revokeApiKeysOf(principal, path.id));
    return OK;
  },
});

const endUserSessions = accountOperation({
  ...shared,
  operationId: 'endUserSessions',
  audit: OWN_ENTRY,
  summary: 'End all sessions of a user',
  description: 'For operators, and for the user itself.',
  method: 'DELETE',
  path: '/v2/users/{id}/sessions',
  pathParameters,
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    done(await accounts.endSessionsOf(principal, path.id));
    return OK;
  },
});

export const userOperations: readonly Operation[] = [
  listUsers,
  disableUser,
  enableUser,
  deleteUser,
  grantOperator,
  revokeOperator,
  listUserApiKeys,
  revokeUserApiKey,
  revokeUserApiKeys,
  endUserSessions,
];
