/** Notifying workflows that wait for an event, and seeing who waits. */

import type { EventContent } from '@everstep/sdk/protocol';
import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { NotifiedWaiters, Waiters } from '../../contract/events.js';
import { allowSize } from '../allowance.js';
import { IS_AN_EVENT } from '../audited/audit-rule.js';
import { encodedBody } from '../encoded-bytes.js';
import { answer, operation, type RequestContext } from '../operation.js';
import { readValue } from '../parameters/read-value.js';
import { shown, Unacceptable } from '../parameters/unacceptable.js';
import { KeptText, Text } from '../parameters/values.js';
import { presentKept, presentNotified, presentWaiter } from '../presenters/waiter.js';
import { requireRun } from './runs.js';
import { stringOrNull } from './trigger.js';

/** In words, for whoever sends one too many. */
export const KEPT_MOST = `${LIMITS.maxKeptEvents}, or ${LIMITS.maxKeptEventBytes} bytes in all`;

const EventId = KeptText(LIMITS.maxEventIdLength, { description: 'ID of the event, percent-encoded' });

/** Throws ApiError. */
export function readEventId(text: string): string {
  try {
    return String(readValue(EventId, text));
  } catch (error) {
    if (error instanceof Unacceptable) throw new ApiError(error.code ?? 'bad-parameter', `eventId ${error.message}`);
    throw error;
  }
}

const body = {
  kind: 'bytes',
  maxBytes: LIMITS.maxEventBytes,
  description: 'Event data, passed to the notified workflows with its Content-Type; any bytes, optional.',
} as const;

function contentOf(data: Uint8Array, { headers }: RequestContext): EventContent {
  const contentType = stringOrNull(headers['content-type']);
  return { kind: 'data', body: encodedBody(data), ...(contentType === null ? {} : { contentType }) };
}

export const notifyEvent = operation({
  operationId: 'notifyEvent',
  audit: IS_AN_EVENT,
  scope: 'notify',
  tag: 'Events',
  summary: 'Notify workflows that wait for an event',
  description: 'Every run that waits, exactly once. The array is empty when no workflow waits for the event.',
  method: 'POST',
  path: '/v2/notify/{eventId}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({ eventId: EventId }),
  body,
  responses: { 200: NotifiedWaiters },
  errors: ['bad-parameter', 'body-too-large'],
  async handle({ path: { eventId }, body: data, request }, context, { instanceId }) {
    allowSize(context, instanceId, data);
    const outcome = await context.service.notify({ instanceId, eventId, workflowRunId: null, content: contentOf(data, request) });
    if (outcome.kind !== 'notified') throw new Error(`a notification of everybody cannot end as ${outcome.kind}`);
    return answer(200, outcome.notified.map(presentNotified));
  },
});

export const notifyRun = operation({
  operationId: 'notifyRun',
  audit: IS_AN_EVENT,
  scope: 'notify',
  tag: 'Events',
  summary: 'Notify one run of an event, now or when it waits for it',
  description:
    'A run that does not wait for the event yet has it kept, and takes it when it comes to wait for it; it is answered with kept: true, a deadline of 0, and the ID of the kept event.',
  method: 'POST',
  path: '/v2/notify/{workflowRunId}/{eventId}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({
    workflowRunId: Text(LIMITS.maxRunIdLength, { description: 'ID of the run, percent-encoded' }),
    eventId: EventId,
  }),
  body,
  responses: { 200: NotifiedWaiters },
  errors: ['bad-parameter', 'body-too-large', 'not-found', 'run-not-active', 'too-many-events'],
  async handle({ path: { workflowRunId, eventId }, body: data, request }, context, { instanceId }) {
    const { service, store } = context;
    allowSize(context, instanceId, data);
    const outcome = await service.notify({ instanceId, eventId, workflowRunId, content: contentOf(data, request) });
    switch (outcome.kind) {
      case 'notified':
        return answer(200, outcome.notified.map(presentNotified));
      case 'kept': {
        const run = await requireRun(store, { instanceId, workflowRunId });
        return answer(200, [presentKept(run, outcome.messageId)]);
      }
      case 'run-not-found':
        throw new ApiError('not-found', `there is no run ${shown(workflowRunId)}`);
      case 'run-not-active':
        throw new ApiError('run-not-active', `the run ${shown(workflowRunId)} has ended already, so nothing can reach it`);
      case 'too-many-kept':
        throw new ApiError(
          'too-many-events',
          `the run ${shown(workflowRunId)} has as many events kept that it has not waited for as it may (${KEPT_MOST}), and takes no more`,
        );
    }
  },
});

export const listWaiters = operation({
  operationId: 'listWaiters',
  tag: 'Events',
  summary: 'List workflows that wait for an event',
  description: 'Who has waited longest first.',
  method: 'GET',
  path: '/v2/waiters/{eventId}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({ eventId: EventId }),
  query: Type.Object({
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.waitersPageMax,
        default: LIMITS.waitersPageMax,
        description: 'Waiters to return.',
      }),
    ),
  }),
  responses: { 200: Waiters },
  errors: ['bad-parameter'],
  async handle({ path: { eventId }, query: { count } }, { store }, { instanceId }) {
    const limit = count ?? LIMITS.waitersPageMax;
    const waiters = await store.listWaiters({ instanceId, eventId, after: null, limit });
    return answer(200, waiters.map(presentWaiter));
  },
});
