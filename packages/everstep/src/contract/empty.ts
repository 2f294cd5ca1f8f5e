/** Response without a body. */
import Type from 'typebox';

export const Empty = Type.Undefined({ description: 'The operation succeeded. The response has no body.' });
