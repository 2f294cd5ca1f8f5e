/**
 * Adds the counters of commits to those of their minute and hour, and to those of a day that has its own counters (days.ts).
 * The number of workflows that have their own counters in an hour is limited, and so is the number of their steps; the others
 * are counted together. Totals of an instance are separate counters, so that reading them does not depend on the number of
 * workflows.
 */
import {
  addCounts,
  addRuns,
  addStep,
  noCounts,
  OTHER,
  type RunCounts,
  startOfDay,
  startOfHour,
} from '../../../engine/insights/counts.js';
import {
  countsFrom,
  histogramFrom,
  type StoredHistogram,
  type StoredSteps,
  stepsFrom,
  storedHistogram,
  storedSteps,
} from '../../../engine/insights/stored-counts.js';
import { integer, type Row, text } from '../../records/columns.js';
import { INSTANCE_COLUMN, instanceColumnValue, ofInstance } from '../sql/dialect.js';
import { type Procedure, rows, send } from '../sql/procedure.js';
import { byDialect, raw, type Sql, sql } from '../sql/sql.js';
import { countsOfDelta } from './deltas.js';
import { BY_START, OTHER_WORKFLOWS, PERIODS, SCOPES } from './periods.js';

/** Maximum number of workflows with their own counters in an hour of an instance. */
const MAX_WORKFLOWS = 50;
/** Maximum number of steps with their own counters in an hour or a day of a workflow. */
export const MAX_STEPS = 20;
/** Maximum length of a URL with its own counters. */
const MAX_WORKFLOW_LENGTH = 1_000;
/** Maximum number of rows of commits that are added in one transaction. */
const ROWS_AT_ONCE = 1_000;

/** Locks the counters of an instance, so that one process at a time adds to them. */
export const lockCounters = (instanceId: string): Sql =>
  byDialect({
    sqlite: sql`SELECT 1`,
    postgres: sql`SELECT pg_advisory_xact_lock(hashtextextended(${`insights ${instanceId}`}, 0))`,
  });

export interface Counter {
  readonly period: number;
  readonly start: number;
  readonly scope: number;
  readonly workflow: string;
  readonly counts: RunCounts;
}

/** Reads the counters of a row without those of its steps. */
export const runsOfRow = (row: Row): RunCounts => ({
  started: integer(row, 'started'),
  succeeded: integer(row, 'succeeded'),
  failed: integer(row, 'failed'),
  canceled: integer(row, 'canceled'),
  // `writeCounter` has written the JSON.
  durations: histogramFrom(JSON.parse(text(row, 'durations')) as StoredHistogram),
  steps: new Map(),
});

export const countsOfRow = (row: Row): RunCounts => ({
  ...runsOfRow(row),
  steps: stepsFrom(JSON.parse(text(row, 'steps')) as StoredSteps),
});

/** Counters of an instance that a fold changes. */
class Counters {
  private readonly counters = new Map<string, Counter>();
  private readonly countersToWrite = new Set<Counter>();
  /** Number of workflows with their own counters, by hour. */
  private readonly workflowCounts = new Map<number, number>();
  /** Days with their own counters. */
  private readonly days = new Set<number>();

  addRow(row: Row): void {
    const counter = {
      period: integer(row, 'period'),
      start: integer(row, 'start'),
      scope: integer(row, 'scope'),
      workflow: text(row, 'workflow'),
      counts: countsOfRow(row),
    };
    this.keepCounter(counter);
  }

  /** Returns the counts of a counter, which the caller changes. */
  countsToChange(period: number, start: number, scope: number, workflow = ''): RunCounts {
    const key = keyOf(period, start, scope, workflow);
    const counter = this.counters.get(key) ?? { period, start, scope, workflow, counts: noCounts() };
    this.keepCounter(counter);
    this.countersToWrite.add(counter);
    return counter.counts;
  }

  /** Returns the name under which the workflow is counted in the hour. */
  nameInHour(hour: number, workflow: string): string {
    if (this.counters.has(keyOf(PERIODS.hour, hour, SCOPES.workflow, workflow))) return workflow;
    const isFull = (this.workflowCounts.get(hour) ?? 0) >= MAX_WORKFLOWS;
    return isFull || workflow.length > MAX_WORKFLOW_LENGTH ? OTHER_WORKFLOWS : workflow;
  }

  hasDay(day: number): boolean {
    return this.days.has(day);
  }

  /** Returns the name under which the workflow is counted in the day, whose workflows are those with the most runs. */
  nameInDay(day: number, name: string): string {
    return this.counters.has(keyOf(PERIODS.day, day, SCOPES.workflow, name)) ? name : OTHER_WORKFLOWS;
  }

  get changedCounters(): ReadonlySet<Counter> {
    return this.countersToWrite;
  }

  private keepCounter(counter: Counter): void {
    const { period, start, scope, workflow } = counter;
    const key = keyOf(period, start, scope, workflow);
    if (this.counters.has(key)) return;
    this.counters.set(key, counter);
    if (period === PERIODS.day) this.days.add(start);
    if (period === PERIODS.hour && scope === SCOPES.workflow && workflow !== OTHER_WORKFLOWS)
      this.workflowCounts.set(start, (this.workflowCounts.get(start) ?? 0) + 1);
  }
}

const keyOf = (period: number, start: number, scope: number, workflow: string): string =>
  `${period} ${start} ${scope} ${workflow}`;

/** Adds the counters of a workflow. Steps that have no counters in `longerPeriod` are counted together. */
function addWorkflow(longerPeriod: RunCounts, shorterPeriod: RunCounts | null, addedCounts: RunCounts, isOther: boolean): void {
  const periods = shorterPeriod === null ? [longerPeriod] : [longerPeriod, shorterPeriod];
  for (const [name, step] of addedCounts.steps) {
    const hasCounters = !isOther && (longerPeriod.steps.has(name) || longerPeriod.steps.size < MAX_STEPS);
    for (const counts of periods) addStep(counts, hasCounters ? name : OTHER, step);
  }
  for (const counts of periods) addRuns(counts, addedCounts);
}

function addDeltas(counters: Counters, deltas: readonly string[]): void {
  for (const storedCounts of deltas.flatMap(countsOfDelta)) {
    const [minute, workflow] = storedCounts;
    const hour = startOfHour(minute);
    const day = startOfDay(minute);
    const addedCounts = countsFrom(storedCounts);
    const totalScope = workflow === null ? SCOPES.messages : SCOPES.runs;
    addRuns(counters.countsToChange(PERIODS.hour, hour, totalScope), addedCounts);
    addRuns(counters.countsToChange(PERIODS.minute, minute, totalScope), addedCounts);
    if (counters.hasDay(day)) addRuns(counters.countsToChange(PERIODS.day, day, totalScope), addedCounts);
    if (workflow === null) continue;
    const name = counters.nameInHour(hour, workflow);
    const hourCounts = counters.countsToChange(PERIODS.hour, hour, SCOPES.workflow, name);
    const minuteCounts = counters.countsToChange(PERIODS.minute, minute, SCOPES.workflow, name);
    addWorkflow(hourCounts, minuteCounts, addedCounts, name === OTHER_WORKFLOWS);
    if (!counters.hasDay(day)) continue;
    const dayName = counters.nameInDay(day, name);
    const dayCounts = counters.countsToChange(PERIODS.day, day, SCOPES.workflow, dayName);
    addWorkflow(dayCounts, null, addedCounts, dayName === OTHER_WORKFLOWS);
  }
}

export function* writeCounter(instanceId: string, { period, start, scope, workflow, counts }: Counter): Procedure<void> {
  const { started, succeeded, failed, canceled } = counts;
  const durations = JSON.stringify(storedHistogram(counts.durations));
  const steps = JSON.stringify(storedSteps(counts.steps));
  yield* send(sql`
    INSERT INTO insight (${INSTANCE_COLUMN}, period, start, scope, workflow, started, succeeded, failed, canceled, durations, steps)
    VALUES (${instanceColumnValue(instanceId)}, ${period}, ${start}, ${scope}, ${workflow}, ${started}, ${succeeded}, ${failed}, ${canceled},
      ${durations}, ${steps})
    ON CONFLICT (${INSTANCE_COLUMN}, period, start, scope, workflow) DO UPDATE SET started = excluded.started,
      succeeded = excluded.succeeded, failed = excluded.failed, canceled = excluded.canceled,
      durations = excluded.durations, steps = excluded.steps`);
}

function* readPeriods(instanceId: string, period: number, starts: ReadonlySet<number>): Procedure<readonly Row[]> {
  const foundRows: Row[] = [];
  for (const start of starts)
    foundRows.push(
      ...(yield* rows(sql`
        SELECT period, start, scope, workflow, started, succeeded, failed, canceled, durations, steps FROM insight ${BY_START}
        WHERE ${ofInstance(instanceId)} AND period = ${period} AND start = ${start}`)),
    );
  return foundRows;
}

/** Adds the oldest rows of commits of the instance to its counters. Returns the number of added rows; 0 if there are none. */
export function* foldInsights(instanceId: string): Procedure<number> {
  yield* rows(lockCounters(instanceId));
  const deltas = (yield* rows(sql`
    DELETE FROM insight_delta WHERE ${ofInstance(instanceId)} AND seq IN (
      SELECT seq FROM insight_delta WHERE ${ofInstance(instanceId)} ORDER BY seq LIMIT ${raw(String(ROWS_AT_ONCE))})
    RETURNING counts`)).map((row) => text(row, 'counts'));
  if (deltas.length === 0) return 0;
  const minutes = new Set(deltas.flatMap(countsOfDelta).map(([minute]) => minute));
  const counters = new Counters();
  const starts = [
    [PERIODS.day, new Set([...minutes].map(startOfDay))],
    [PERIODS.hour, new Set([...minutes].map(startOfHour))],
    [PERIODS.minute, minutes],
  ] as const;
  for (const [period, startTimes] of starts)
    for (const row of yield* readPeriods(instanceId, period, startTimes)) counters.addRow(row);
  addDeltas(counters, deltas);
  for (const counter of counters.changedCounters) yield* writeCounter(instanceId, counter);
  return deltas.length;
}

/** Adds the counters to the sum of their key. */
export function mergeInto<Key>(sums: Map<Key, RunCounts>, key: Key, counts: RunCounts): void {
  const sum = sums.get(key);
  if (sum) addCounts(sum, counts);
  else sums.set(key, counts);
}
