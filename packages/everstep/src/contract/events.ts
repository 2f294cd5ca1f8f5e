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
