/** Counters of runs and steps, by minute and by hour. */
import type { RunCounts } from '../../../engine/insights/counts.js';

export type InsightPeriod = 'minute' | 'hour';

/** What the counters count: all runs of workflows, all plain messages, or the runs of one workflow. */
export type InsightSubject = 'runs' | 'messages' | { readonly workflow: string };

export interface InsightSeriesQuery {
  readonly instanceId: string;
  readonly subject: InsightSubject;
  readonly period: InsightPeriod;
  /** Unix ms of the starts of the periods to read. */
  readonly starts: readonly number[];
}

/** The counters of one period. Those of all runs and of messages have no steps. */
export interface InsightPoint {
  /** Unix ms: the start of the period. */
  readonly start: number;
  readonly counts: RunCounts;
}

/** Sums of one workflow. */
export interface WorkflowTotals {
  /** Null: the workflows beyond the maximum number that is counted by name in an hour. */
  readonly workflow: string | null;
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

export interface WorkflowTotalsQuery {
  readonly instanceId: string;
  readonly period: InsightPeriod;
  /** Unix ms of the first and of the last period. */
  readonly from: number;
  readonly to: number;
}

export interface InsightRemoval {
  readonly instanceId: string;
  /** Unix ms: minutes and hours that started before are removed; null: none. */
  readonly minutesBefore: number | null;
  readonly hoursBefore: number | null;
}

/** How long counters are kept, in ms. */
export interface InsightRetention {
  /** For counters by minute. */
  readonly minutesMs: number;
  /** For counters by hour. */
  readonly hoursMs: number;
}

/** Counters that `count-insights` writes add to, in the transaction that makes the change. */
export interface InsightStore {
  /** Returns the periods that have counters, oldest first. */
  series(query: InsightSeriesQuery): Promise<readonly InsightPoint[]>;
  /** Returns the sums of each workflow over the periods, in no order. */
  workflowTotals(query: WorkflowTotalsQuery): Promise<readonly WorkflowTotals[]>;
  /** Removes old counters, in a short transaction. Returns the number of removed periods, 0 only if none are left. */
  removeBefore(removal: InsightRemoval): Promise<number>;
}
