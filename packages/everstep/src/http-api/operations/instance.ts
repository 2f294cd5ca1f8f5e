/** What belongs to the queue instance: its settings and its signing keys. */

import { InstanceSettingsPatch, InstanceSettingsSchema, SigningKeysSchema } from '../../contract/service.js';
import type { InstanceSettings, RetentionRule, RetentionState } from '../../engine/run.js';
import { change, OWN_ENTRY, secretRead } from '../audited/audit-rule.js';
import { answer, operation } from '../operation.js';

export const getSigningKeys = operation({
  operationId: 'getSigningKeys',
  audit: secretRead('queue.read-signing-keys'),
  tag: 'Signing keys',
  summary: 'Get the signing keys',
  description:
    'Requests to workflows are signed with the current key. Whoever has it can forge them, so a token that may only read does not get it.',
  method: 'GET',
  needsReadWrite: true,
  path: '/v2/keys',
  unknownQuery: 'ignore',
  responses: { 200: SigningKeysSchema },
  errors: [],
  handle: (_input, { authority }, { instanceId }) => answer(200, authority.signingKeys(instanceId)),
});

export const rotateSigningKeys = operation({
  operationId: 'rotateSigningKeys',
  audit: OWN_ENTRY,
  tag: 'Signing keys',
  summary: 'Rotate the signing keys',
  description: 'The next key becomes the current one, and a new next key is made. Requests are signed with it at once.',
  method: 'POST',
  path: '/v2/keys/rotate',
  unknownQuery: 'refuse',
  responses: { 200: SigningKeysSchema },
  errors: ['bad-parameter'],
  handle: async ({ request }, { authority }, { instanceId, actor }) =>
    answer(200, await authority.rotateSigningKeys(instanceId, { actor, address: request.callerIp })),
});

export const getSettings = operation({
  operationId: 'getSettings',
  tag: 'Settings',
  summary: 'Get the settings of the queue instance',
  method: 'GET',
  path: '/v2/settings',
  unknownQuery: 'ignore',
  responses: { 200: InstanceSettingsSchema },
  errors: [],
  handle: async (_input, { service }, { instanceId }) => answer(200, await service.instanceSettings({ instanceId })),
});

/** What is absent stays. */
function changed(settings: InstanceSettings, { breaker, retention = {} }: InstanceSettingsPatch): InstanceSettings {
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

export const changeSettings = operation({
  operationId: 'changeSettings',
  audit: change('settings.change'),
  tag: 'Settings',
  summary: 'Change the settings of the queue instance',
  description: 'What is absent stays as it is. Answers with all of them.',
  method: 'PUT',
  path: '/v2/settings',
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: InstanceSettingsPatch },
  responses: { 200: InstanceSettingsSchema },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type'],
  async handle({ body = {} }, { service }, { instanceId }) {
    const settings = changed(await service.instanceSettings({ instanceId }), body);
    await service.changeInstanceSettings({ instanceId, settings });
    return answer(200, settings);
  },
});
