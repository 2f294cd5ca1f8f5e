/** The workers that have connected to the server. */
import type { WorkerPage } from './generated/index.js';
import type { Call } from './transport.js';

/** The connected workers. Use it through `Client.workers`. */
export class Workers {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /**
   * Returns one page of the connections of workers, and the workflows that deliveries wait for because no connected worker
   * serves them. `count` is at most 200. Default: 100.
   */
  list(options: { readonly app?: string; readonly count?: number; readonly cursor?: string } = {}): Promise<WorkerPage> {
    return this.call({ method: 'GET', path: '/v2/workers', query: options });
  }
}
