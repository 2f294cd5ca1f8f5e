/** Wire schemas of the virtual clock. */
import Type from 'typebox';
import { NO_OTHER_PROPERTIES } from '../fields/no-other-properties.js';

const Now = Type.Integer({ description: 'Current time of the virtual clock, in Unix milliseconds.' });

export const ClockState = Type.Object({ now: Now, virtual: Type.Literal(true) }, NO_OTHER_PROPERTIES);

export const ClockMove = Type.Object(
  {
    by: Type.Optional(
      Type.String({
        description: 'How far to advance the clock: a duration such as `7d` or `1d12h`. A number without a unit is in seconds.',
      }),
    ),
    to: Type.Optional(Type.Integer({ description: 'Time to advance the clock to, in Unix milliseconds.' })),
  },
  NO_OTHER_PROPERTIES,
);

export const ClockMoved = Type.Object(
  { now: Now, fired: Type.Integer({ minimum: 0, description: 'Number of timers that became due while the clock advanced.' }) },
  NO_OTHER_PROPERTIES,
);
