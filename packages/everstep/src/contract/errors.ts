/** The body of every error. */
import Type from 'typebox';

export const ErrorBody = Type.Object(
  { error: Type.String({ description: 'What was wrong, and what to do.' }) },
  { additionalProperties: false, description: 'Every error has this body, and its stable code in a header.' },
);
