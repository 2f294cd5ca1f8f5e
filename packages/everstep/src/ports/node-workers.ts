/** The workers that are connected to each node, as nodes publish them for each other. */
import type { SharedChange } from './cluster.js';
import type { WorkerStatus } from './workers.js';

/** A node that has a lease and is not stopping. */
export interface ClusterMember {
  readonly nodeId: string;
  /** URL at which workers reach this node; null if it has none. */
  readonly url: string | null;
  /** Version of the node's pools. It changes whenever the pools change. */
  readonly workersVersion: number;
}

/** Identifies the workers of one app of a queue instance. */
export interface PoolKey {
  readonly instanceId: string;
  readonly app: string;
}

/** The workers of one app that are connected to one node. */
export interface NodePool extends PoolKey {
  readonly nodeId: string;
  /** Number of requests that the workers handle at the same time. */
  readonly slots: number;
  readonly workflows: readonly string[];
}

/** A pool as its node publishes it. */
export interface PublishedPool extends Omit<NodePool, 'nodeId'> {
  readonly connections: readonly WorkerStatus[];
}

export interface PoolChanges {
  readonly put: readonly PublishedPool[];
  readonly removed: readonly PoolKey[];
  /** Whether other nodes must read the pools again. False if only `connections` have changed, which nodes do not cache. */
  readonly othersMustReload: boolean;
}

export interface NodeWorkers {
  /** Id of this node; empty before it has joined. */
  readonly nodeId: string;
  members(): Promise<readonly ClusterMember[]>;
  poolsOf(nodeIds: readonly string[]): Promise<readonly NodePool[]>;
  /** Returns the connections of an instance to all nodes except this one, as they were last published. */
  connectionsElsewhere(instanceId: string): Promise<readonly WorkerStatus[]>;
  /** Publishes the pools of this node. Has no effect if the node has lost its lease. */
  publishPools(changes: PoolChanges): Promise<void>;
  /** Notifies the other nodes of a change. Never rejects; the notification can be lost. */
  notify(change: SharedChange): void;
}
