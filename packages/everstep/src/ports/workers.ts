/**
 * The workers that are connected to this process, as far as the runtime has to know them: whether a delivery to a worker URL
 * can be sent, and how many at the same time. A pool contains the connections of one app of one instance.
 */
import { WORKER_SCHEME } from '@everstep/sdk/protocol';

export interface WorkerPresence {
  /** Returns since when (Unix ms) no worker serves the workflow; null if one does, or if the URL is not a worker URL. */
  missingSince(instanceId: string, url: string): number | null;
  /** Returns how many requests the connections of a pool handle at the same time; 0 if there is none. */
  capacityOf(pool: string): number;
  /** Calls the listener when the connections of a pool have changed. */
  onChange(listener: (change: WorkerChange) => void): void;
}

export interface WorkerChange {
  readonly instanceId: string;
  readonly app: string;
}

export const isWorkerUrl = (url: string): boolean => url.startsWith(WORKER_SCHEME);

/** Returns the name of a pool. */
export const poolName = (instanceId: string, app: string): string => `${instanceId} ${WORKER_SCHEME}${app}`;

/** Returns the name of the pool that serves a valid worker URL. */
export const poolOf = (instanceId: string, url: string): string =>
  `${instanceId} ${url.slice(0, url.indexOf('/', WORKER_SCHEME.length))}`;

/** Accepts no workers: deliveries to worker URLs wait. */
export const NO_WORKERS: WorkerPresence = {
  missingSince: (_instanceId, url) => (isWorkerUrl(url) ? 0 : null),
  capacityOf: () => 0,
  onChange: () => {},
};
