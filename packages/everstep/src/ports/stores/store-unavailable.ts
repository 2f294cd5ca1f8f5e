/**
 * Thrown by any method of a store that cannot be reached: its database is unavailable, starting or stopping, or no
 * connection was available in time. The call can be repeated. It is unknown whether it had an effect, because the
 * response to a commit may have been lost.
 */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError';
}

/**
 * Thrown if the store reported that it cannot write. The call had no effect and can be repeated. `reason` is a short
 * explanation for the operator, without paths or addresses: `disk full`.
 */
export class StoreRefusesWritesError extends StoreUnavailableError {
  override readonly name: string = 'StoreRefusesWritesError';
  readonly reason: string;
  constructor(reason: string, options?: ErrorOptions) {
    super(`the store rejects writes: ${reason}`, options);
    this.reason = reason;
  }
}

/**
 * Thrown if one of several servers with the rows of queue instances cannot be reached or refuses writes. Only its instances are
 * affected. It is unknown whether the call had an effect.
 */
export class ServerUnavailableError extends StoreUnavailableError {
  override readonly name: string = 'ServerUnavailableError';
  /** Host and port. */
  readonly server: string;
  constructor(server: string, reason: string, options?: ErrorOptions) {
    super(`the database server ${server} is unavailable: ${reason}`, options);
    this.server = server;
  }
}
