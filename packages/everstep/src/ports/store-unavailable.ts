/**
 * Any call of a store rejects with it when the store cannot be reached: its database is away, is starting or stopping, or
 * gave no connection in time. The call may be repeated. Whether it had an effect is not known: the answer to a commit may
 * have been lost on its way.
 */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
}

/**
 * A call rejects with it when the store answered that it cannot write. The call had no effect, and may be repeated.
 * `reason` says why in a few words for the operator, without paths or addresses: `disk full`.
 */
export class StoreRefusesWritesError extends StoreUnavailableError {
  override readonly name: string = 'StoreRefusesWritesError';
  readonly reason: string;
  constructor(reason: string, options?: ErrorOptions) {
    super(`the store refuses writes: ${reason}`, options);
    this.reason = reason;
  }
}
