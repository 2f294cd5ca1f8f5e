/** Wire schemas of the virtual clock. */
import Type from 'typebox';

const CLOSED = { additionalProperties: false } as const;

const Now = Type.Integer({ description: 'Current time of the virtual clock, in Unix milliseconds.' });

export const ClockState = Type.Object({ now: Now, virtual: Type.Literal(true) }, CLOSED);

export const ClockMove = Type.Object(
  {
    by: Type.Optional(
      Type.String({
        description: 'How far to advance the clock: a duration such as `7d` or `1d12h`. A number without a unit is in seconds.',
      }),
    ),
    to: Type.Optional(Type.Integer({ description: 'Time to advance the clock to, in Unix milliseconds.' })),
  },
  CLOSED,
);

export const ClockMoved = Type.Object(
  { now: Now, fired: Type.Integer({ minimum: 0, description: 'Number of timers that became due while the clock advanced.' }) },
  CLOSED,
);
