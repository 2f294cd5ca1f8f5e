/**
 * Thrown if the request was not sent for a reason inside this process. The error implies nothing about the endpoint, and the
 * delivery is repeated later.
 */
export class NotAttemptedError extends Error {
  override readonly name = 'NotAttemptedError';
}
