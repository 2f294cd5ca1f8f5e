/** Durations in buckets of a logarithmic scale, so that a few numbers are enough for a percentile. */

/**
 * Number of buckets for each power of two. With two, a bucket ends at 1.41 times its start, which limits the error of a
 * percentile.
 */
const BUCKETS_PER_DOUBLING = 2;
/** The last bucket starts at more than 17 days and has no end. */
const LAST_BUCKET = 62;

/** Number of durations in each bucket. */
export type Histogram = Map<number, number>;

/** Returns the bucket of a duration in ms: 0 for at most 1 ms, otherwise the bucket on the logarithmic scale. */
export function bucketOf(durationMs: number): number {
  if (durationMs <= 1) return 0;
  return Math.min(LAST_BUCKET, Math.floor(Math.log2(durationMs) * BUCKETS_PER_DOUBLING) + 1);
}

/** Returns the end of a bucket in ms; for the last bucket, its start. */
export const bucketEndMs = (bucket: number): number => 2 ** (Math.min(bucket, LAST_BUCKET - 1) / BUCKETS_PER_DOUBLING);

export function addDuration(histogram: Histogram, bucket: number, count = 1): void {
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + count);
}

/**
 * Returns the duration in ms that a fraction of all durations, such as 0.95, does not exceed. It is interpolated within its
 * bucket. Returns null if there are no durations.
 */
export function percentile(histogram: Histogram, fraction: number): number | null {
  let totalCount = 0;
  for (const count of histogram.values()) totalCount += count;
  if (totalCount === 0) return null;
  const rank = fraction * totalCount;
  let countBefore = 0;
  for (const [bucket, count] of [...histogram].sort(([a], [b]) => a - b)) {
    if (countBefore + count < rank) {
      countBefore += count;
      continue;
    }
    const end = bucketEndMs(bucket);
    const start = bucket === 0 ? 0 : bucketEndMs(bucket - 1);
    return Math.round(start + (end - start) * ((rank - countBefore) / count));
  }
  return null;
}
