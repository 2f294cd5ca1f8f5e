/** Counters of runs and steps, by minute, hour and day. */
import type { RunCounts } from '../../../engine/insights/counts.js';

/** A day is one in UTC. */
export type InsightPeriod = 'minute' | 'hour' | 'day';

/** Subject of counters: all runs of workflows, all plain messages, or the runs of one workflow. */
export type InsightSubject = 'runs' | 'messages' | { readonly workflow: string };

/** A time whose ends are starts of minutes, Unix ms. `to` is exclusive. */
export interface InsightTime {
  readonly from: number;
  readonly to: number;
}

/** Both ends are starts of the period. */
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

/** Sums of one workflow. */
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
  /** Unix ms: days that ended by then get counters of their own, the sums of their hours; null: none. */
  readonly daysUntil: number | null;
  /** Unix ms: minutes and hours that started before are removed, and days without hours; null: none. */
  readonly minutesBefore: number | null;
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
  /** Returns the sums of each workflow, in no order. */
  workflowTotals(query: WorkflowTotalsQuery): Promise<readonly WorkflowTotals[]>;
  /** Adds up ended days and removes old counters, in a short transaction. Returns 0 only if nothing is left to do. */
  tidy(upkeep: InsightUpkeep): Promise<number>;
}
