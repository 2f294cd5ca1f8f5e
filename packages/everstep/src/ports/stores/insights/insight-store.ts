/** Counters of runs and steps, by minute and by hour. */
import type { RunCounts } from '../../../engine/insights/counts.js';

export type InsightPeriod = 'minute' | 'hour';

/** What the counters count: all runs of workflows, all plain messages, or the runs of one workflow. */
export type InsightSubject = 'runs' | 'messages' | { readonly workflow: string };

export interface InsightSeriesQuery {
  readonly instanceId: string;
  readonly subject: InsightSubject;
  readonly period: InsightPeriod;
  /** Starts of the periods to read, Unix ms. */
  readonly starts: readonly number[];
}

/** The counters of one period. The counters of all runs and of messages have no steps. */
export interface InsightPoint {
  /** Start of the period, Unix ms. */
  readonly start: number;
  readonly counts: RunCounts;
}

/** Sums of one workflow. */
export interface WorkflowTotals {
  /** URL of the workflow; null for the workflows beyond the maximum number that is counted by name in an hour. */
  readonly workflow: string | null;
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

export interface WorkflowTotalsQuery {
  readonly instanceId: string;
  readonly period: InsightPeriod;
  /** Starts of the first and of the last period, Unix ms. */
  readonly from: number;
  readonly to: number;
}

export interface InsightRemoval {
  readonly instanceId: string;
  /** Minutes and hours that started before this time are removed, Unix ms; null: none. */
  readonly minutesBefore: number | null;
  readonly hoursBefore: number | null;
}

/** How long counters are kept, in ms. */
export interface InsightRetention {
  /** Retention of counters by minute. */
  readonly minutesMs: number;
  /** Retention of counters by hour. */
  readonly hoursMs: number;
}

/** The store of counters. `count-insights` writes add to them in the transaction that makes the change. */
export interface InsightStore {
  /** Returns the periods that have counters, oldest first. */
  series(query: InsightSeriesQuery): Promise<readonly InsightPoint[]>;
  /** Returns the sums of each workflow over the periods, in no order. */
  workflowTotals(query: WorkflowTotalsQuery): Promise<readonly WorkflowTotals[]>;
  /** Removes old counters, in a short transaction. Returns the number of removed periods, 0 only if none are left. */
  removeBefore(removal: InsightRemoval): Promise<number>;
}
