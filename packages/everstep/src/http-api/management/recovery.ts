/** Operations that give a new API key to users who have no valid one. */
import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { RecordId, Recovered, RecoveryLink } from '../../contract/management.js';
import { WRITES_OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, type Operation, openOperation, respond } from '../operation.js';
import { admitSecret, SECRET_ERRORS } from './open-secrets.js';
import { CHANGE_ERRORS, jsonBody, NO_STORE_HEADERS, requiredBody, valueOrThrow } from './outcome.js';
import { toSeconds } from './presenters.js';

const TAG = 'Users';

const createRecoveryLink = accountOperation({
  operationId: 'createRecoveryLink',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Create a recovery link for a user',
  description:
    'Creates a secret that gives the user one new API key. The secret is valid for a day, can be used once and is shown once; pass it on to the user only. A new link replaces the previous one. Only for operators; other users get 404.',
  method: 'POST',
  path: '/v2/users/{id}/recovery',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: RecordId('Id of the user.') }),
  responses: { 200: RecoveryLink },
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    const { secret, expiresAt } = valueOrThrow(await accounts.createRecoveryLink(principal, path.id));
    return respond(200, { recovery_secret: secret, expiration_time: toSeconds(expiresAt) }, NO_STORE_HEADERS);
  },
});

const recoverUser = openOperation({
  operationId: 'recoverUser',
  audit: WRITES_OWN_ENTRY,
  tag: TAG,
  summary: 'Get a new API key with a recovery link',
  description: 'The response contains the key, which is shown once. Requires no authentication.',
  method: 'POST',
  path: '/v2/recover',
  unknownQuery: 'refuse',
  whileStopping: 'refuse',
  body: {
    ...jsonBody({
      secret: Type.String({ minLength: 1, maxLength: LIMITS.maxRecordIdLength, description: 'Secret of the recovery link.' }),
    }),
    maxBytes: LIMITS.maxLoginBodyBytes,
  },
  responses: { 200: Recovered },
  errors: SECRET_ERRORS,
  admit: admitSecret,
  async handle({ body, request }, { accounts }) {
    const { email, apiKey, record } = valueOrThrow(
      await accounts.recover({ secret: requiredBody(body).secret, address: request.callerIp }),
    );
    return respond(200, { id: record.apiKeyId, email, api_key: apiKey }, NO_STORE_HEADERS);
  },
});

export const recoveryOperations: readonly Operation[] = [createRecoveryLink, recoverUser];
