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
  readonly at: (unixMs: number) => number;
  /** Whether any idle time is shortened. */
  readonly shortened: boolean;
}

/** Maximum length of an idle time, as a share of the length of all work. */
const IDLE_SHARE = 0.15;

export function plainScale({ from, to }: Span): TimeScale {
  const length = Math.max(1, to - from);
  return { at: (unixMs) => Math.min(1, Math.max(0, (unixMs - from) / length)), shortened: false };
}

/**
 * Returns a scale that shortens long idle times.
 * @param busy spans of work, in any order; they can overlap
 */
export function shortenedScale(whole: Span, busy: readonly Span[]): TimeScale {
  const merged: { from: number; to: number }[] = [];
  for (const span of [...busy].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ from: Math.max(span.from, whole.from), to: Math.min(Math.max(span.to, span.from), whole.to) });
  }
  const work = merged.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0);
  const maxIdle = Math.max(1, work) * IDLE_SHARE;
  /** Points between which the scale is linear. */
  const corners: { readonly unixMs: number; readonly drawn: number }[] = [{ unixMs: whole.from, drawn: 0 }];
  let drawn = 0;
  let at = whole.from;
  let shortened = false;
  const advance = (to: number, idle: boolean) => {
    if (to <= at) return;
    const length = to - at;
    if (idle && length > maxIdle) shortened = true;
    drawn += idle ? Math.min(length, maxIdle) : length;
    at = to;
    corners.push({ unixMs: to, drawn });
  };
  for (const { from, to } of merged) {
    advance(from, true);
    advance(to, false);
  }
  advance(whole.to, true);
  if (!shortened) return plainScale(whole);
  const total = Math.max(1, drawn);
  return {
    shortened,
    at: (unixMs) => {
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
      if (before === undefined || unixMs >= after.unixMs) return Math.min(1, after.drawn / total);
      const share = (unixMs - before.unixMs) / Math.max(1, after.unixMs - before.unixMs);
      return Math.max(0, (before.drawn + share * (after.drawn - before.drawn)) / total);
    },
  };
}
