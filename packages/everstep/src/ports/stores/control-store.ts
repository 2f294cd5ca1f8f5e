/** Flow control keys, queues, URL groups, destination holds and settings of instances in the store. */
import type { DestinationHold, FlowControlState, InstanceSettings, Queue, UrlGroup } from '../../engine/runs/run.js';

/** Reads the objects that control deliveries. */
export interface ControlStore {
  /** Ordered by key. */
  listFlowControls(query: { readonly instanceId: string }): Promise<readonly FlowControlState[]>;
  findFlowControl(query: { readonly instanceId: string; readonly key: string }): Promise<FlowControlState | null>;
  /** Ordered by name. */
  listQueues(query: { readonly instanceId: string }): Promise<readonly Queue[]>;
  findQueue(query: { readonly instanceId: string; readonly name: string }): Promise<Queue | null>;
  /** Number of messages of the queue that have not ended. */
  countQueued(query: { readonly instanceId: string; readonly name: string }): Promise<number>;
  /**
   * Keys of active messages of the queue that failed before and are being retried. They keep their position in the
   * queue.
   */
  retriedInQueue(query: { readonly instanceId: string; readonly name: string }): Promise<readonly string[]>;
  /** Ordered by name. */
  listUrlGroups(query: { readonly instanceId: string }): Promise<readonly UrlGroup[]>;
  findUrlGroup(query: { readonly instanceId: string; readonly name: string }): Promise<UrlGroup | null>;
  /** Number of such objects of the instance. */
  countObjects(query: {
    readonly instanceId: string;
    readonly thing: 'queue' | 'url-group' | 'flow-control' | 'schedule';
  }): Promise<number>;
  listHolds(query: { readonly instanceId: string }): Promise<readonly DestinationHold[]>;
  /** The settings of the instance; null if it has set none. */
  instanceSettings(query: { readonly instanceId: string }): Promise<InstanceSettings | null>;
}
