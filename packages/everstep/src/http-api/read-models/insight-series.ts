/** Reads the counters of insights in intervals of equal length. */
import type { InsightPoint, InsightTotals, InsightWindow } from '../../contract/insights/insights.js';
import { addRuns, DAY_MS, HOUR_MS, MINUTE_MS, noCounts, type RunCounts } from '../../engine/insights/counts.js';
import { percentile } from '../../engine/insights/histogram.js';
import type { InsightPeriod, InsightStore, InsightSubject } from '../../ports/stores/store.js';

/** Length and number of the intervals of each window. A window has at most 120 intervals. */
const WINDOWS: Readonly<Record<InsightWindow, { readonly intervalMs: number; readonly intervals: number }>> = {
  '1h': { intervalMs: MINUTE_MS, intervals: 60 },
  '6h': { intervalMs: 5 * MINUTE_MS, intervals: 72 },
  '24h': { intervalMs: 15 * MINUTE_MS, intervals: 96 },
  '7d': { intervalMs: 2 * HOUR_MS, intervals: 84 },
  '30d': { intervalMs: 6 * HOUR_MS, intervals: 120 },
  '90d': { intervalMs: DAY_MS, intervals: 90 },
};

export interface InsightRange {
  readonly period: InsightPeriod;
  /** Start of the range in Unix milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly intervalMs: number;
}

/** Returns the range of a window that ends now. */
export function rangeOf(window: InsightWindow, now: number): InsightRange {
  const { intervalMs, intervals } = WINDOWS[window];
  const to = now - (now % intervalMs) + intervalMs;
  const period = intervalMs < HOUR_MS ? 'minute' : intervalMs < DAY_MS ? 'hour' : 'day';
  return { period, from: to - intervals * intervalMs, to, intervalMs };
}

export interface InsightSeries {
  /** Counters by the start of their interval in Unix ms. Intervals without runs are included. */
  readonly intervals: ReadonlyMap<number, RunCounts>;
  readonly total: RunCounts;
}

/** Reads the counters of each interval of the range. */
export async function readSeries(
  insights: Pick<InsightStore, 'series'>,
  instanceId: string,
  subject: InsightSubject,
  { period, from, to, intervalMs }: InsightRange,
): Promise<InsightSeries> {
  const intervals = new Map<number, RunCounts>();
  for (let at = from; at < to; at += intervalMs) intervals.set(at, noCounts());
  const total = noCounts();
  for (const { start, counts } of await insights.series({ instanceId, subject, period, from, to })) {
    const interval = intervals.get(start - ((start - from) % intervalMs));
    if (interval) addRuns(interval, counts);
    addRuns(total, counts);
  }
  return { intervals, total };
}

export const presentTotals = ({ started, succeeded, failed, canceled, durations }: RunCounts): InsightTotals => ({
  started,
  succeeded,
  failed,
  canceled,
  p50Ms: percentile(durations, 0.5),
  p95Ms: percentile(durations, 0.95),
});

/** Presents a series with its range. */
export const presentSeries = ({ intervals, total }: InsightSeries, { from, to, intervalMs }: InsightRange) => ({
  from,
  to,
  intervalMs,
  points: [...intervals].map(([at, counts]): InsightPoint => ({ at, ...presentTotals(counts) })),
  totals: presentTotals(total),
});
