/** Operations on URL groups. A message that is published to a group is sent to each of its endpoints. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { Empty } from '../../../contract/empty.js';
import { ApiError, type ErrorCode } from '../../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../../contract/fields/no-other-properties.js';
import { patternOption } from '../../../contract/patterns.js';
import type { UrlGroup } from '../../../engine/runs/run.js';
import { change } from '../../audited/audit-rule.js';
import { type Operation, operation, respond } from '../../operation.js';
import { checkDestination, type DestinationContext } from '../../operations/triggers/setting-headers.js';
import { workflowUrlOf } from '../../operations/triggers/trigger-command.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Text } from '../../parameters/values.js';
import { optional } from '../../presenters/optional.js';
import { assertObjectQuota } from '../../quotas/named-objects.js';
import { UrlGroupEntry } from '../shapes.js';
import { checkName } from './message-command.js';

const TAG = 'URL groups';
const NAME_SUBJECT = 'the name of a URL group';
const GroupPath = Type.Object({ urlGroupName: Text(LIMITS.maxQueueNameLength, { description: 'Name of the URL group' }) });
const ENDPOINTS = '/v2/topics/{urlGroupName}/endpoints';
const BODY_ERRORS: readonly ErrorCode[] = ['bad-parameter', 'bad-body', 'unsupported-media-type'];
const groupNotFound = (name: string): ApiError =>
  new ApiError('not-found', `URL group ${quoteValue(name)} does not exist; add an endpoint to create it`);
const endpointName = Text(LIMITS.maxQueueNameLength, { ...patternOption('storable'), description: 'Name of the endpoint' });

const present = ({ name, createdAt, updatedAt, endpoints }: UrlGroup): UrlGroupEntry => ({
  name,
  createdAt,
  updatedAt,
  endpoints: endpoints.map((endpoint) => ({ ...optional('name', endpoint.name), url: endpoint.url })),
});

function checkUrl(text: string, index: number, destinationContext: DestinationContext): string {
  const url = workflowUrlOf({ destination: text, destinationName: `the url of endpoint ${index}` });
  checkDestination(url, null, destinationContext);
  return url;
}

const addEndpoints = operation({
  operationId: 'addUrlGroupEndpoints',
  audit: change('url-group.add-endpoints', 'urlGroupName'),
  tag: TAG,
  summary: 'Add endpoints to a URL group',
  description: 'Creates the group if it does not exist. An endpoint with the name or URL of an existing one replaces it.',
  method: 'POST',
  path: ENDPOINTS,
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: GroupPath,
  body: {
    kind: 'json',
    required: true,
    maxBytes: LIMITS.maxBodyBytes,
    schema: Type.Object(
      {
        endpoints: Type.Array(Type.Object({ url: Type.String(), name: Type.Optional(endpointName) }, NO_OTHER_PROPERTIES), {
          minItems: 1,
          maxItems: LIMITS.maxGroupEndpoints,
        }),
      },
      NO_OTHER_PROPERTIES,
    ),
  },
  responses: { 200: Empty },
  errors: [...BODY_ERRORS, 'bad-url', 'blocked-address', 'conflict', 'too-many-url-groups'],
  async handle({ path: { urlGroupName }, body, request }, context, { instanceId }) {
    const name = checkName(urlGroupName, NAME_SUBJECT);
    const endpoints = (body?.endpoints ?? []).map((endpoint, index) => ({
      name: endpoint.name ?? null,
      url: checkUrl(endpoint.url, index, { context, request, instanceId }),
    }));
    await assertObjectQuota(context, instanceId, 'url-group', name);
    const group = await context.service.urlGroups.addEndpoints({ instanceId, name, endpoints });
    if (group === 'too-many-endpoints')
      throw new ApiError('conflict', `a URL group can have at most ${LIMITS.maxGroupEndpoints} endpoints; remove some first`);
    return respond(200, undefined);
  },
});

const removeEndpoints = operation({
  operationId: 'removeUrlGroupEndpoints',
  audit: change('url-group.remove-endpoints', 'urlGroupName'),
  tag: TAG,
  summary: 'Remove endpoints from a URL group',
  description: 'Endpoints are identified by name or URL. A group without endpoints is deleted.',
  method: 'DELETE',
  path: ENDPOINTS,
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: GroupPath,
  body: {
    kind: 'json',
    required: true,
    maxBytes: LIMITS.maxBodyBytes,
    schema: Type.Object(
      {
        endpoints: Type.Array(
          Type.Object({ url: Type.Optional(Type.String()), name: Type.Optional(endpointName) }, NO_OTHER_PROPERTIES),
          { minItems: 1, maxItems: LIMITS.maxGroupEndpoints },
        ),
      },
      NO_OTHER_PROPERTIES,
    ),
  },
  responses: { 200: Empty },
  errors: [...BODY_ERRORS, 'not-found'],
  async handle({ path: { urlGroupName }, body }, { service }, { instanceId }) {
    const name = checkName(urlGroupName, NAME_SUBJECT);
    const endpoints = body?.endpoints ?? [];
    const unidentifiedIndex = endpoints.findIndex((endpoint) => endpoint.name === undefined && endpoint.url === undefined);
    if (unidentifiedIndex !== -1) throw new ApiError('bad-body', `endpoint ${unidentifiedIndex} requires a name or a url`);
    if (!(await service.urlGroups.removeEndpoints({ instanceId, name, endpoints }))) throw groupNotFound(name);
    return respond(200, undefined);
  },
});

const listGroups = operation({
  operationId: 'listUrlGroups',
  tag: TAG,
  summary: 'List URL groups',
  description: 'Returns all URL groups with their endpoints.',
  method: 'GET',
  path: '/v2/topics',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(UrlGroupEntry) },
  errors: [],
  handle: async (_input, { service }, { instanceId }) =>
    respond(200, (await service.urlGroups.list({ instanceId })).map(present)),
});

const getGroup = operation({
  operationId: 'getUrlGroup',
  tag: TAG,
  summary: 'Get a URL group',
  description: 'Returns the URL group with its endpoints.',
  method: 'GET',
  path: '/v2/topics/{urlGroupName}',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: GroupPath,
  responses: { 200: UrlGroupEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { urlGroupName } }, { service }, { instanceId }) {
    const name = checkName(urlGroupName, NAME_SUBJECT);
    const group = await service.urlGroups.find({ instanceId, name });
    if (!group) throw groupNotFound(name);
    return respond(200, present(group));
  },
});

const deleteGroup = operation({
  operationId: 'deleteUrlGroup',
  audit: change('url-group.delete', 'urlGroupName'),
  tag: TAG,
  summary: 'Delete a URL group',
  description: 'Messages that were already published to the group are still delivered.',
  method: 'DELETE',
  path: '/v2/topics/{urlGroupName}',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: GroupPath,
  responses: { 200: Empty },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { urlGroupName } }, { service }, { instanceId }) {
    const name = checkName(urlGroupName, NAME_SUBJECT);
    if (!(await service.urlGroups.delete({ instanceId, name }))) throw groupNotFound(name);
    return respond(200, undefined);
  },
});

export const urlGroupOperations: readonly Operation[] = [addEndpoints, removeEndpoints, listGroups, getGroup, deleteGroup];
