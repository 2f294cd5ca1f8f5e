/** Limits of deliveries: flow control keys, held destinations, and the settings of an instance. */
import type { DestinationHold, FlowControl, FlowControlState, InstanceSettings, Run } from '../../engine/runs/run.js';

/** A flow control key with its current deliveries. */
export interface FlowControlStatus extends FlowControlState {
  readonly waiting: number;
  readonly inFlight: number;
}

export type FlowControlChange =
  | { readonly kind: 'pause' }
  | { readonly kind: 'resume' }
  /**
   * These limits apply until they are unpinned; the others do not change. If there are none, the current limits of the key are
   * pinned.
   */
  | { readonly kind: 'pin'; readonly limits: Omit<FlowControl, 'key'> }
  /** Unpins each limit whose flag is true. */
  | { readonly kind: 'unpin'; readonly parallelism: boolean; readonly rate: boolean }
  /** Ends the rate window. */
  | { readonly kind: 'reset-rate' };

export interface FlowControlChangeCommand {
  readonly instanceId: string;
  readonly key: string;
  readonly change: FlowControlChange;
}

/** A delivery that waits for a flow control key. */
export interface KeyWaiter {
  readonly run: Pick<Run, 'workflowRunId' | 'createdAt' | 'workflowUrl' | 'settings'>;
  /** Name of the step to deliver; null if the delivery is not of a step. */
  readonly stepName: string | null;
  /** Time when it became due, Unix ms. */
  readonly since: number;
}

export interface KeyWaitList {
  /** The first waiting deliveries, in the order in which they are admitted. */
  readonly waiting: readonly KeyWaiter[];
  readonly size: number;
}

export interface FlowControlService {
  list(query: { readonly instanceId: string }): Promise<readonly FlowControlStatus[]>;
  find(query: { readonly instanceId: string; readonly key: string }): Promise<FlowControlStatus | null>;
  /** Returns the deliveries that wait for the key; null if there is no such key. */
  waitList(query: { readonly instanceId: string; readonly key: string; readonly limit: number }): Promise<KeyWaitList | null>;
  /** Changes the limits of the key. Null if there is no such key; a pin creates it. */
  change(command: FlowControlChangeCommand): Promise<FlowControlStatus | null>;
  /** Returns how many deliveries of the instance can be in flight, and how many are. */
  globalParallelism(query: { readonly instanceId: string }): { readonly max: number; readonly inFlight: number };
}

export interface DestinationStatus {
  /** Scheme, host and port; a worker URL as a whole. */
  readonly origin: string;
  /** Time since which no connected worker has served it, Unix ms; absent if one does, or if it is not a worker URL. */
  readonly noWorkerSince?: number;
  readonly hold: DestinationHold | null;
  /** Number of consecutive failures. */
  readonly failures: number;
  readonly lastError: string | null;
  readonly waiting: number;
  /** Time of the next probe, Unix ms; null if none is scheduled. */
  readonly probeAt: number | null;
}

export interface DestinationService {
  list(query: { readonly instanceId: string }): Promise<readonly DestinationStatus[]>;
  /** Holds deliveries to an origin until it is released. */
  hold(command: { readonly instanceId: string; readonly origin: string; readonly reason: string }): Promise<void>;
  /** Releases a held origin. Returns false if the origin is not held. */
  release(command: { readonly instanceId: string; readonly origin: string }): Promise<boolean>;
}

export interface InstanceSettingsService {
  instanceSettings(query: { readonly instanceId: string }): Promise<InstanceSettings>;
  /** Replaces the settings with those that `update` returns for the latest ones. Returns the new settings. */
  changeInstanceSettings(command: {
    readonly instanceId: string;
    readonly update: (settings: InstanceSettings) => InstanceSettings;
  }): Promise<InstanceSettings>;
}
