/** Nothing was sent, for a reason of this process that says nothing of the endpoint: the delivery is made again later. */
export class NotAttemptedError extends Error {
  override readonly name = 'NotAttemptedError';
}
