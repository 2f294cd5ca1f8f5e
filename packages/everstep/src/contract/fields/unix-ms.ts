/** Times on the wire. */
import Type from 'typebox';

/** Schema of a time in Unix milliseconds. `description` is a noun phrase; `note` is a sentence that follows it. */
export const unixMs = (description: string, note = '') =>
  Type.Integer({ format: 'int64', description: `${description}, in Unix milliseconds.${note === '' ? '' : ` ${note}`}` });
