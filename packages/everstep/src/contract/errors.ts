/** Body of every error response. */
import Type from 'typebox';

export const ErrorBody = Type.Object(
  { error: Type.String({ description: 'What is wrong and what to do.' }) },
  {
    additionalProperties: false,
    description: 'Body of every error response. The stable error code is in a response header.',
  },
);
