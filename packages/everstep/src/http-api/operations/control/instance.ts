/** Settings and signing keys of the queue instance. */

import { InstanceSettingsPatch, InstanceSettingsSchema, SigningKeysSchema } from '../../../contract/service.js';
import type { InstanceSettings, RetentionRule, RetentionState } from '../../../engine/runs/run.js';
import { change, secretRead, WRITES_OWN_ENTRY } from '../../audited/audit-rule.js';
import { operation, respond } from '../../operation.js';

export const getSigningKeys = operation({
  operationId: 'getSigningKeys',
  audit: secretRead('queue.read-signing-keys'),
  tag: 'Signing keys',
  summary: 'Get the signing keys',
  description:
    'Requests to workflows are signed with the current key. Anyone who has the key can forge requests, so read-only tokens are rejected.',
  method: 'GET',
  needsReadWrite: true,
  path: '/v2/keys',
  unknownQuery: 'ignore',
  responses: { 200: SigningKeysSchema },
  errors: [],
  handle: (_input, { authority }, { instanceId }) => respond(200, authority.signingKeys(instanceId)),
});

export const rotateSigningKeys = operation({
  operationId: 'rotateSigningKeys',
  audit: WRITES_OWN_ENTRY,
  tag: 'Signing keys',
  summary: 'Rotate the signing keys',
  description: 'The next key becomes the current key, and a new next key is created. The change takes effect immediately.',
  method: 'POST',
  path: '/v2/keys/rotate',
  unknownQuery: 'refuse',
  responses: { 200: SigningKeysSchema },
  errors: ['bad-parameter'],
  handle: async ({ request }, { authority }, { instanceId, actor }) =>
    respond(200, await authority.rotateSigningKeys(instanceId, { actor, address: request.callerIp })),
});

export const getSettings = operation({
  operationId: 'getSettings',
  tag: 'Settings',
  summary: 'Get the settings of the queue instance',
  description: 'Returns the circuit breaker and retention settings.',
  method: 'GET',
  path: '/v2/settings',
  unknownQuery: 'ignore',
  responses: { 200: InstanceSettingsSchema },
  errors: [],
  handle: async (_input, { service }, { instanceId }) => respond(200, await service.settings.instanceSettings({ instanceId })),
});

/** Returns the settings with the changes applied. Absent fields keep their value. */
function applyPatch(settings: InstanceSettings, { breaker, retention = {} }: InstanceSettingsPatch): InstanceSettings {
  const rule = (state: RetentionState): RetentionRule => ({ ...settings.retention[state], ...retention[state] });
  return {
    breaker: { ...settings.breaker, ...breaker },
    retention: {
      succeeded: rule('succeeded'),
      failed: rule('failed'),
      canceled: rule('canceled'),
      deadLetter: rule('deadLetter'),
    },
  };
}

export const updateSettings = operation({
  operationId: 'updateSettings',
  audit: change('settings.change'),
  tag: 'Settings',
  summary: 'Update the settings of the queue instance',
  description: 'Fields that are absent keep their value. Returns all settings.',
  method: 'PUT',
  path: '/v2/settings',
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: InstanceSettingsPatch },
  responses: { 200: InstanceSettingsSchema },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ body = {} }, { service }, { instanceId }) {
    const update = (settings: InstanceSettings) => applyPatch(settings, body);
    return respond(200, await service.settings.changeInstanceSettings({ instanceId, update }));
  },
});
