/**
 * A rate limit counts starts in fixed windows. A window starts with the first start after the previous window has ended. Starts are
 * stored before they happen, so a crash cannot grant them twice.
 *
 * The limit holds as the destination sees it, which counts requests when they arrive. A window is therefore measured from the
 * time at which its first request was sent, with a margin at both ends for requests in transit. If that time is not known
 * exactly, nothing more starts after the earliest possible end of the window. The next window then starts after the latest
 * possible end.
 *
 * Keeps invariant 13.
 */

/** A rate limit: the maximum number of starts in a window of this length. */
export interface Rate {
  readonly starts: number;
  readonly periodMs: number;
  /** The longest time that a request may take from its start until it arrives. */
  readonly transitMs: number;
}

export interface RateWindow {
  /** Earliest time at which its first request was sent, or the exact time once that is known, Unix ms. */
  startedAt: number;
  /** Latest time at which its first request was sent, unless it is unsent, Unix ms. */
  sentBy: number;
  /** Whether its first request is sent. */
  isSent: boolean;
  /** Number of starts that were made and whose requests are neither sent nor done. */
  unsentCount: number;
  /**
   * Time by which one of its requests had arrived, because its response had arrived, Unix ms; null while there is no response.
   */
  arrivedBy: number | null;
  /** Number of starts that are stored for this window. */
  granted: number;
  /** Number of starts that were made, at most `granted`. */
  startsMade: number;
  /** Whether the window may have ended at the destination before its period was extended. Nothing more starts in it. */
  isClosed: boolean;
}

/** Returns a window that starts now. */
export const newWindow = (now: number, granted: number): RateWindow => ({
  startedAt: now,
  sentBy: now,
  isSent: false,
  unsentCount: 0,
  arrivedBy: null,
  granted,
  startsMade: 0,
  isClosed: false,
});

/** A request that is unsent this long after its start was stored counts as failed. */
const MAX_UNSENT_MS = 5_000;

/**
 * Returns the in-memory window for a stored one. All granted starts count as made. The time at which its first request was sent
 * is lost. It is after the grant was requested, and before the process that made the start ended.
 */
export function restoredWindow(
  storedWindow: { readonly startedAt: number; readonly granted: number } | null,
  { now, periodMs }: { readonly now: number; readonly periodMs: number | null },
): RateWindow | null {
  if (!storedWindow) return null;
  const { startedAt, granted } = storedWindow;
  const latestSentAt = startedAt + Math.min(periodMs ?? MAX_UNSENT_MS, MAX_UNSENT_MS);
  const sentBy = Math.max(startedAt, Math.min(now, latestSentAt));
  return { startedAt, sentBy, isSent: true, unsentCount: 0, arrivedBy: null, granted, startsMade: granted, isClosed: false };
}

/**
 * Maximum transit time: a small part of the period, so that the whole limit can be used. It is sufficient within a host or
 * between neighboring hosts.
 */
const MAX_TRANSIT_MS = 50;
export const maxTransitMs = (periodMs: number): number => Math.min(MAX_TRANSIT_MS, Math.floor(periodMs * 0.0125));

/** Number of transit times that are allowed for the first request, which may reach a cold destination. */
const FIRST_REQUEST_TRANSITS = 2;

/**
 * Returns when the next window may start, in Unix ms: a full period after this window started at the destination. Infinite
 * while its first request is unsent.
 */
export function nextWindowAt({ sentBy, isSent, unsentCount, arrivedBy }: RateWindow, { periodMs, transitMs }: Rate): number {
  if (!isSent && unsentCount > 0) return Number.POSITIVE_INFINITY;
  const latestArrivalAt = sentBy + transitMs * FIRST_REQUEST_TRANSITS;
  return periodMs + (arrivedBy === null ? latestArrivalAt : Math.min(arrivedBy, latestArrivalAt));
}

/**
 * Returns whether a request that starts now could arrive after the window has ended at the destination, which then counts it
 * for the next window.
 */
export const isClosing = (window: RateWindow | null, { periodMs, transitMs }: Rate, now: number): boolean =>
  window !== null && (window.isClosed || now >= window.startedAt + periodMs - transitMs);

/** Returns the window that applies now; null if it has ended, or if no start was made in it. */
export function runningWindow(window: RateWindow | null, rate: Rate, now: number): RateWindow | null {
  if (!window || now >= nextWindowAt(window, rate)) return null;
  return window.startsMade === 0 && now > window.startedAt ? null : window;
}

/** Returns the number of granted starts that may be made. */
export const unusedGrants = (window: RateWindow | null, { starts }: Rate): number =>
  window ? Math.min(window.granted, starts) - window.startsMade : 0;

/** Returns the number of starts that may still be granted. */
export const grantableStarts = (window: RateWindow | null, { starts }: Rate): number => starts - (window?.granted ?? 0);
