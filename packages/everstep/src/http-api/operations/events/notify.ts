/** Notifies runs that wait for an event, and lists the waiters of an event. */

import { type EventContent, readTraceContext } from '@everstep/sdk/protocol';
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { NotifiedWaiters, Waiters } from '../../../contract/events.js';
import { allowSize } from '../../admission/plan-limits.js';
import { RECORDED_BY_EVENT } from '../../audited/audit-rule.js';
import { operation, type RequestContext, respond } from '../../operation.js';
import { readValue } from '../../parameters/read-value.js';
import { InvalidValueError, quoteValue } from '../../parameters/value-errors.js';
import { StoredText, Text } from '../../parameters/values.js';
import { optional } from '../../presenters/optional.js';
import { presentNotifiedWaiter, presentStoredEvent, presentWaiter } from '../../presenters/waiter.js';
import { encodeBody } from '../../responses/encoded-bytes.js';
import { requireRun } from '../runs/runs.js';
import { stringOrNull } from '../triggers/trigger.js';

/** Text of error messages for the limits on the stored events of a run. */
export const STORED_EVENT_LIMITS = `${LIMITS.maxKeptEvents} events, or ${LIMITS.maxKeptEventBytes} bytes in total`;

const EventId = StoredText(LIMITS.maxEventIdLength, { description: 'Id of the event, percent-encoded.' });

/** Reads an event id. Throws ApiError when it is invalid. */
export function readEventId(text: string): string {
  try {
    return String(readValue(EventId, text));
  } catch (error) {
    if (error instanceof InvalidValueError) throw new ApiError(error.code ?? 'bad-parameter', `eventId ${error.message}`);
    throw error;
  }
}

const EVENT_BODY = {
  kind: 'bytes',
  maxBytes: LIMITS.maxEventBytes,
  description: 'Event data: any bytes, optional. Passed to the notified runs with its Content-Type.',
} as const;

function contentOf(data: Uint8Array, { headers }: RequestContext): EventContent {
  const contentType = stringOrNull(headers['content-type']);
  return {
    kind: 'data',
    body: encodeBody(data),
    ...(contentType === null ? {} : { contentType }),
    ...optional('trace', readTraceContext(headers)),
  };
}

export const notifyEvent = operation({
  operationId: 'notifyEvent',
  audit: RECORDED_BY_EVENT,
  scope: 'notify',
  tag: 'Events',
  summary: 'Notify workflows that wait for an event',
  description: 'Notifies every waiting run exactly once. The array is empty when no run waits for the event.',
  method: 'POST',
  path: '/v2/notify/{eventId}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({ eventId: EventId }),
  body: EVENT_BODY,
  responses: { 200: NotifiedWaiters },
  errors: ['bad-parameter', 'body-too-large'],
  async handle({ path: { eventId }, body: data, request }, context, { instanceId }) {
    allowSize(context, instanceId, data);
    const outcome = await context.service.events.notify({
      instanceId,
      eventId,
      workflowRunId: null,
      content: contentOf(data, request),
    });
    if (outcome.kind !== 'notified') throw new Error(`a notification of all waiters cannot end as ${outcome.kind}`);
    return respond(200, outcome.notified.map(presentNotifiedWaiter));
  },
});

export const notifyRun = operation({
  operationId: 'notifyRun',
  audit: RECORDED_BY_EVENT,
  scope: 'notify',
  tag: 'Events',
  summary: 'Notify a run of an event',
  description:
    'If the run does not wait for the event yet, the event is stored until it does. The response then has `kept: true`, a deadline of 0 and the id of the stored event.',
  method: 'POST',
  path: '/v2/notify/{workflowRunId}/{eventId}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({
    workflowRunId: Text(LIMITS.maxRunIdLength, { description: 'Id of the run, percent-encoded.' }),
    eventId: EventId,
  }),
  body: EVENT_BODY,
  responses: { 200: NotifiedWaiters },
  errors: ['bad-parameter', 'body-too-large', 'not-found', 'run-not-active', 'too-many-events'],
  async handle({ path: { workflowRunId, eventId }, body: data, request }, context, { instanceId }) {
    const { service, reads } = context;
    allowSize(context, instanceId, data);
    const outcome = await service.events.notify({ instanceId, eventId, workflowRunId, content: contentOf(data, request) });
    switch (outcome.kind) {
      case 'notified':
        return respond(200, outcome.notified.map(presentNotifiedWaiter));
      case 'kept': {
        const run = await requireRun(reads.runs, { instanceId, workflowRunId });
        return respond(200, [presentStoredEvent(run, outcome.messageId)]);
      }
      case 'run-not-found':
        throw new ApiError('not-found', `run ${quoteValue(workflowRunId)} not found`);
      case 'run-not-active':
        throw new ApiError('run-not-active', `run ${quoteValue(workflowRunId)} has already ended and cannot be notified`);
      case 'too-many-kept':
        throw new ApiError(
          'too-many-events',
          `run ${quoteValue(workflowRunId)} has reached the limit of stored events (${STORED_EVENT_LIMITS}); make the run wait for some of them first, or send fewer`,
        );
    }
  },
});

export const listWaiters = operation({
  operationId: 'listWaiters',
  tag: 'Events',
  summary: 'List the waiters of an event',
  description: 'Returns the runs that wait for the event, longest wait first.',
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
        description: 'Maximum number of waiters to return.',
      }),
    ),
  }),
  responses: { 200: Waiters },
  errors: ['bad-parameter'],
  async handle({ path: { eventId }, query: { count } }, { reads }, { instanceId }) {
    const limit = count ?? LIMITS.waitersPageMax;
    const waiters = await reads.events.listWaiters({ instanceId, eventId, after: null, limit });
    return respond(200, waiters.map(presentWaiter));
  },
});
