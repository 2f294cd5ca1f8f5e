/** One clock for all relative times of a page, so that it is rendered once a second at most. */
import { useSyncExternalStore } from 'react';

const TICK_MS = 1_000;
let now = Date.now();
let timer: number | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= window.setInterval(() => {
    if (document.hidden) return;
    now = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** Unix ms, moving on by the second. */
export const useNow = (): number =>
  useSyncExternalStore(subscribe, () => {
    if (timer === undefined) now = Date.now();
    return now;
  });

/** A text that the time changes: who shows it is rendered when it is another one, and not with every second. */
export const useByTheClock = (textOf: (now: number) => string): string =>
  useSyncExternalStore(subscribe, () => {
    if (timer === undefined) now = Date.now();
    return textOf(now);
  });
