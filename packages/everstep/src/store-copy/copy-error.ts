/** Why a store was not copied; the message is for the operator. */
export class CopyError extends Error {
  override readonly name = 'CopyError';
}
