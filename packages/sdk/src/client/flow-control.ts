/** Client for flow control keys and destinations. */
import type { Duration } from '../duration.js';
import type {
  DestinationEntry,
  DestinationHeld,
  FlowControlEntry,
  FlowControlWaitList,
  GlobalParallelism,
} from './generated/index.js';
import { durationText } from './settings.js';
import type { Call } from './transport.js';

/** Limits that apply until the key is unpinned. Absent limits keep their value. */
export interface PinnedLimits {
  /** Maximum number of deliveries in flight. */
  readonly parallelism?: number;
  /** Maximum number of starts per period. */
  readonly rate?: number;
  /** Length of the period. Requires `rate`. Default: one second. */
  readonly period?: Duration;
}

/** Limits to unpin. */
export interface UnpinnedLimits {
  /** Unpins the parallelism. */
  readonly parallelism?: boolean;
  /** Unpins the rate and its period. */
  readonly rate?: boolean;
}

/** Operations on flow control keys. Use it through `Client.flowControl`. Methods reject with EverstepError. */
export class FlowControl {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Lists all flow control keys. */
  async list(): Promise<readonly FlowControlEntry[]> {
    return (await this.call<{ flowControls: FlowControlEntry[] }>({ method: 'GET', path: '/v2/flowControl/' })).flowControls;
  }

  /** Returns one flow control key. */
  get(key: string): Promise<FlowControlEntry> {
    return this.call({ method: 'GET', path: `/v2/flowControl/${encodeURIComponent(key)}` });
  }

  /**
   * Returns the first deliveries that wait for the key, in the order in which they start. `count`: 1 to 100. Default:
   * 50.
   */
  waiting(key: string, options: { readonly count?: number } = {}): Promise<FlowControlWaitList> {
    return this.call({ method: 'GET', path: `/v2/flowControl/${encodeURIComponent(key)}/waiting`, query: options });
  }

  /** Pauses the key: no delivery with this key starts until it is resumed. Returns the new state of the key. */
  pause(key: string): Promise<FlowControlEntry> {
    return this.change(key, 'pause');
  }

  /** Resumes a paused key. */
  resume(key: string): Promise<FlowControlEntry> {
    return this.change(key, 'resume');
  }

  /**
   * Sets limits that triggers cannot change. Absent limits keep their value and stay pinned or unpinned. Without any
   * limit, the current limits are pinned. Creates the key if it does not exist.
   */
  pin(key: string, { parallelism, rate, period }: PinnedLimits): Promise<FlowControlEntry> {
    return this.change(key, 'pin', { parallelism, rate, period: period === undefined ? undefined : durationText(period) });
  }

  /** Unpins the limits that are set to true, or both if none is given. Triggers can then change them again. */
  unpin(key: string, { parallelism, rate }: UnpinnedLimits = {}): Promise<FlowControlEntry> {
    return this.change(key, 'unpin', { parallelism, rate });
  }

  /** Ends the rate window. The next delivery starts a new one. */
  resetRate(key: string): Promise<FlowControlEntry> {
    return this.change(key, 'resetRate');
  }

  /** Returns the parallelism of all deliveries, regardless of their keys. */
  globalParallelism(): Promise<GlobalParallelism> {
    return this.call({ method: 'GET', path: '/v2/globalParallelism' });
  }

  private change(key: string, verb: string, query: object = {}): Promise<FlowControlEntry> {
    return this.call({ method: 'POST', path: `/v2/flowControl/${encodeURIComponent(key)}/${verb}`, query });
  }
}

/** A destination: scheme, host and port, as an origin or as part of a longer URL. */
export type DestinationName =
  | { readonly origin: string; readonly url?: undefined }
  | { readonly url: string; readonly origin?: undefined };

/** Operations on destinations. Use it through `Client.destinations`. Methods reject with EverstepError. */
export class Destinations {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Lists the destinations that are held, are failing, or have waiting deliveries. */
  async list(): Promise<readonly DestinationEntry[]> {
    return (await this.call<{ destinations: DestinationEntry[] }>({ method: 'GET', path: '/v2/destinations' })).destinations;
  }

  /** Holds a destination. Its deliveries wait until it is released, without using up attempts. */
  hold(destination: DestinationName & { /** Reason, for display. */ readonly reason?: string }): Promise<DestinationHeld> {
    return this.change('hold', destination);
  }

  /**
   * Releases a destination, whether it was held by the breaker or manually.
   *
   * @throws {EverstepError} With code `not-found` if the destination is not held.
   */
  release(origin: string): Promise<DestinationHeld> {
    return this.change('release', { origin });
  }

  private change(verb: string, body: object): Promise<DestinationHeld> {
    const headers = { 'Content-Type': 'application/json' };
    return this.call({ method: 'POST', path: `/v2/destinations/${verb}`, headers, body: JSON.stringify(body) });
  }
}
