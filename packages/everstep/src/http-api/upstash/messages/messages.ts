/** Messages in progress: get one, and cancel one or many. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { MESSAGE_FILTERS } from '../../../contract/filters/message-filters.js';
import type { MessageFilter } from '../../../runtime/services/workflow-service.js';
import { bulkChange, change } from '../../audited/audit-rule.js';
import { type ApiContext, type Operation, operation, respond } from '../../operation.js';
import { isEmptyRange } from '../../operations/filters.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Text } from '../../parameters/values.js';
import { FILTERS_BODY, filtersOf } from '../body-filters.js';
import { CanceledMessages, MessageEntry } from '../shapes.js';
import { presentMessage } from './present-message.js';

const TAG = 'Messages';
/** Number of messages that one call cancels. */
const PAGE_SIZE = 100;

const MessagePath = Type.Object({ messageId: Text(LIMITS.maxRunIdLength, { description: 'Id of the message' }) });
const noSuchMessage = (messageId: string): ApiError =>
  new ApiError(
    'not-found',
    `no pending message has the id ${quoteValue(messageId)}: it was delivered, failed or canceled, or it never existed`,
  );

const getMessage = operation({
  operationId: 'getMessage',
  tag: TAG,
  summary: 'Get a message',
  description:
    'Returns a message that is still in progress. For a message that has ended, see the logs and the dead letter queue.',
  method: 'GET',
  path: '/v2/messages/{messageId}',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: MessagePath,
  responses: { 200: MessageEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { messageId }, request }, { service, reads }, { instanceId }) {
    const message = await service.messages.find({ instanceId, messageId });
    if (message?.run.status !== 'active') throw noSuchMessage(messageId);
    const runKey = message.run.key;
    await request.reserve((await reads.runs.payloadHead({ runKey }))?.bodyBytes ?? 0);
    const payload = await reads.runs.loadPayload({ runKey });
    if (payload === null) throw noSuchMessage(messageId);
    return respond(200, presentMessage(message, payload));
  },
});

const cancelMessage = operation({
  operationId: 'cancelMessage',
  audit: change('message.cancel', 'messageId'),
  tag: TAG,
  summary: 'Cancel a message',
  description: 'Aborts a request in flight, which may already have arrived.',
  method: 'DELETE',
  path: '/v2/messages/{messageId}',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: MessagePath,
  responses: { 202: CanceledMessages },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { messageId } }, { service }, { instanceId }) {
    const outcome = await service.messages.cancel({ instanceId, messageId });
    if (outcome.kind !== 'canceled') throw noSuchMessage(messageId);
    return respond(202, { cancelled: 1 });
  },
});

/** Cancels page by page, because a filter can match a large number of messages. */
async function cancelMatching(filter: MessageFilter, { service }: ApiContext, instanceId: string): Promise<number> {
  let canceledCount = 0;
  let after: string | null = null;
  do {
    const page = await service.messages.cancelAll({ instanceId, filter, after, limit: PAGE_SIZE });
    canceledCount += page.canceled;
    after = page.next;
  } while (after !== null);
  return canceledCount;
}

const CancelQuery = Type.Object({
  ...queryFilters(MESSAGE_FILTERS),
  count: Type.Optional(Type.Integer({ minimum: 1, description: 'Ignored: all matching messages are canceled.' })),
  async: Type.Optional(Type.Boolean({ description: 'Must be false: messages are canceled before the response is sent.' })),
});

const cancelMessages = operation({
  operationId: 'cancelMessages',
  audit: bulkChange('message.cancel-many'),
  tag: TAG,
  summary: 'Cancel many messages',
  description:
    'Cancels the messages that match every filter, or all messages in progress if there is no filter. All of them are canceled before the response is sent. With messageIds, other filters are ignored. An unknown parameter is rejected, because a misspelled filter would match everything.',
  method: 'DELETE',
  path: '/v2/messages',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  query: CancelQuery,
  body: FILTERS_BODY,
  responses: { 202: CanceledMessages },
  errors: ['bad-parameter', 'bad-body', 'body-too-large', 'unsupported-media-type'],
  async handle({ query: receivedQuery, body, request }, context, { instanceId }) {
    const { query, matchesNothing } = filtersOf(CancelQuery, receivedQuery, body, request);
    if (query.async === true) throw new ApiError('bad-parameter', 'canceling is always synchronous; omit async=true');
    const filters = query.messageIds ? { messageIds: query.messageIds } : query;
    if (matchesNothing || isEmptyRange(filters)) return respond(202, { cancelled: 0 });
    return respond(202, {
      cancelled: await cancelMatching({ ...storeFilterOf(MESSAGE_FILTERS, filters), statuses: ['active'] }, context, instanceId),
    });
  },
});

export const messageOperations: readonly Operation[] = [getMessage, cancelMessage, cancelMessages];
