/**
 * Rejected with by any call of a store that cannot be reached: its database is away, is starting or stopping, or gave no
 * connection in time. It may be tried again. Whether what was asked for has happened is not known: the answer to a commit may
 * have been lost on its way.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
