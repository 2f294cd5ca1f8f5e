/**
 * Starts counted in fixed windows: one begins with the first start after the
 * last one ended. Starts are granted in the store before they are made, so
 * that a crash cannot grant them twice.
 *
 * The limit is kept as the destination sees it, which counts requests when
 * they arrive: a window is counted from when its first request left, and
 * around its border there is time for what is on its way.
 */

/** A rate limit: so many starts in a window of this length. */
export interface Rate {
  readonly starts: number;
  readonly periodMs: number;
  /** How long a request may take from its start until it arrives. */
  readonly transitMs: number;
}

export interface RateWindow {
  /** Unix ms; when its first request left, once that is known. */
  startedAt: number;
  /** Its first request has left. */
  hasLeft: boolean;
  /** Unix ms by which a request of it had arrived, because it was answered; null while none was. */
  arrivedBy: number | null;
  /** Starts that the store has written down for this window. */
  granted: number;
  /** Starts that were made; `granted` is never less. */
  made: number;
}

/** What the store tells of a window: what it granted counts as made. */
export function restoredWindow(kept: { readonly startedAt: number; readonly granted: number } | null): RateWindow | null {
  return kept && { startedAt: kept.startedAt, granted: kept.granted, made: kept.granted, hasLeft: false, arrivedBy: null };
}

/** A small part of the period, so that the limit is used up all the same; within a host or between two that are near it is plenty. */
const MAX_TRANSIT_MS = 50;
export const transitOf = (periodMs: number): number => Math.min(MAX_TRANSIT_MS, Math.floor(periodMs * 0.0125));

/** The first request finds the destination cold. */
const TRANSITS_OF_FIRST = 2;
/** When it left is not known, it may have been long after the start was granted. */
const TRANSITS_WHEN_UNKNOWN = 8;

/** From here on the next window may begin: what began this one at the destination is a full period ago. */
export function endOf({ startedAt, hasLeft, arrivedBy }: RateWindow, { periodMs, transitMs }: Rate): number {
  const latest = startedAt + transitMs * (hasLeft ? TRANSITS_OF_FIRST : TRANSITS_WHEN_UNKNOWN);
  return periodMs + (arrivedBy === null ? latest : Math.min(arrivedBy, latest));
}

/** What started now could arrive when the window has ended at the destination, and would count for the next one there. */
export const isClosing = (window: RateWindow | null, { periodMs, transitMs }: Rate, now: number): boolean =>
  window !== null && now >= window.startedAt + periodMs - transitMs;

/** The window that counts now: none when it has ended, or when it was begun and nothing was started in it. */
export function runningWindow(window: RateWindow | null, rate: Rate, now: number): RateWindow | null {
  if (!window || now >= endOf(window, rate)) return null;
  return window.made === 0 && now > window.startedAt ? null : window;
}

/** Starts that may be made at once. */
export const startsReady = (window: RateWindow | null, { starts }: Rate): number =>
  window ? Math.min(window.granted, starts) - window.made : 0;

/** Starts that may still be granted. */
export const startsLeft = (window: RateWindow | null, { starts }: Rate): number => starts - (window?.granted ?? 0);
