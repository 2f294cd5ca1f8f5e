/**
 * The runtime's view of the workers that are connected to this process: whether a delivery to a worker URL can be sent, and how
 * many can be in flight at the same time. A pool contains the connections of one app of one instance, which may serve different
 * workflows.
 */
import { WORKER_SCHEME } from '@everstep/sdk/protocol';

/** A delivery that needs a slot of a worker. */
export interface WorkerDelivery {
  /** Identifies the reservation. */
  readonly key: string;
  /** Name of the workers that serve its workflow, see `workersOf`. */
  readonly workers: string;
  /** Key of the run. Empty if it is not known yet. */
  readonly runKey: string;
  /** Whether the delivery is a start that a rate counts. */
  readonly isCounted: boolean;
}

/** Slots that have become free. */
export interface FreedSlots {
  readonly instanceId: string;
  /** Names of the workers of each workflow that can use these slots. */
  readonly workers: ReadonlySet<string>;
  /** Whether the last delivery that took one of these slots was a start that a rate counts. */
  readonly wasLastCounted: boolean;
}

/** The slots of workers. Each delivery in flight has one. */
export interface WorkerSlots {
  /** Returns how many slots of the workers of a workflow are not reserved; infinite if no worker serves the workflow. */
  freeSlots(workers: string): number;
  /**
   * Reserves a free slot of a worker that serves the workflow. With `heldKey`, the delivery gets the slot that is reserved under
   * that key, or the key is released. Returns false if there is no slot.
   */
  reserve(delivery: WorkerDelivery, heldKey?: string): boolean;
  /** Releases a slot. Has no effect if none is reserved under the key. */
  release(key: string): void;
  /**
   * Returns the slots that have become free since the last call at workers that had no free slot, and possibly others. Also
   * returns the workflows of workers that have connected or left.
   */
  takeFreed(): readonly FreedSlots[];
}

export interface WorkerPresence extends WorkerSlots {
  /**
   * Returns the time (Unix ms) since which no worker has served the workflow; null if a worker serves it, or if the URL is not a
   * worker URL.
   */
  missingSince(instanceId: string, url: string): number | null;
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

/** Returns the name of the workers of an instance that serve a workflow. Names contain a space, and origins do not. */
export const workersOf = (instanceId: string, url: string): string => `${instanceId} ${url}`;

export const isWorkersName = (name: string): boolean => name.includes(' ');

/** Returns the name of the pool that workers belong to. */
export const poolOf = (workers: string): string =>
  workers.slice(0, workers.indexOf('/', workers.indexOf(WORKER_SCHEME) + WORKER_SCHEME.length));

/** Workers of a server that accepts none: deliveries to worker URLs wait. */
export const NO_WORKERS: WorkerPresence & WorkerDirectory = {
  missingSince: (_instanceId, url) => (isWorkerUrl(url) ? 0 : null),
  freeSlots: () => Number.POSITIVE_INFINITY,
  reserve: () => false,
  release: () => {},
  takeFreed: () => [],
  onChange: () => {},
  connectionsOf: async () => [],
};
