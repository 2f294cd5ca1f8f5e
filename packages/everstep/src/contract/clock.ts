/** Wire schemas of the clock, where it can be moved on. */
import Type from 'typebox';

const CLOSED = { additionalProperties: false } as const;

const Now = Type.Integer({ description: "Unix ms on the service's clock." });

export const ClockState = Type.Object({ now: Now, virtual: Type.Literal(true) }, CLOSED);

export const ClockMove = Type.Object(
  {
    by: Type.Optional(Type.String({ description: 'A duration such as `7d` or `1d12h`; a bare number is seconds.' })),
    to: Type.Optional(Type.Integer({ description: 'Unix ms.' })),
  },
  CLOSED,
);

export const ClockMoved = Type.Object(
  { now: Now, fired: Type.Integer({ minimum: 0, description: 'How many timers fell due on the way.' }) },
  CLOSED,
);
