/** Operations of users at `/v2/users`, for operators. Users can delete themselves and end their own sessions. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { ApiKeyEntry, IdentityEntry, Ok, RecordId, UserPage } from '../../contract/management.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, respond } from '../operation.js';
import { Cursor } from '../parameters/values.js';
import { CHANGE_ERRORS, OK, valueOrThrow } from './outcome.js';
import { presentApiKey, toSeconds } from './presenters.js';

const TAG = 'Users';
const UserId = RecordId('Id of the user.');
const pathParameters = Type.Object({ id: UserId });
const OPERATORS_ONLY = 'Only for operators; other users get 404.';
const commonSettings = { tag: TAG, unknownQuery: 'refuse', responses: { 200: Ok } } as const;

const listUsers = accountOperation({
  operationId: 'listUsers',
  tag: TAG,
  summary: 'List the users of the installation',
  description: 'Returns users in the order of their creation. Only for operators.',
  method: 'GET',
  path: '/v2/users',
  unknownQuery: 'refuse',
  query: Type.Object({
    cursor: Type.Optional(Cursor('Cursor from the previous page.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.userPageMax,
        description: `Maximum number of users per page. Default: ${LIMITS.userPageDefault}.`,
      }),
    ),
  }),
  responses: { 200: UserPage },
  errors: ['bad-parameter', 'bad-cursor', 'forbidden'],
  async handle({ query }, { accounts, cursors }, principal) {
    const scope = { operation: 'listUsers', instanceId: principal.user.userId, filters: {} };
    const after = query.cursor ? (await cursors.open(scope, query.cursor)).after : null;
    // Cursors of earlier versions contain the id of a user.
    if (after !== null && !/^\d+$/.test(after))
      throw new ApiError('bad-cursor', 'the cursor is from an earlier version; omit it to start from the beginning');
    const limit = query.count ?? LIMITS.userPageDefault;
    const { items, next } = valueOrThrow(await accounts.listUsers(principal, { after, limit }));
    return respond(200, {
      cursor: next === null ? '' : await cursors.seal(scope, { after: next, horizon: null, remaining: null }),
      users: items.map(({ userId: id, email, createdAt, isOperator, disabledAt }) => ({
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
  ...commonSettings,
  operationId: 'disableUser',
  audit: WRITES_OWN_ENTRY,
  summary: 'Disable a user',
  description: `The user cannot sign in, and all sessions of the user end immediately. The recovery link of the user and pending invitations by the user are deleted. Memberships are kept. ${OPERATORS_ONLY}`,
  method: 'POST',
  path: '/v2/users/{id}/disable',
  pathParameters,
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.setUserDisabled(principal, { userId: path.id, disabled: true }));
    return OK;
  },
});

const enableUser = accountOperation({
  ...commonSettings,
  operationId: 'enableUser',
  audit: WRITES_OWN_ENTRY,
  summary: 'Enable a disabled user',
  description: `The user can sign in again. ${OPERATORS_ONLY}`,
  method: 'POST',
  path: '/v2/users/{id}/enable',
  pathParameters,
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.setUserDisabled(principal, { userId: path.id, disabled: false }));
    return OK;
  },
});

const deleteUser = accountOperation({
  ...commonSettings,
  operationId: 'deleteUser',
  audit: WRITES_OWN_ENTRY,
  summary: 'Delete a user',
  description:
    'Deletes the user with all API keys, sessions and memberships. The user must not own queue instances or search indexes. Audit log entries are kept. Only for operators and the user concerned.',
  method: 'DELETE',
  path: '/v2/users/{id}',
  pathParameters,
  query: Type.Object({
    hand_over_to: Type.Optional(
      RecordId(
        'Id of the user who becomes an owner of the teams that would otherwise have none. Must be a member of each of these teams.',
      ),
    ),
  }),
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path, query }, { accounts }, principal) {
    valueOrThrow(await accounts.deleteUser(principal, { userId: path.id, successorId: query.hand_over_to ?? null }));
    return OK;
  },
});

const grantOperator = accountOperation({
  ...commonSettings,
  operationId: 'grantOperator',
  audit: WRITES_OWN_ENTRY,
  summary: 'Grant the operator role',
  description: `Makes the user an operator of the installation. ${OPERATORS_ONLY}`,
  method: 'POST',
  path: '/v2/users/{id}/operator',
  pathParameters,
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.setOperator(principal, { userId: path.id, isOperator: true }));
    return OK;
  },
});

const revokeOperator = accountOperation({
  ...commonSettings,
  operationId: 'revokeOperator',
  audit: WRITES_OWN_ENTRY,
  summary: 'Revoke the operator role',
  description: `Fails with 409 for the last enabled operator. ${OPERATORS_ONLY}`,
  method: 'DELETE',
  path: '/v2/users/{id}/operator',
  pathParameters,
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.setOperator(principal, { userId: path.id, isOperator: false }));
    return OK;
  },
});

const listUserApiKeys = accountOperation({
  operationId: 'listUserApiKeys',
  tag: TAG,
  summary: 'List the API keys of a user',
  description:
    'Includes revoked keys. The response does not contain the keys themselves. Only for operators and the user concerned.',
  method: 'GET',
  path: '/v2/users/{id}/apikeys',
  unknownQuery: 'ignore',
  pathParameters,
  responses: { 200: Type.Array(ApiKeyEntry) },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path }, { accounts }, principal) {
    const keys = valueOrThrow(await accounts.listApiKeysOf(principal, path.id));
    return respond(
      200,
      keys.map((key) => presentApiKey(key)),
    );
  },
});

const revokeUserApiKey = accountOperation({
  ...commonSettings,
  operationId: 'revokeUserApiKey',
  audit: WRITES_OWN_ENTRY,
  summary: 'Revoke an API key of a user',
  description: `Sessions that were created with the key end, and the recovery link of the user is deleted. Unlike \`revokeApiKey\`, this can revoke the last valid key. ${OPERATORS_ONLY}`,
  method: 'DELETE',
  path: '/v2/users/{id}/apikeys/{key_id}',
  pathParameters: Type.Object({ id: UserId, key_id: RecordId('Id of the API key.') }),
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.revokeApiKeyOf(principal, { userId: path.id, apiKeyId: path.key_id }));
    return OK;
  },
});

const revokeUserApiKeys = accountOperation({
  ...commonSettings,
  operationId: 'revokeUserApiKeys',
  audit: WRITES_OWN_ENTRY,
  summary: 'Revoke all API keys of a user',
  description: `Also ends all sessions of the user, and deletes the recovery link of the user and the pending invitations by the user. ${OPERATORS_ONLY}`,
  method: 'DELETE',
  path: '/v2/users/{id}/apikeys',
  pathParameters,
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.revokeApiKeysOf(principal, path.id));
    return OK;
  },
});

const revokeUserSessions = accountOperation({
  ...commonSettings,
  operationId: 'revokeUserSessions',
  audit: WRITES_OWN_ENTRY,
  summary: 'End all sessions of a user',
  description: 'The user is signed out of all browsers. API keys stay valid. Only for operators and the user concerned.',
  method: 'DELETE',
  path: '/v2/users/{id}/sessions',
  pathParameters,
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.endSessionsOf(principal, path.id));
    return OK;
  },
});

const listUserIdentities = accountOperation({
  operationId: 'listUserIdentities',
  tag: TAG,
  summary: 'List the single sign-on identities of a user',
  description:
    'Returns the identities with which the user signs in, in the order in which they were linked. Only for operators and the user concerned.',
  method: 'GET',
  path: '/v2/users/{id}/identities',
  unknownQuery: 'ignore',
  pathParameters,
  responses: { 200: Type.Array(IdentityEntry) },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path }, { accounts }, principal) {
    const identities = valueOrThrow(await accounts.identitiesOf(principal, path.id));
    return respond(
      200,
      identities.map(({ identityId, issuer, subject, linkedAt }) => ({
        id: identityId,
        issuer,
        subject,
        creation_time: toSeconds(linkedAt),
      })),
    );
  },
});

const unlinkUserIdentity = accountOperation({
  ...commonSettings,
  operationId: 'unlinkUserIdentity',
  audit: WRITES_OWN_ENTRY,
  summary: 'Unlink a single sign-on identity of a user',
  description:
    'The identity can no longer sign in as the user. Sessions that were started with an identity provider end. Users cannot unlink their only identity while they have no valid API key. Only for operators and the user concerned.',
  method: 'DELETE',
  path: '/v2/users/{id}/identities/{identity_id}',
  pathParameters: Type.Object({ id: UserId, identity_id: RecordId('Id of the identity.') }),
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.unlinkIdentityOf(principal, { userId: path.id, identityId: path.identity_id }));
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
  revokeUserSessions,
  listUserIdentities,
  unlinkUserIdentity,
];
