/** Wire schemas of errors that the code of an app throws. */
import Type, { type Static } from 'typebox';
import { NO_OTHER_PROPERTIES } from './no-other-properties.js';

/** Location in the user's own code where an error was thrown. */
export const ErrorSource = Type.Object(
  {
    file: Type.String({
      description:
        'Path of the file, relative to the directory of the app if the file is inside it. Otherwise the path in the stack.',
    }),
    line: Type.Integer({ minimum: 1 }),
    column: Type.Optional(Type.Integer({ minimum: 1 })),
    function: Type.Optional(Type.String({ description: 'Name of the function. Absent when it has none.' })),
    code: Type.Optional(Type.String({ description: 'The line of source code. Absent when the app did not report it.' })),
  },
  {
    ...NO_OTHER_PROPERTIES,
    description: 'First frame of the stack in your own code: not in Node, the SDK or an installed package.',
  },
);
export type ErrorSource = Static<typeof ErrorSource>;

export const StackLine = Type.Object(
  {
    text: Type.String({ description: 'Frame as the runtime writes it, such as `at charge (file:///app/charge.js:7:13)`.' }),
    own: Type.Boolean({ description: 'Whether the frame is in your own code.' }),
  },
  NO_OTHER_PROPERTIES,
);
export type StackLine = Static<typeof StackLine>;

const Code = Type.String({ description: 'Property `code` of the error, such as `ECONNREFUSED`. Absent when it has none.' });
const Stack = Type.Array(StackLine, { description: 'Frames of the stack, innermost first. Absent when there are none.' });

export const ThrownError = Type.Object(
  {
    code: Type.Optional(Code),
    source: Type.Optional(ErrorSource),
    stack: Type.Optional(Stack),
    causes: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String(),
            message: Type.String(),
            code: Type.Optional(Code),
            stack: Type.Optional(Stack),
          },
          NO_OTHER_PROPERTIES,
        ),
        { description: 'Errors that caused this error, starting with `error.cause`. At most 5. Absent when there are none.' },
      ),
    ),
  },
  { ...NO_OTHER_PROPERTIES, description: 'Details of the error that the app reported. Absent when it reported none.' },
);
export type ThrownError = Static<typeof ThrownError>;
