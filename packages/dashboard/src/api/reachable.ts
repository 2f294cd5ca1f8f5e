/** Tracks whether the server responds. If it does not, the dashboard warns that its data may be out of date. */
import { useSyncExternalStore } from 'react';

/** Unix ms of the last response; null while the server responds. */
let unreachableSince: number | null = null;
let respondedAt = Date.now();
const listeners = new Set<() => void>();

/** Reports whether the server has responded to a request. */
export function reportReachable(isReachable: boolean): void {
  if (isReachable) respondedAt = Date.now();
  const since = isReachable ? null : (unreachableSince ?? respondedAt);
  if (since === unreachableSince) return;
  unreachableSince = since;
  for (const listener of listeners) listener();
}

/** Returns when the server last responded, Unix ms, or null while it responds. */
export const useUnreachableSince = (): number | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => unreachableSince,
  );
