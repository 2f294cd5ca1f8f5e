/** One clock for all relative times of a page, so that they render at most once per second. */
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
    for (const listener of listeners) listener();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** Returns the current time, Unix ms, and renders the component again every second. */
export const useNow = (): number =>
  useSyncExternalStore(subscribe, () => {
    if (timer === undefined) now = Date.now();
    return now;
  });

/** Returns a text that depends on the time. The component renders again only when the text changes, not every second. */
export const useTimedText = (textOf: (now: number) => string): string =>
  useSyncExternalStore(subscribe, () => {
    if (timer === undefined) now = Date.now();
    return textOf(now);
  });
