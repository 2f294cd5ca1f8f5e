/** Operations on queues, which send messages in the order in which they were enqueued. */

import Type, { type Static } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { Empty } from '../../../contract/empty.js';
import { ApiError } from '../../../contract/error-codes.js';
import { NO_OTHER_PROPERTIES } from '../../../contract/fields/no-other-properties.js';
import type { QueueStatus } from '../../../runtime/services/workflow-service.js';
import { change } from '../../audited/audit-rule.js';
import { type Operation, operation, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Text } from '../../parameters/values.js';
import { assertObjectQuota } from '../../quotas/named-objects.js';
import { QueueEntry } from '../shapes.js';
import { checkName } from './message-command.js';

const TAG = 'Queues';
const NAME_SUBJECT = 'the name of a queue';
const QueuePath = Type.Object({ queueName: Text(LIMITS.maxQueueNameLength, { description: 'Name of the queue' }) });
const noSuchQueue = (name: string): ApiError =>
  new ApiError('not-found', `queue ${quoteValue(name)} does not exist; the first message that is enqueued in it creates it`);

const present = ({ name, createdAt, updatedAt, parallelism, paused, lag }: QueueStatus): Static<typeof QueueEntry> => ({
  name,
  createdAt,
  updatedAt,
  parallelism,
  paused,
  lag,
});

const upsertQueue = operation({
  operationId: 'upsertQueue',
  audit: change('message-queue.put', 'queueName'),
  tag: TAG,
  summary: 'Create or change a queue',
  description: 'Omitted fields stay unchanged. A new queue sends one message at a time.',
  method: 'POST',
  path: '/v2/queues',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  body: {
    kind: 'json',
    required: true,
    schema: Type.Object(
      {
        queueName: Type.String({ description: 'Letters, digits, hyphens, periods and underscores.' }),
        parallelism: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: LIMITS.maxParallelism,
            description: 'Number of messages sent at the same time; with 1, messages arrive in order.',
          }),
        ),
        paused: Type.Optional(Type.Boolean()),
      },
      NO_OTHER_PROPERTIES,
    ),
  },
  responses: { 200: Empty },
  errors: ['bad-parameter', 'bad-body', 'unsupported-media-type', 'too-many-queues'],
  async handle({ body }, context, { instanceId }) {
    if (!body) throw new ApiError('bad-body', 'the request body is missing; send a JSON object');
    const { queueName, ...settings } = body;
    const name = checkName(queueName, NAME_SUBJECT);
    await assertObjectQuota(context, instanceId, 'queue', name);
    await context.service.queues.put({ instanceId, name, ...settings });
    return respond(200, undefined);
  },
});

const listQueues = operation({
  operationId: 'listMessageQueues',
  tag: TAG,
  summary: 'List queues',
  description: 'Returns all queues with their settings and the number of waiting messages.',
  method: 'GET',
  path: '/v2/queues',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  responses: { 200: Type.Array(QueueEntry) },
  errors: [],
  handle: async (_input, { service }, { instanceId }) => respond(200, (await service.queues.list({ instanceId })).map(present)),
});

const getQueue = operation({
  operationId: 'getMessageQueue',
  tag: TAG,
  summary: 'Get a queue',
  description: 'Returns the queue with its settings and the number of waiting messages.',
  method: 'GET',
  path: '/v2/queues/{queueName}',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: QueuePath,
  responses: { 200: QueueEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { queueName: name } }, { service }, { instanceId }) {
    const queue = await service.queues.find({ instanceId, name: checkName(name, NAME_SUBJECT) });
    if (!queue) throw noSuchQueue(name);
    return respond(200, present(queue));
  },
});

const deleteQueue = operation({
  operationId: 'deleteMessageQueue',
  audit: change('message-queue.delete', 'queueName'),
  tag: TAG,
  summary: 'Delete a queue',
  description:
    'Pauses the queue, cancels the messages that wait in it, and deletes it. If the request fails, the queue may remain paused; repeat the request.',
  method: 'DELETE',
  path: '/v2/queues/{queueName}',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: QueuePath,
  responses: { 200: Empty },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { queueName: name } }, { service }, { instanceId }) {
    if (!(await service.queues.delete({ instanceId, name: checkName(name, NAME_SUBJECT) }))) throw noSuchQueue(name);
    return respond(200, undefined);
  },
});

const pauseOperation = (action: 'pause' | 'resume', summary: string, description: string): Operation =>
  operation({
    operationId: `${action}MessageQueue`,
    audit: change(`message-queue.${action}`, 'queueName'),
    tag: TAG,
    summary,
    description,
    method: 'POST',
    path: `/v2/queues/{queueName}/${action}`,
    dialect: 'upstash',
    unknownQuery: 'refuse',
    pathParameters: QueuePath,
    responses: { 200: Empty },
    errors: ['bad-parameter', 'not-found'],
    async handle({ path: { queueName: name } }, { service }, { instanceId }) {
      if (!(await service.queues.find({ instanceId, name: checkName(name, NAME_SUBJECT) }))) throw noSuchQueue(name);
      await service.queues.put({ instanceId, name, paused: action === 'pause' });
      return respond(200, undefined);
    },
  });

export const queueOperations: readonly Operation[] = [
  upsertQueue,
  listQueues,
  getQueue,
  deleteQueue,
  pauseOperation(
    'pause',
    'Pause a queue',
    'The queue accepts messages but sends none until it is resumed. Deliveries in flight continue.',
  ),
  pauseOperation('resume', 'Resume a queue', 'Waiting messages are sent in the order in which they were enqueued.'),
];
