/**
 * Thrown if nothing was sent for a reason inside this process. It says nothing about the endpoint, and the delivery
 * is repeated later.
 */
export class NotAttemptedError extends Error {
  override readonly name = 'NotAttemptedError';
}
