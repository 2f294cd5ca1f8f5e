/** Wire schemas of events and their waiters. */
import Type, { type Static } from 'typebox';

const CLOSED = { additionalProperties: false } as const;

export const Waiter = Type.Object(
  {
    url: Type.String({ description: 'URL of the waiting workflow.' }),
    headers: Type.Record(Type.String(), Type.Array(Type.String())),
    deadline: Type.Integer({
      description: 'When the wait times out, Unix seconds; 0 when the event is kept for a wait to come.',
    }),
  },
  CLOSED,
);
export type Waiter = Static<typeof Waiter>;
export const Waiters = Type.Array(Waiter);

export const EventWaiter = Type.Object(
  {
    eventId: Type.String(),
    url: Type.String({ description: 'URL of the waiting workflow.' }),
    headers: Type.Record(Type.String(), Type.Array(Type.String())),
    deadline: Type.Integer({ description: 'When the wait times out, Unix seconds.' }),
    workflowRunId: Type.String(),
    workflowCreatedAt: Type.Integer({ format: 'int64', description: 'Creation of the run, Unix ms' }),
    workflowUrl: Type.String(),
    stepName: Type.String(),
    since: Type.Integer({ format: 'int64', description: 'When it began to wait, Unix ms' }),
    deadlineAt: Type.Integer({ format: 'int64', description: 'When the wait times out, Unix ms' }),
  },
  CLOSED,
);
export type EventWaiter = Static<typeof EventWaiter>;
export const EventWaiterPage = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: 'Where the next page begins; absent at the end.' })),
    waiters: Type.Array(EventWaiter, { description: 'By event id, then who has waited longest.' }),
  },
  CLOSED,
);

export const NotifiedWaiter = Type.Object(
  {
    waiter: Waiter,
    messageId: Type.String(),
    kept: Type.Optional(Type.Literal(true, { description: 'The run does not wait for it yet: it has it kept.' })),
  },
  CLOSED,
);
export type NotifiedWaiter = Static<typeof NotifiedWaiter>;
export const NotifiedWaiters = Type.Array(NotifiedWaiter);

export const WebhookTaken = Type.Object({ status: Type.Literal('taken') }, CLOSED);
