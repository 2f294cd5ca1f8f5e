/** Recovery of users who have no API key that is good any more. */
import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { RecordId, Recovered, RecoveryLink } from '../../contract/management.js';
import { OWN_ENTRY } from '../audited/audit-rule.js';
import { accountOperation, answer, type Operation, openOperation } from '../operation.js';
import { admitSecret, SECRET_ERRORS } from './open-secrets.js';
import { CHANGE_ERRORS, done, given, jsonBody, NOT_CACHED } from './outcome.js';
import { toSeconds } from './presenters.js';

const TAG = 'Users';

const createRecoveryLink = accountOperation({
  operationId: 'createRecoveryLink',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Create a recovery link for a user',
  description:
    'The secret gives the user one new API key, once and within a day. It is shown this once; pass it on to the user only. A new link replaces the one before. For operators; 404 for others.',
  method: 'POST',
  path: '/v2/users/{id}/recovery',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({ id: RecordId('Id of the user.') }),
  responses: { 200: RecoveryLink },
  errors: [...CHANGE_ERRORS, 'conflict'],
  async handle({ path }, { accounts }, principal) {
    const { secret, expiresAt } = done(await accounts.createRecoveryLink(principal, path.id));
    return answer(200, { recovery_secret: secret, expiration_time: toSeconds(expiresAt) }, NOT_CACHED);
  },
});

const recover = openOperation({
  operationId: 'recover',
  audit: OWN_ENTRY,
  tag: TAG,
  summary: 'Use a recovery link: get a new API key',
  description: 'Without a login. The key is in the answer, once.',
  method: 'POST',
  path: '/v2/recover',
  unknownQuery: 'refuse',
  whileStopping: 'refuse',
  body: {
    ...jsonBody({
      secret: Type.String({ minLength: 1, maxLength: LIMITS.maxRecordIdLength, description: 'The secret of the recovery link.' }),
    }),
    maxBytes: LIMITS.maxLoginBodyBytes,
  },
  responses: { 200: Recovered },
  errors: SECRET_ERRORS,
  admit: admitSecret,
  async handle({ body, request }, { accounts }) {
    const { email, apiKey, record } = done(await accounts.recover({ secret: given(body).secret, address: request.callerIp }));
    return answer(200, { id: record.apiKeyId, email, api_key: apiKey }, NOT_CACHED);
  },
});

export const recoveryOperations: readonly Operation[] = [createRecoveryLink, recover];
