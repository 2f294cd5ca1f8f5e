/** Counters of runs and steps, by minute, hour and day. */
import type { RunCounts } from '../../../engine/insights/counts.js';

/** Period that a counter covers. Days are in UTC. */
export type InsightPeriod = 'minute' | 'hour' | 'day';

/** Subject of counters: all runs of workflows, all plain messages, or the runs of one workflow. */
export type InsightSubject = 'runs' | 'messages' | { readonly workflow: string };

/** A time range whose ends are starts of minutes, Unix ms. `to` is exclusive. */
export interface InsightTime {
  readonly from: number;
  readonly to: number;
}

/** Selects the counters of each period in a time range. Both ends of the range are starts of periods. */
export interface InsightSeriesQuery extends InsightTime {
  readonly instanceId: string;
  readonly subject: InsightSubject;
  readonly period: InsightPeriod;
}

/** The counters of one period, without those of steps. */
export interface InsightPoint {
  /** Start of the period, Unix ms. */
  readonly start: number;
  readonly counts: RunCounts;
}

export interface WorkflowSumQuery extends InsightTime {
  readonly instanceId: string;
  readonly workflow: string;
}

/** Numbers of runs of one workflow in a time range. */
export interface WorkflowTotals {
  /** URL of the workflow; null for the workflows beyond the maximum number that is counted by name in an hour or a day. */
  readonly workflow: string | null;
  readonly started: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

export interface WorkflowTotalsQuery extends InsightTime {
  readonly instanceId: string;
}

export interface InsightUpkeep {
  readonly instanceId: string;
  /** Days that ended by this time (Unix ms) get counters, which are the sums of those of their hours; null adds up no days. */
  readonly daysUntil: number | null;
  /** Counters of minutes that started before this time (Unix ms) are removed; null keeps all. */
  readonly minutesBefore: number | null;
  /** Counters of hours that started before this time (Unix ms), and of days with only such hours, are removed; null keeps all. */
  readonly hoursBefore: number | null;
}

/** Retention of counters, in ms. */
export interface InsightRetention {
  /** Retention of counters by minute. */
  readonly minutesMs: number;
  /** Retention of counters by hour and by day. */
  readonly hoursMs: number;
}

/** The store of counters. `count-insights` writes add to them in the transaction that makes the change. */
export interface InsightStore {
  /** Returns the periods that have counters, oldest first. */
  series(query: InsightSeriesQuery): Promise<readonly InsightPoint[]>;
  /** Returns the sums of a workflow with those of its steps. */
  workflowSum(query: WorkflowSumQuery): Promise<RunCounts>;
  /** Returns the sums of each workflow, in any order. */
  workflowTotals(query: WorkflowTotalsQuery): Promise<readonly WorkflowTotals[]>;
  /** Adds up ended days and removes old counters, in a short transaction. Returns 0 only if nothing is left to do. */
  tidy(upkeep: InsightUpkeep): Promise<number>;
}
