import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addDuration, bucketEndMs, bucketOf, type Histogram, percentile } from './histogram.js';

const histogramOf = (durations: readonly number[]): Histogram => {
  const histogram: Histogram = new Map();
  for (const duration of durations) addDuration(histogram, bucketOf(duration));
  return histogram;
};

describe('a histogram of durations', () => {
  test('has buckets that contain their durations and grow by the same factor', () => {
    for (const durationMs of [0, 1, 2, 3, 10, 999, 1_000, 60_000, 86_400_000]) {
      const bucket = bucketOf(durationMs);
      assert.ok(durationMs <= bucketEndMs(bucket), `${durationMs} ms`);
      if (bucket > 0) assert.ok(durationMs >= bucketEndMs(bucket - 1) - 1e-6, `${durationMs} ms`);
    }
    assert.equal(bucketOf(1e15), bucketOf(1e18));
  });

  test('has percentiles that differ from the exact ones by at most the width of a bucket', () => {
    const durations = Array.from({ length: 1_000 }, (_, index) => (index + 1) * 7);
    const histogram = histogramOf(durations);
    for (const fraction of [0.5, 0.9, 0.95, 0.99]) {
      const exact = durations[Math.ceil(fraction * durations.length) - 1] ?? 0;
      const found = percentile(histogram, fraction) ?? 0;
      assert.ok(Math.abs(found - exact) <= exact * 0.2, `${fraction}: ${found} instead of ${exact}`);
    }
    assert.equal(percentile(new Map(), 0.5), null);
  });
});
