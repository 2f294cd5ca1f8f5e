/**
 * Counters of runs and steps in a period, to which `count-insights` writes add. `stored-counts.ts` defines the form in which
 * stores keep them.
 */
import { truncateText } from '@everstep/sdk/protocol';
import type { RunStatus } from '../runs/run.js';
import { addDuration, bucketOf, type Histogram } from './histogram.js';

/** Counters of one step name. */
export interface StepCounts {
  /** Number of results that were recorded. */
  finished: number;
  /** Number of failed attempts. */
  failures: number;
  /** Sum of the durations in ms. */
  totalMs: number;
  readonly durations: Histogram;
}

/** Counters of runs and of their steps. */
export interface RunCounts {
  started: number;
  succeeded: number;
  failed: number;
  canceled: number;
  /** Durations of runs that succeeded or failed, from creation to end. */
  readonly durations: Histogram;
  /** Keyed by name. `CODE` is the code between steps, `OTHER` all steps without separate counters. */
  readonly steps: Map<string | null, StepCounts>;
}

/** The name under which failed attempts of the code between steps are counted. */
export const CODE_BETWEEN_STEPS = '';
/** Steps and workflows beyond the maximum number are counted together. */
export const OTHER = null;

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** Maximum length of a step name; longer names are truncated. */
const MAX_STEP_NAME_LENGTH = 200;

/** A step that was recorded, or an attempt that failed. */
export interface CountedStep {
  /** Name of the step; null for the code between steps. */
  readonly name: string | null;
  readonly outcome: 'finished' | 'failed-attempt';
  /** Duration of the step. Null if it is unknown, and for a failed attempt. */
  readonly durationMs: number | null;
}

/** The counts that one decision adds to the counters of a workflow in the minute of `at`. */
export interface InsightCounts {
  readonly kind: 'count-insights';
  readonly instanceId: string;
  /** URL of the workflow; null for a plain message. */
  readonly workflow: string | null;
  /** Time of the decision, Unix ms. */
  readonly at: number;
  readonly started?: true;
  readonly ended?: { readonly status: Exclude<RunStatus, 'active'>; readonly durationMs: number };
  readonly steps?: readonly CountedStep[];
}

export const noCounts = (): RunCounts => ({
  started: 0,
  succeeded: 0,
  failed: 0,
  canceled: 0,
  durations: new Map(),
  steps: new Map(),
});

export const noStepCounts = (): StepCounts => ({ finished: 0, failures: 0, totalMs: 0, durations: new Map() });

export const startOfMinute = (at: number): number => at - (at % MINUTE_MS);
export const startOfHour = (at: number): number => at - (at % HOUR_MS);
/** Returns the start of the UTC day. */
export const startOfDay = (at: number): number => at - (at % DAY_MS);

/** Returns the name in the form that stores accept: well-formed and without U+0000. */
function stepNameOf(name: string | null): string {
  if (name === null) return CODE_BETWEEN_STEPS;
  const shortName = truncateText(name, MAX_STEP_NAME_LENGTH);
  return shortName.includes('\0') ? shortName.replaceAll('\0', '\uFFFD') : shortName;
}

/** Returns the counters of the step, and adds them if they are missing. */
export function stepCounts({ steps }: RunCounts, name: string | null): StepCounts {
  let counts = steps.get(name);
  if (!counts) {
    counts = noStepCounts();
    steps.set(name, counts);
  }
  return counts;
}

/** Adds the counts of a decision. */
export function addInsightCounts(counts: RunCounts, { started, ended, steps }: InsightCounts): void {
  if (started) counts.started++;
  if (ended) {
    counts[ended.status]++;
    if (ended.status !== 'canceled') addDuration(counts.durations, bucketOf(ended.durationMs));
  }
  if (!steps) return;
  for (const { name, outcome, durationMs } of steps) {
    const step = stepCounts(counts, stepNameOf(name));
    if (outcome === 'failed-attempt') step.failures++;
    else step.finished++;
    if (durationMs === null) continue;
    step.totalMs += durationMs;
    addDuration(step.durations, bucketOf(durationMs));
  }
}

export function addHistogram(to: Histogram, from: Histogram): void {
  for (const [bucket, count] of from) addDuration(to, bucket, count);
}

/** Adds the counters of runs, without those of steps. */
export function addRuns(to: RunCounts, from: RunCounts): void {
  to.started += from.started;
  to.succeeded += from.succeeded;
  to.failed += from.failed;
  to.canceled += from.canceled;
  addHistogram(to.durations, from.durations);
}

/** Adds the counters of a step under a name. */
export function addStep(to: RunCounts, name: string | null, from: StepCounts): void {
  const step = stepCounts(to, name);
  step.finished += from.finished;
  step.failures += from.failures;
  step.totalMs += from.totalMs;
  addHistogram(step.durations, from.durations);
}

/** Adds all counters. */
export function addCounts(to: RunCounts, from: RunCounts): void {
  addRuns(to, from);
  for (const [name, step] of from.steps) addStep(to, name, step);
}
