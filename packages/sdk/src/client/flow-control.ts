/** Flow control keys and destinations, as calls. */
import type { Duration } from '../duration.js';
import type {
  DestinationEntry,
  DestinationHeld,
  FlowControlEntry,
  FlowControlWaitList,
  GlobalParallelism,
} from './control-types.js';
import { durationText } from './settings.js';
import type { Call } from './transport.js';

/** Limits that count until the key is unpinned; what is absent stays as it is. */
export interface PinnedLimits {
  readonly parallelism?: number;
  readonly rate?: number;
  /** Goes with `rate`; default one second. */
  readonly period?: Duration;
}

/** Limits that are unpinned. */
export interface UnpinnedLimits {
  readonly parallelism?: boolean;
  /** With its period. */
  readonly rate?: boolean;
}

export class FlowControl {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  async list(): Promise<readonly FlowControlEntry[]> {
    return (await this.call<{ flowControls: FlowControlEntry[] }>({ method: 'GET', path: '/v2/flowControl/' })).flowControls;
  }

  get(key: string): Promise<FlowControlEntry> {
    return this.call({ method: 'GET', path: `/v2/flowControl/${encodeURIComponent(key)}` });
  }

  /** The first of what waits for the key, in the order in which it goes. `count`: 1 to 100, 50 when absent. */
  waiting(key: string, options: { readonly count?: number } = {}): Promise<FlowControlWaitList> {
    return this.call({ method: 'GET', path: `/v2/flowControl/${encodeURIComponent(key)}/waiting`, query: options });
  }

  /** Nothing of the key is delivered until it is resumed. Resolves with the key as it is then, as the others do. */
  pause(key: string): Promise<FlowControlEntry> {
    return this.change(key, 'pause');
  }

  resume(key: string): Promise<FlowControlEntry> {
    return this.change(key, 'resume');
  }

  /**
   * Sets limits that triggers do not change; what is left out stays as it is, pinned or not. Without any limit, those that the key
   * has are pinned. Creates the key when it does not exist.
   */
  pin(key: string, { parallelism, rate, period }: PinnedLimits): Promise<FlowControlEntry> {
    return this.change(key, 'pin', { parallelism, rate, period: period === undefined ? undefined : durationText(period) });
  }

  /** Lets triggers change the limits again: those named as true, or both when none is named. */
  unpin(key: string, { parallelism, rate }: UnpinnedLimits = {}): Promise<FlowControlEntry> {
    return this.change(key, 'unpin', { parallelism, rate });
  }

  /** Ends the rate window; the next delivery begins a new one. */
  resetRate(key: string): Promise<FlowControlEntry> {
    return this.change(key, 'resetRate');
  }

  /** Of all deliveries, whatever their keys. */
  globalParallelism(): Promise<GlobalParallelism> {
    return this.call({ method: 'GET', path: '/v2/globalParallelism' });
  }

  private change(key: string, verb: string, query: object = {}): Promise<FlowControlEntry> {
    return this.call({ method: 'POST', path: `/v2/flowControl/${encodeURIComponent(key)}/${verb}`, query });
  }
}

/** Where deliveries go: scheme, host and port. Of a longer URL they are taken. */
export type DestinationName =
  | { readonly origin: string; readonly url?: undefined }
  | { readonly url: string; readonly origin?: undefined };

export class Destinations {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Those that are held, fail, or have something waiting. */
  async list(): Promise<readonly DestinationEntry[]> {
    return (await this.call<{ destinations: DestinationEntry[] }>({ method: 'GET', path: '/v2/destinations' })).destinations;
  }

  /** What is for it waits until it is released, and no attempt is used up. */
  hold(destination: DestinationName & { /** For people. */ readonly reason?: string }): Promise<DestinationHeld> {
    return this.change('hold', destination);
  }

  /** Whoever holds it. Rejects with `not-found` when nobody does. */
  release(origin: string): Promise<DestinationHeld> {
    return this.change('release', { origin });
  }

  private change(verb: string, body: object): Promise<DestinationHeld> {
    const headers = { 'Content-Type': 'application/json' };
    return this.call({ method: 'POST', path: `/v2/destinations/${verb}`, headers, body: JSON.stringify(body) });
  }
}
