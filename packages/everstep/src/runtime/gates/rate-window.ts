/**
 * Starts counted in fixed windows: one begins with the first start after the
 * last one ended. Starts are granted in the store before they are made, so
 * that a crash cannot grant them twice.
 */

/** A rate limit: so many starts in a window of this length. */
export interface Rate {
  readonly starts: number;
  readonly periodMs: number;
}

export interface RateWindow {
  /** Unix ms. */
  readonly startedAt: number;
  /** Starts that the store has written down for this window. */
  granted: number;
  /** Starts that were made; `granted` is never less. */
  made: number;
}

/** What the store tells of a window: what it granted counts as made. */
export function restoredWindow(kept: { readonly startedAt: number; readonly granted: number } | null): RateWindow | null {
  return kept && { startedAt: kept.startedAt, granted: kept.granted, made: kept.granted };
}

export const endOf = (window: RateWindow, { periodMs }: Rate): number => window.startedAt + periodMs;

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
