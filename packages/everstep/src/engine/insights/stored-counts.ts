/** Counters in the JSON form that stores keep. */
import type { RunCounts, StepCounts } from './counts.js';
import type { Histogram } from './histogram.js';

/** Buckets and their counts in turn: `[bucket, count, bucket, count, ...]`. */
export type StoredHistogram = readonly number[];
type StoredStep = readonly [name: string | null, finished: number, failures: number, totalMs: number, StoredHistogram];
export type StoredSteps = readonly StoredStep[];

/** Counters that a commit added to a minute of a workflow; the workflow is null for plain messages. */
export type StoredCounts = readonly [
  minute: number,
  workflow: string | null,
  started: number,
  succeeded: number,
  failed: number,
  canceled: number,
  durations: StoredHistogram,
  steps: StoredSteps,
];

export function storedHistogram(histogram: Histogram): StoredHistogram {
  const stored: number[] = [];
  for (const [bucket, count] of histogram) stored.push(bucket, count);
  return stored;
}

export function storedSteps(steps: ReadonlyMap<string | null, StepCounts>): StoredSteps {
  const stored: StoredStep[] = [];
  for (const [name, { finished, failures, totalMs, durations }] of steps)
    stored.push([name, finished, failures, totalMs, storedHistogram(durations)]);
  return stored;
}

export function histogramFrom(stored: StoredHistogram): Histogram {
  const histogram: Histogram = new Map();
  for (let index = 0; index + 1 < stored.length; index += 2) histogram.set(stored[index] ?? 0, stored[index + 1] ?? 0);
  return histogram;
}

export const stepsFrom = (stored: StoredSteps): Map<string | null, StepCounts> =>
  new Map(
    stored.map(([name, finished, failures, totalMs, durations]) => [
      name,
      { finished, failures, totalMs, durations: histogramFrom(durations) },
    ]),
  );

export const storedCounts = (minute: number, workflow: string | null, counts: RunCounts): StoredCounts => [
  minute,
  workflow,
  counts.started,
  counts.succeeded,
  counts.failed,
  counts.canceled,
  storedHistogram(counts.durations),
  storedSteps(counts.steps),
];

export const countsFrom = ([, , started, succeeded, failed, canceled, durations, steps]: StoredCounts): RunCounts => ({
  started,
  succeeded,
  failed,
  canceled,
  durations: histogramFrom(durations),
  steps: stepsFrom(steps),
});
