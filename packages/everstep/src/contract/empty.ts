/** An answer that says all with its status. */
import Type from 'typebox';

export const Empty = Type.Undefined({ description: 'Done. The answer has no body.' });
