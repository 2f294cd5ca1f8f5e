/**
 * The runtime's view of the workers that are connected to this process: whether a delivery to a worker URL can be sent, and how
 * many can be in flight at the same time. A pool contains the connections of one app of one instance.
 */
import { WORKER_SCHEME } from '@everstep/sdk/protocol';

export interface WorkerPresence {
  /**
   * Returns the time (Unix ms) since which no worker has served the workflow; null if a worker serves it, or if the URL is not a
   * worker URL.
   */
  missingSince(instanceId: string, url: string): number | null;
  /** Returns how many requests the connections of a pool handle at the same time; 0 if the pool has no connection. */
  capacityOf(pool: string): number;
  /** Registers a listener that is called when the connections of a pool have changed. */
  onChange(listener: (change: WorkerChange) => void): void;
  /** Nodes with workers; absent if no other process uses the store. */
  readonly nodes?: WorkerNodes;
}

/** Workers of several nodes. */
export interface WorkerNodes {
  /** Whether a worker that is connected to this node serves the workflow. */
  isServedHere(instanceId: string, url: string): boolean;
  /** Returns another node whose workers serve the workflow, if possible always the same one for a run; null if there is none. */
  nodeFor(instanceId: string, url: string, runKey: string): string | null;
}

export interface WorkerChange {
  readonly instanceId: string;
  readonly app: string;
}

/** A connection of a worker, for display. */
export interface WorkerStatus {
  readonly connectionId: string;
  /** Identifies the process of the worker, which may have several connections. */
  readonly workerId: string;
  readonly app: string;
  /** The first workflows that the worker serves, in alphabetical order. */
  readonly workflows: readonly string[];
  /** Number of all workflows that the worker serves. */
  readonly workflowCount: number;
  readonly version?: string;
  readonly host?: string;
  readonly sdk: string;
  /** Node that the worker is connected to. */
  readonly nodeId: string;
  /** Time when the worker connected, Unix ms. */
  readonly connectedAt: number;
  readonly inFlight: number;
  readonly maxConcurrency: number;
  /** Whether the worker accepts no new work. */
  readonly isDraining: boolean;
  /** Name of the error of the last failed request; null if none has failed. */
  readonly lastError: string | null;
}

/** The connected workers of all nodes, for display. */
export interface WorkerDirectory extends Pick<WorkerPresence, 'missingSince'> {
  /** Returns the connections of an instance in any order. */
  connectionsOf(instanceId: string): Promise<readonly WorkerStatus[]>;
}

export const isWorkerUrl = (url: string): boolean => url.startsWith(WORKER_SCHEME);

/** Returns the name of the pool of an app. Names are unique across instances. */
export const poolName = (instanceId: string, app: string): string => `${instanceId} ${WORKER_SCHEME}${app}`;

/** Returns the name of the pool that serves a valid worker URL. */
export const poolOf = (instanceId: string, url: string): string =>
  `${instanceId} ${url.slice(0, url.indexOf('/', WORKER_SCHEME.length))}`;

/** Workers of a server that accepts none: deliveries to worker URLs wait. */
export const NO_WORKERS: WorkerPresence & WorkerDirectory = {
  missingSince: (_instanceId, url) => (isWorkerUrl(url) ? 0 : null),
  capacityOf: () => 0,
  onChange: () => {},
  connectionsOf: async () => [],
};
