/** Wire schemas of events and their waiters. */
import Type, { type Static } from 'typebox';

const CLOSED = { additionalProperties: false } as const;

export const Waiter = Type.Object(
  {
    url: Type.String({ description: 'URL of the waiting workflow.' }),
    headers: Type.Record(Type.String(), Type.Array(Type.String())),
    deadline: Type.Integer({ description: 'When the wait times out, Unix seconds.' }),
  },
  CLOSED,
);

export const NotifiedWaiter = Type.Object({ waiter: Waiter, messageId: Type.String() }, CLOSED);
export type NotifiedWaiter = Static<typeof NotifiedWaiter>;
export const NotifiedWaiters = Type.Array(NotifiedWaiter);
