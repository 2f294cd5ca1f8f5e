/**
 * Starts counted in fixed windows: one begins with the first start after the
 * last one ended. Starts are granted in the store before they are made, so
 * that a crash cannot grant them twice.
 *
 * The limit is kept as the destination sees it, which counts requests when
 * they arrive: a window is counted from when its first request left, and
 * around its border there is time for what is on its way. Where that is not
 * known exactly, nothing more starts in it from the end of the shortest
 * window that it may be, and the next one begins after the longest.
 * Keeps invariant 13.
 */

/** A rate limit: so many starts in a window of this length. */
export interface Rate {
  readonly starts: number;
  readonly periodMs: number;
  /** How long a request may take from its start until it arrives. */
  readonly transitMs: number;
}

export interface RateWindow {
  /** Unix ms before which its first request did not leave; when it left, once that is known. */
  startedAt: number;
  /** Unix ms by which its first request had left, unless that is still to come. */
  leftBy: number;
  /** No later request is the first one that leaves. */
  hasLeft: boolean;
  /** Starts that were made and are not over, as long as none of them has left. */
  toLeave: number;
  /** Unix ms by which a request of it had arrived, because it was answered; null while none was. */
  arrivedBy: number | null;
  /** Starts that the store has written down for this window. */
  granted: number;
  /** Starts that were made; `granted` is never less. */
  made: number;
  /** It may have ended at the destination before the period was made longer: nothing more starts in it. */
  closed: boolean;
}

/** One that begins now, with starts that may be made. */
export const newWindow = (now: number, granted: number): RateWindow => ({
  startedAt: now,
  leftBy: now,
  hasLeft: false,
  toLeave: 0,
  arrivedBy: null,
  granted,
  made: 0,
  closed: false,
});

/** A request that has not left so long after its start was written down is believed to have failed. */
const LONGEST_DEPARTURE_MS = 5_000;

/**
 * What the store tells of a window: what it granted counts as made. When its first request left nobody knows any more:
 * after the start was asked for, and before whoever made it ended.
 */
export function restoredWindow(
  kept: { readonly startedAt: number; readonly granted: number } | null,
  { now, periodMs }: { readonly now: number; readonly periodMs: number | null },
): RateWindow | null {
  if (!kept) return null;
  const { startedAt, granted } = kept;
  const latest = startedAt + Math.min(periodMs ?? LONGEST_DEPARTURE_MS, LONGEST_DEPARTURE_MS);
  const leftBy = Math.max(startedAt, Math.min(now, latest));
  return { startedAt, leftBy, hasLeft: true, toLeave: 0, arrivedBy: null, granted, made: granted, closed: false };
}

/** A small part of the period, so that the limit is used up all the same; within a host or between two that are near it is plenty. */
const MAX_TRANSIT_MS = 50;
export const transitOf = (periodMs: number): number => Math.min(MAX_TRANSIT_MS, Math.floor(periodMs * 0.0125));

/** The first request finds the destination cold. */
const TRANSITS_OF_FIRST = 2;

/**
 * From here on the next window may begin: what began this one at the destination is a full period ago. Infinite as long as
 * its first request is still to leave.
 */
export function endOf({ leftBy, hasLeft, toLeave, arrivedBy }: RateWindow, { periodMs, transitMs }: Rate): number {
  if (!hasLeft && toLeave > 0) return Number.POSITIVE_INFINITY;
  const latest = leftBy + transitMs * TRANSITS_OF_FIRST;
  return periodMs + (arrivedBy === null ? latest : Math.min(arrivedBy, latest));
}

/** What started now could arrive when the window has ended at the destination, and would count for the next one there. */
export const isClosing = (window: RateWindow | null, { periodMs, transitMs }: Rate, now: number): boolean =>
  window !== null && (window.closed || now >= window.startedAt + periodMs - transitMs);

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
