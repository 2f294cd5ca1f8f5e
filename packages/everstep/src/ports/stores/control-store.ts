/** Flow control keys, queues, URL groups, destination holds and settings of instances in the store. */
import type { DestinationHold, FlowControlState, InstanceSettings, Queue, UrlGroup } from '../../engine/runs/run.js';

/** Reads the objects that control deliveries. */
export interface ControlStore {
  /** Lists the flow control keys, ordered by key. */
  listFlowControls(query: { readonly instanceId: string }): Promise<readonly FlowControlState[]>;
  findFlowControl(query: { readonly instanceId: string; readonly key: string }): Promise<FlowControlState | null>;
  /** Lists the queues, ordered by name. */
  listQueues(query: { readonly instanceId: string }): Promise<readonly Queue[]>;
  findQueue(query: { readonly instanceId: string; readonly name: string }): Promise<Queue | null>;
  /** Returns the number of messages of the queue that have not ended. */
  countQueued(query: { readonly instanceId: string; readonly name: string }): Promise<number>;
  /**
   * Returns the keys of active messages of the queue that failed before and are being retried. They keep their position in the
   * queue.
   */
  retriedInQueue(query: { readonly instanceId: string; readonly name: string }): Promise<readonly string[]>;
  /** Lists the URL groups, ordered by name. */
  listUrlGroups(query: { readonly instanceId: string }): Promise<readonly UrlGroup[]>;
  findUrlGroup(query: { readonly instanceId: string; readonly name: string }): Promise<UrlGroup | null>;
  /** Returns the number of objects of this kind in the instance. */
  countObjects(query: {
    readonly instanceId: string;
    readonly objectKind: 'queue' | 'url-group' | 'flow-control' | 'schedule';
  }): Promise<number>;
  listHolds(query: { readonly instanceId: string }): Promise<readonly DestinationHold[]>;
  /** Returns the settings of the instance; null if it has set none. */
  instanceSettings(query: { readonly instanceId: string }): Promise<InstanceSettings | null>;
}
