/** Signature settings of a queue instance: origins, message keys and public keys. */

import Type, { type Static } from 'typebox';
import type { SignatureSettings } from '../../../accounts/instances/instance-signatures.js';
import { readSignedOrigin } from '../../../accounts/instances/signed-origins.js';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { KeySetSchema, SignatureSettingsPatch, SignatureSettingsSchema } from '../../../contract/signatures.js';
import { secretRead, WRITES_OWN_ENTRY } from '../../audited/audit-rule.js';
import { type ApiContext, openOperation, operation, respond } from '../../operation.js';
import { Text } from '../../parameters/values.js';

/** Time for which caches may keep public keys. A key is published as the next key before it is used to sign. */
const KEY_SET_MAX_AGE_S = 300;

type SignatureSettingsBody = Static<typeof SignatureSettingsSchema>;

const presentSettings = ({ publicUrl }: ApiContext, instanceId: string, settings: SignatureSettings): SignatureSettingsBody => {
  const { origins, workflowOrigins, messageKeys, publicKeys } = settings;
  const ed25519 = publicKeys && { jwksUrl: `${publicUrl()}/v2/jwks/${instanceId}`, ...publicKeys };
  return { origins: origins && [...origins], workflowOrigins: [...workflowOrigins], messageKeys, ed25519 };
};

function parseOrigins(origins: readonly string[]): readonly string[] {
  const parsedOrigins = origins.map((text, index) => {
    const origin = readSignedOrigin(text);
    if (origin !== null) return origin;
    throw new ApiError(
      'bad-body',
      `"origins[${index}]" must be an origin such as "https://app.example.com", "https://*.example.com" for all subdomains, or "*" for all origins`,
    );
  });
  return [...new Set(parsedOrigins)];
}

export const getSignatureSettings = operation({
  operationId: 'getSignatureSettings',
  audit: secretRead('queue.read-message-keys'),
  tag: 'Signing keys',
  summary: 'Get the signature settings',
  description:
    'The response contains the message keys. Anyone who has them can forge plain messages, so read-only tokens are rejected.',
  method: 'GET',
  needsReadWrite: true,
  path: '/v2/signatures',
  unknownQuery: 'ignore',
  responses: { 200: SignatureSettingsSchema },
  errors: ['not-found'],
  async handle(_input, context, { instanceId }) {
    const settings = await context.authority.signatureSettings(instanceId);
    if (!settings) throw new ApiError('not-found', 'queue instance not found');
    return respond(200, presentSettings(context, instanceId, settings));
  },
});

export const updateSignatureSettings = operation({
  operationId: 'updateSignatureSettings',
  audit: WRITES_OWN_ENTRY,
  tag: 'Signing keys',
  summary: 'Update the signature settings',
  description: 'Fields that are absent keep their value. Returns all settings.',
  method: 'PUT',
  path: '/v2/signatures',
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: SignatureSettingsPatch },
  responses: { 200: SignatureSettingsSchema },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ body = {}, request }, context, { instanceId, actor }) {
    const { origins, ...otherSettings } = body;
    const change = { ...otherSettings, ...(origins === undefined ? {} : { origins: origins && parseOrigins(origins) }) };
    const author = { actor, address: request.callerIp };
    return respond(
      200,
      presentSettings(context, instanceId, await context.authority.changeSignatureSettings(instanceId, change, author)),
    );
  },
});

export const rotateKeyPairs = operation({
  operationId: 'rotateKeyPairs',
  audit: WRITES_OWN_ENTRY,
  tag: 'Signing keys',
  summary: 'Rotate the Ed25519 key pairs',
  description:
    'The next key pair becomes the current one, and a new next key pair is created. The change takes effect immediately.',
  method: 'POST',
  path: '/v2/signatures/rotate',
  unknownQuery: 'refuse',
  responses: { 200: SignatureSettingsSchema },
  errors: ['bad-parameter', 'conflict'],
  async handle({ request }, context, { instanceId, actor }) {
    const settings = await context.authority.rotateKeyPairs(instanceId, { actor, address: request.callerIp });
    if (settings) return respond(200, presentSettings(context, instanceId, settings));
    throw new ApiError('conflict', 'the queue instance has no Ed25519 signatures; enable them first with PUT /v2/signatures');
  },
});

export const getPublicKeys = openOperation({
  operationId: 'getPublicKeys',
  tag: 'Signing keys',
  summary: 'Get the public keys of a queue instance',
  description:
    'Endpoints use the keys to verify Ed25519 signatures. Requires no token. Returns 404 if the queue instance has no Ed25519 signatures.',
  method: 'GET',
  path: '/v2/jwks/{instanceId}',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  pathParameters: Type.Object({ instanceId: Text(LIMITS.maxRecordIdLength, { description: 'Id of the queue instance.' }) }),
  responses: { 200: KeySetSchema },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { instanceId } }, { authority }) {
    const settings = await authority.signatureSettings(instanceId);
    if (!settings?.publicKeys) throw new ApiError('not-found', 'the queue instance does not exist or has no Ed25519 signatures');
    const { current, next } = settings.publicKeys;
    return respond(200, { keys: [current, next] }, { 'cache-control': `public, max-age=${KEY_SET_MAX_AGE_S}` });
  },
});
