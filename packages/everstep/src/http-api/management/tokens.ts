/** Operations of the tokens of a queue instance at `/v2/queue/tokens`. */

import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { AccountName, Ok, RecordId, TokenEntry, TokenScopes } from '../../contract/management.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, respond } from '../operation.js';
import { BODY_ERRORS, CHANGE_ERRORS, jsonBody, OK, requiredBody, valueOrThrow } from './outcome.js';
import { presentToken } from './presenters.js';

const TAG = 'Tokens';
const InstanceId = RecordId('Id of the queue instance.');
const TokenPath = Type.Object({ id: InstanceId, token_id: RecordId('Id of the token.') });
const MAX_LIFETIME_S = LIMITS.maxTokenLifetimeMs / 1_000;

const listTokens = accountOperation({
  operationId: 'listTokens',
  tag: TAG,
  summary: 'List the tokens of a queue instance',
  description: 'Includes revoked and expired tokens for 90 days. The response does not contain the tokens themselves.',
  method: 'GET',
  path: '/v2/queue/tokens/{id}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({ id: InstanceId }),
  responses: { 200: Type.Array(TokenEntry) },
  errors: ['bad-parameter', 'not-found', 'forbidden'],
  async handle({ path }, { accounts }, principal) {
    const tokens = valueOrThrow(await accounts.listTokens(principal, path.id));
    return respond(
      200,
      tokens.map((token) => presentToken(token)),
    );
  },
});

const createToken = accountOperation({
  operationId: 'createToken',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Create a named token',
  description: 'The response contains the token, which is shown once: Everstep stores only a hash of it.',
  method: 'POST',
  path: '/v2/queue/tokens/{id}',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: InstanceId }),
  body: jsonBody({
    name: AccountName('Display name, such as the name of the app that uses the token.'),
    scopes: TokenScopes,
    expires_in_seconds: Type.Optional(
      Type.Integer({
        minimum: 60,
        maximum: MAX_LIFETIME_S,
        description: 'Lifetime in seconds. Default: the token does not expire.',
      }),
    ),
  }),
  responses: { 200: TokenEntry },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ path, body }, { accounts }, principal) {
    const { name, scopes, expires_in_seconds: seconds } = requiredBody(body);
    const lifetimeMs = seconds === undefined ? null : seconds * 1_000;
    const { token, view } = valueOrThrow(
      await accounts.createToken(principal, { instanceId: path.id, name, scopes, lifetimeMs }),
    );
    return respond(200, presentToken(view, token));
  },
});

const rotateToken = accountOperation({
  operationId: 'rotateToken',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Replace a named token',
  description:
    'Creates a token with the same name, scopes and lifetime. The old token stays valid for `overlap_seconds`, so that all clients can switch to the new one. A replaced token cannot be rotated again: rotate its replacement.',
  method: 'POST',
  path: '/v2/queue/tokens/{id}/{token_id}/rotate',
  unknownQuery: 'refuse',
  pathParameters: TokenPath,
  body: jsonBody({
    overlap_seconds: Type.Integer({
      minimum: 0,
      maximum: MAX_LIFETIME_S,
      description: 'Time in seconds for which the old token stays valid. 0 revokes it immediately.',
    }),
  }),
  responses: { 200: TokenEntry },
  errors: [...CHANGE_ERRORS, ...BODY_ERRORS, 'conflict'],
  async handle({ path, body }, { accounts }, principal) {
    const overlapMs = requiredBody(body).overlap_seconds * 1_000;
    const outcome = await accounts.rotateToken(principal, { instanceId: path.id, tokenId: path.token_id, overlapMs });
    const { token, view } = valueOrThrow(outcome);
    return respond(200, presentToken(view, token));
  },
});

const revokeToken = accountOperation({
  operationId: 'revokeToken',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Revoke a token',
  description: 'The token is rejected immediately. Also revokes the tokens that were created together with the queue instance.',
  method: 'DELETE',
  path: '/v2/queue/tokens/{id}/{token_id}',
  unknownQuery: 'refuse',
  pathParameters: TokenPath,
  responses: { 200: Ok },
  errors: CHANGE_ERRORS,
  async handle({ path }, { accounts }, principal) {
    valueOrThrow(await accounts.revokeToken(principal, { instanceId: path.id, tokenId: path.token_id }));
    return OK;
  },
});

export const tokenOperations: readonly Operation[] = [listTokens, createToken, rotateToken, revokeToken];
