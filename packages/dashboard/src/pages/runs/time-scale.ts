/**
 * Maps times to positions in the timeline. On a linear scale, the work of a run that sleeps for days and works for seconds would
 * be invisible. Long idle times can therefore be shortened.
 */

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface TimeScale {
  /** Returns the position of a time, from 0 to 1. */
  readonly positionOf: (unixMs: number) => number;
  /** Whether any idle time is shortened. */
  readonly isShortened: boolean;
}

/** Maximum length of an idle time, as a share of the length of all work. */
const IDLE_SHARE = 0.15;

export function plainScale({ from, to }: Span): TimeScale {
  const length = Math.max(1, to - from);
  return { positionOf: (unixMs) => Math.min(1, Math.max(0, (unixMs - from) / length)), isShortened: false };
}

/**
 * Returns a scale that shortens long idle times.
 * @param busy spans of work, in any order; they can overlap
 */
export function shortenedScale(span: Span, busy: readonly Span[]): TimeScale {
  const merged: { from: number; to: number }[] = [];
  for (const busySpan of [...busy].sort((a, b) => a.from - b.from)) {
    const lastSpan = merged.at(-1);
    if (lastSpan !== undefined && busySpan.from <= lastSpan.to) lastSpan.to = Math.max(lastSpan.to, busySpan.to);
    else merged.push({ from: Math.max(busySpan.from, span.from), to: Math.min(Math.max(busySpan.to, busySpan.from), span.to) });
  }
  const workMs = merged.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0);
  const maxIdleMs = Math.max(1, workMs) * IDLE_SHARE;
  /** Points between which the scale is linear. */
  const corners: { readonly unixMs: number; readonly drawnMs: number }[] = [{ unixMs: span.from, drawnMs: 0 }];
  let drawnMs = 0;
  let currentMs = span.from;
  let isShortened = false;
  const advance = (to: number, isIdle: boolean) => {
    if (to <= currentMs) return;
    const length = to - currentMs;
    if (isIdle && length > maxIdleMs) isShortened = true;
    drawnMs += isIdle ? Math.min(length, maxIdleMs) : length;
    currentMs = to;
    corners.push({ unixMs: to, drawnMs });
  };
  for (const { from, to } of merged) {
    advance(from, true);
    advance(to, false);
  }
  advance(span.to, true);
  if (!isShortened) return plainScale(span);
  const total = Math.max(1, drawnMs);
  return {
    isShortened,
    positionOf: (unixMs) => {
      let low = 0;
      let high = corners.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((corners[middle]?.unixMs ?? 0) < unixMs) low = middle + 1;
        else high = middle;
      }
      const after = corners[low];
      const before = corners[low - 1];
      if (after === undefined) return 1;
      if (before === undefined || unixMs >= after.unixMs) return Math.min(1, after.drawnMs / total);
      const share = (unixMs - before.unixMs) / Math.max(1, after.unixMs - before.unixMs);
      return Math.max(0, (before.drawnMs + share * (after.drawnMs - before.drawnMs)) / total);
    },
  };
}
