/** Whether the service answers at all. What the pages show is from before when it does not, and they say so. */
import { useSyncExternalStore } from 'react';

/** Unix ms of the last answer; null while the service answers. */
let silentSince: number | null = null;
let answeredAt = Date.now();
const listeners = new Set<() => void>();

export function tellAnswered(answered: boolean): void {
  if (answered) answeredAt = Date.now();
  const next = answered ? null : (silentSince ?? answeredAt);
  if (next === silentSince) return;
  silentSince = next;
  for (const listener of listeners) listener();
}

/** When the service answered last, Unix ms; null while it answers. */
export const useSilentSince = (): number | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => silentSince,
  );
