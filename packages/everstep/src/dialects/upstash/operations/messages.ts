/** Messages that are under way: looking at one, canceling one or many. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { bulkChange, change } from '../../../http-api/audited/audit-rule.js';
import { type ApiContext, answer, type Operation, operation } from '../../../http-api/operation.js';
import { isEmptyRange } from '../../../http-api/operations/filters.js';
import { shown } from '../../../http-api/parameters/unacceptable.js';
import { Text } from '../../../http-api/parameters/values.js';
import type { MessageFilter } from '../../../runtime/workflow-service.js';
import { FILTERS_BODY, filtersOf } from './body-filters.js';
import { messageFilterOf, messageFilters } from './message-filters.js';
import { presentMessage } from './present-message.js';
import { Cancelled, MessageEntry } from './shapes.js';

const TAG = 'Messages';
/** Messages that are canceled in one turn. */
const PAGE = 100;

const MessagePath = Type.Object({ messageId: Text(LIMITS.maxRunIdLength, { description: 'ID of the message' }) });
const noSuchMessage = (messageId: string): ApiError =>
  new ApiError(
    'not-found',
    `there is no message ${shown(messageId)} under way: it was delivered, has failed or was canceled, or it was never there`,
  );

const getMessage = operation({
  operationId: 'getMessage',
  tag: TAG,
  summary: 'Get a message',
  description: 'While it is under way. What became of it afterwards is in the logs and in the dead letter queue.',
  method: 'GET',
  path: '/v2/messages/{messageId}',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  pathParameters: MessagePath,
  responses: { 200: MessageEntry },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { messageId }, request }, { service, store }, { instanceId }) {
    const message = await service.message({ instanceId, messageId });
    if (message?.run.status !== 'active') throw noSuchMessage(messageId);
    const runKey = message.run.key;
    await request.reserve((await store.payloadHead({ runKey }))?.bodyBytes ?? 0);
    const payload = await store.loadPayload({ runKey });
    if (payload === null) throw noSuchMessage(messageId);
    return answer(200, presentMessage(message, payload));
  },
});

const cancelMessage = operation({
  operationId: 'cancelMessage',
  audit: change('message.cancel', 'messageId'),
  tag: TAG,
  summary: 'Cancel a message',
  description: 'A request that is in flight is given up; it may have arrived.',
  method: 'DELETE',
  path: '/v2/messages/{messageId}',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  pathParameters: MessagePath,
  responses: { 202: Cancelled },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { messageId } }, { service }, { instanceId }) {
    const outcome = await service.cancelMessage({ instanceId, messageId });
    if (outcome.kind !== 'canceled') throw noSuchMessage(messageId);
    return answer(202, { cancelled: 1 });
  },
});

/** By page, because a filter may hit very many. */
async function cancelMatching(filter: MessageFilter, { service }: ApiContext, instanceId: string): Promise<number> {
  let cancelled = 0;
  let after: string | null = null;
  do {
    const page = await service.cancelMessages({ instanceId, filter, after, limit: PAGE });
    cancelled += page.canceled;
    after = page.next;
  } while (after !== null);
  return cancelled;
}

const CancelQuery = Type.Object({
  ...messageFilters,
  count: Type.Optional(Type.Integer({ minimum: 1, description: 'Not looked at: all that match are canceled.' })),
  async: Type.Optional(Type.Boolean({ description: 'false; canceling is done when it is answered.' })),
});

const cancelMessages = operation({
  operationId: 'cancelMessages',
  audit: bulkChange('message.cancel-many'),
  tag: TAG,
  summary: 'Cancel many messages',
  description:
    'Those that match every given filter; without any, all that are under way. It is done when this is answered, however many there are. Beside messageIds other filters are ignored. An unknown parameter is refused, because a misspelt filter would hit everything.',
  method: 'DELETE',
  path: '/v2/messages',
  dialect: 'upstash',
  unknownQuery: 'refuse',
  query: CancelQuery,
  body: FILTERS_BODY,
  responses: { 202: Cancelled },
  errors: ['bad-parameter', 'bad-body', 'body-too-large', 'unsupported-media-type'],
  async handle({ query: inQuery, body, request }, context, { instanceId }) {
    const { asked: query, nothing } = filtersOf(CancelQuery, inQuery, body, request);
    if (query.async === true)
      throw new ApiError('bad-parameter', 'canceling is done when it is answered, so there is no async=true; leave it out');
    const asked = query.messageIds ? { messageIds: query.messageIds } : query;
    if (nothing || isEmptyRange(asked)) return answer(202, { cancelled: 0 });
    return answer(202, {
      cancelled: await cancelMatching({ ...messageFilterOf(asked), statuses: ['active'] }, context, instanceId),
    });
  },
});

export const messageOperations: readonly Operation[] = [getMessage, cancelMessage, cancelMessages];
