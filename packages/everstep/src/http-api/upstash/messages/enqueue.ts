/** Publishes a message to a queue. */

import Type from 'typebox';
import { ApiError } from '../../../contract/error-codes.js';
import { RECORDED_BY_RUN } from '../../audited/audit-rule.js';
import { type Operation, operation, respond } from '../../operation.js';
import { destinationOf } from '../../operations/triggers/trigger.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { ENQUEUE_PATH } from '../../server/target.js';
import { Published, PublishedToGroup } from '../shapes.js';
import { publishOne } from './publish-items.js';

/** Reads the queue name in `/v2/enqueue/{queue}/{destination}`. Throws ApiError. */
function queueOf(path: string): { readonly queue: string; readonly prefix: string } {
  const afterPrefix = path.slice(ENQUEUE_PATH.length);
  const slashIndex = afterPrefix.indexOf('/');
  if (slashIndex <= 0) throw new ApiError('bad-parameter', 'the path must be /v2/enqueue/{queue}/{destination}');
  const encodedQueue = afterPrefix.slice(0, slashIndex);
  try {
    return { queue: decodeURIComponent(encodedQueue), prefix: `${ENQUEUE_PATH}${encodedQueue}/` };
  } catch {
    throw new ApiError('bad-parameter', `the queue name is not correctly percent-encoded: ${quoteValue(encodedQueue)}`);
  }
}

const enqueue = operation({
  operationId: 'enqueueMessage',
  audit: RECORDED_BY_RUN,
  scope: 'trigger',
  tag: 'Messages',
  summary: 'Enqueue a message',
  description:
    'Adds a message to a queue. The messages of a queue are sent in order, each after the previous one has ended. The queue is created if it does not exist.',
  method: 'POST',
  path: `${ENQUEUE_PATH}{queueName}/{destination}`,
  dialect: 'upstash',
  unknownQuery: 'part-of-path',
  pathParameters: Type.Object({
    queueName: Type.String({ description: 'Name of the queue.' }),
    destination: Type.String({
      description: 'Absolute http or https URL, raw or percent-encoded, or the name of a URL group.',
    }),
  }),
  body: { kind: 'bytes', description: 'Sent to the destination unchanged: any bytes, of any content type.' },
  responses: { 200: Type.Union([Published, PublishedToGroup]) },
  errors: [
    'bad-parameter',
    'bad-header',
    'bad-url',
    'bad-expression',
    'blocked-address',
    'budget-exceeded',
    'storage-quota-exceeded',
    'too-many-flow-control-keys',
    'too-many-queues',
    'body-too-large',
    'daily-limit-reached',
    'too-many-active-runs',
    'not-found',
  ],
  async handle({ body, request }, context, caller) {
    const { headers, target } = request;
    const { queue, prefix } = queueOf(target.path);
    const item = { destination: destinationOf(target, prefix), headers, body, queue };
    return respond(200, await publishOne(item, context, request, caller));
  },
});

export const enqueueOperations: readonly Operation[] = [enqueue];
