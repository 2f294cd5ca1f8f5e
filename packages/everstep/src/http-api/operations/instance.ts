/** What belongs to the queue instance: flow control keys and signing keys. */
import { FlowControls, SigningKeysSchema } from '../../contract/service.js';
import { answer, operation } from '../operation.js';

export const listFlowControls = operation({
  operationId: 'listFlowControls',
  tag: 'Flow control',
  summary: 'List flow control keys',
  description: 'With the number of messages that wait for each.',
  method: 'GET',
  path: '/v2/flowControl/',
  otherPaths: ['/v2/flowControl'],
  unknownQuery: 'ignore',
  responses: { 200: FlowControls },
  errors: [],
  async handle(_input, { store }, { instanceId }) {
    const flowControls = await store.listFlowControls({ instanceId });
    return answer(200, {
      flowControls: flowControls.map(({ flowControlKey, waitListSize }) => ({ flowControlKey, waitListSize })),
    });
  },
});

export const getSigningKeys = operation({
  operationId: 'getSigningKeys',
  tag: 'Signing keys',
  summary: 'Get the signing keys',
  description: 'Requests to workflows are signed with the current key.',
  method: 'GET',
  path: '/v2/keys',
  unknownQuery: 'ignore',
  responses: { 200: SigningKeysSchema },
  errors: [],
  handle: (_input, { authority }, { instanceId }) => answer(200, authority.signingKeys(instanceId)),
});

export const rotateSigningKeys = operation({
  operationId: 'rotateSigningKeys',
  tag: 'Signing keys',
  summary: 'Rotate the signing keys',
  description: 'The next key becomes the current one, and a new next key is made. Requests are signed with it at once.',
  method: 'POST',
  path: '/v2/keys/rotate',
  unknownQuery: 'refuse',
  responses: { 200: SigningKeysSchema },
  errors: ['bad-parameter'],
  handle: async (_input, { authority }, { instanceId }) => answer(200, await authority.rotateSigningKeys(instanceId)),
});
