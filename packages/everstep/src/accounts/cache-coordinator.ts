/**
 * Coordinates the caches of several processes on one store. A process notifies the others when it changes an
 * instance, and they drop it from their caches. Notifications can be lost, so cache entries also expire quickly.
 */
export interface CacheCoordinator {
  /** A monotonic clock in ms. */
  readonly elapsedMs: () => number;
  /** Notifies the other processes that tokens or signing keys of the instance have changed durably. */
  readonly notifyChanged: (instanceId: string) => void;
}

/** Cache time: the longest time for which a change can go unnoticed if its notification is lost. */
export const CACHE_TTL_MS = 3_000;
