/** Intervals of the histogram of a list. */
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../engine/insights/counts.js';

const MAX_INTERVALS = 120;
const MAX_LENGTH_MS = 28 * DAY_MS;
const LENGTHS_MS: readonly number[] = [
  1_000,
  5_000,
  15_000,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  DAY_MS,
  7 * DAY_MS,
  MAX_LENGTH_MS,
];

export interface Intervals {
  /** Start of the first interval in Unix milliseconds. Both times are multiples of the length. */
  readonly from: number;
  /** End of the last interval, exclusive. */
  readonly to: number;
  readonly intervalMs: number;
}

/** Returns at most 120 intervals of equal length that cover the range from `firstMs` to `lastMs` (Unix ms). */
export function intervalsOf(firstMs: number, lastMs: number): Intervals {
  // One interval less, because the first interval can start before the first time.
  const neededMs = (lastMs - firstMs + 1) / (MAX_INTERVALS - 1);
  const intervalMs = LENGTHS_MS.find((ms) => ms >= neededMs) ?? Math.ceil(neededMs / MAX_LENGTH_MS) * MAX_LENGTH_MS;
  const from = firstMs - (firstMs % intervalMs);
  return { from, to: lastMs - (lastMs % intervalMs) + intervalMs, intervalMs };
}

/** Returns how many of the times are in each interval. Other times are ignored. */
export function countByInterval(
  { from, to, intervalMs }: Intervals,
  times: Iterable<readonly [at: number, count: number]>,
): number[] {
  const counts = new Array<number>((to - from) / intervalMs).fill(0);
  for (const [at, count] of times)
    if (at >= from && at < to) {
      const index = Math.floor((at - from) / intervalMs);
      counts[index] = (counts[index] ?? 0) + count;
    }
  return counts;
}
