/** Notifying workflows that wait for an event. */
import Type from 'typebox';
import { LIMITS } from '../../config/limits.js';
import { type NotifiedWaiter, NotifiedWaiters } from '../../contract/events.js';
import { answer, operation } from '../operation.js';
import { Text } from '../parameters/values.js';

/** The one place that finds waiters. There are none: no step of this version waits for an event. */
const takeWaiters = (_query: { readonly instanceId: string; readonly eventId: string }): NotifiedWaiter[] => [];

export const notifyEvent = operation({
  operationId: 'notifyEvent',
  tag: 'Events',
  summary: 'Notify workflows that wait for an event',
  description: 'The array is empty when no workflow waits for the event.',
  method: 'POST',
  path: '/v2/notify/{eventId}',
  unknownQuery: 'ignore',
  pathParameters: Type.Object({ eventId: Text(LIMITS.maxEventIdLength, { description: 'ID of the event' }) }),
  body: { kind: 'bytes', description: 'Event data, passed to the notified workflows; optional.' },
  responses: { 200: NotifiedWaiters },
  errors: ['bad-parameter', 'body-too-large'],
  handle: ({ path: { eventId } }, _context, { instanceId }) => answer(200, takeWaiters({ instanceId, eventId })),
});
