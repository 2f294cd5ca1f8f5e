/** Tracks whether the server responds. If it does not, the dashboard warns that its data may be out of date. */
import { useSyncExternalStore } from 'react';

/** Unix ms of the last response; null while the server responds. */
let unreachableSince: number | null = null;
let answeredAt = Date.now();
const listeners = new Set<() => void>();

export function reportReachable(answered: boolean): void {
  if (answered) answeredAt = Date.now();
  const next = answered ? null : (unreachableSince ?? answeredAt);
  if (next === unreachableSince) return;
  unreachableSince = next;
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
