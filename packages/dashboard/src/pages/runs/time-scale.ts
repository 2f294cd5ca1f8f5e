/**
 * Where a time stands in the picture of a run. A run that sleeps for days and works for seconds shows nothing of its work
 * on a scale that is the same everywhere; so long times in which nothing is done can be drawn short.
 */

export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface TimeScale {
  /** 0 to 1 */
  readonly at: (unixMs: number) => number;
  /** Whether anything is drawn shorter than it was. */
  readonly shortened: boolean;
}

/** A time without work takes at most this share of what all the work takes. */
const IDLE_SHARE = 0.15;

export function plainScale({ from, to }: Span): TimeScale {
  const length = Math.max(1, to - from);
  return { at: (unixMs) => Math.min(1, Math.max(0, (unixMs - from) / length)), shortened: false };
}

/** @param busy when something was done, in any order; may overlap */
export function shortenedScale(whole: Span, busy: readonly Span[]): TimeScale {
  const merged: { from: number; to: number }[] = [];
  for (const span of [...busy].sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last !== undefined && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ from: Math.max(span.from, whole.from), to: Math.min(Math.max(span.to, span.from), whole.to) });
  }
  const work = merged.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0);
  const most = Math.max(1, work) * IDLE_SHARE;
  /** Corners of the scale: a time, and how far it is drawn. */
  const corners: { readonly unixMs: number; readonly drawn: number }[] = [{ unixMs: whole.from, drawn: 0 }];
  let drawn = 0;
  let at = whole.from;
  let shortened = false;
  const advance = (to: number, idle: boolean) => {
    if (to <= at) return;
    const length = to - at;
    if (idle && length > most) shortened = true;
    drawn += idle ? Math.min(length, most) : length;
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
