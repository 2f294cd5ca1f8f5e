/** Wire fields that several records of the management API have. */
import Type from 'typebox';

export const id = Type.String({ description: 'Random id that sorts by creation time.' });
export const customerId = Type.String({ description: 'Account that owns the object: a user or a team.' });
export const creationTime = Type.Integer({ format: 'int64', description: 'Time of creation, in Unix seconds.' });
