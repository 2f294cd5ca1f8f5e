/** Wire schemas of events and their waiters. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './fields/no-other-properties.js';

export const Waiter = Type.Object(
  {
    url: Type.String({ description: 'URL of the waiting workflow.' }),
    headers: Type.Record(Type.String(), Type.Array(Type.String())),
    deadline: Type.Integer({
      description: 'Time when the wait times out, in Unix seconds. 0 when the event is stored for a later wait.',
    }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Run that waits for an event.' },
);
export type Waiter = Static<typeof Waiter>;
export const Waiters = Type.Array(Waiter);

export const EventWaiter = Type.Object(
  {
    eventId: Type.String(),
    url: Type.String({ description: 'URL of the waiting workflow.' }),
    headers: Type.Record(Type.String(), Type.Array(Type.String())),
    deadline: Type.Integer({ description: 'Time when the wait times out, in Unix seconds.' }),
    workflowRunId: Type.String(),
    workflowCreatedAt: Type.Integer({ format: 'int64', description: 'Time when the run was created, in Unix milliseconds.' }),
    workflowUrl: Type.String(),
    stepName: Type.String(),
    since: Type.Integer({ format: 'int64', description: 'Time when the run started to wait, in Unix milliseconds.' }),
    deadlineAt: Type.Integer({ format: 'int64', description: 'Time when the wait times out, in Unix milliseconds.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Run that waits for an event, with the event and the step.' },
);
export type EventWaiter = Static<typeof EventWaiter>;
export const EventWaiterPage = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: 'Cursor for the next page; absent when there are no more results.' })),
    waiters: Type.Array(EventWaiter, { description: 'Waiters ordered by event id, then by waiting time, longest first.' }),
  },
  { ...NO_OTHER_PROPERTIES, description: 'One page of waiters.' },
);

export const NotifiedWaiter = Type.Object(
  {
    waiter: Waiter,
    messageId: Type.String(),
    kept: Type.Optional(
      Type.Literal(true, { description: 'The run does not wait for the event yet. The event is stored until it does.' }),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Run that was notified of an event.' },
);
export type NotifiedWaiter = Static<typeof NotifiedWaiter>;
export const NotifiedWaiters = Type.Array(NotifiedWaiter);

export const WebhookTaken = Type.Object({ status: Type.Literal('taken') }, NO_OTHER_PROPERTIES);
