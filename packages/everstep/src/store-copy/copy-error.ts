/** Reports why a store could not be copied. The message is for the operator. */
export class CopyError extends Error {
  override readonly name = 'CopyError';
}
