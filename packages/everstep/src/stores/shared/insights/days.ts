/**
 * Writes separate counters for each ended day, the sums of its hours, so that reading 90 days does not read 2,160 hours of each
 * workflow. They are complete, because a fold also adds late counters to them (fold.ts). A day has counters if there is a row
 * with the totals of its workflows.
 */
import { addRuns, addStep, DAY_MS, noCounts, OTHER, type RunCounts, startOfDay } from '../../../engine/insights/counts.js';
import { integer, integerOrNull, text } from '../../records/columns.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, rows } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { type Counter, countsOfRow, lockCounters, MAX_STEPS, mergeInto, writeCounter } from './fold.js';
import { BY_START, OTHER_WORKFLOWS, PERIODS, SCOPES } from './periods.js';

/** Maximum number of workflows with their own counters in a day. They are those with the most runs. */
const MAX_WORKFLOWS = 100;

/** Returns the days that start in the time range and have their own counters. */
export function* daysWithCounters(instanceId: string, from: number, to: number): Procedure<ReadonlySet<number>> {
  const foundRows = yield* rows(sql`
    SELECT start FROM insight WHERE ${ofInstance(instanceId)} AND period = ${PERIODS.day} AND scope = ${SCOPES.runs}
      AND workflow = '' AND start >= ${from} AND start < ${to}`);
  return new Set(foundRows.map((dayRow) => integer(dayRow, 'start')));
}

/** Returns the first ended day that has counters of hours, after all days with their own counters; null if there is none. */
function* nextDay(instanceId: string, until: number): Procedure<number | null> {
  const ofTotals = (period: number, scope: number) =>
    sql`${ofInstance(instanceId)} AND period = ${period} AND scope = ${scope} AND workflow = ''`;
  const lastDayRow = yield* row(sql`SELECT max(start) AS start FROM insight WHERE ${ofTotals(PERIODS.day, SCOPES.runs)}`);
  const lastDay = lastDayRow ? integerOrNull(lastDayRow, 'start') : null;
  const from = lastDay === null ? 0 : lastDay + DAY_MS;
  let firstStart: number | null = null;
  for (const scope of [SCOPES.runs, SCOPES.messages]) {
    const foundRow = yield* row(sql`
      SELECT min(start) AS start FROM insight
      WHERE ${ofTotals(PERIODS.hour, scope)} AND start >= ${from} AND start < ${startOfDay(until)}`);
    const start = foundRow ? integerOrNull(foundRow, 'start') : null;
    if (start !== null) firstStart = Math.min(firstStart ?? start, start);
  }
  return firstStart === null ? null : startOfDay(firstStart);
}

/** Returns the counters with the steps that were executed most often; the other steps are counted together. */
function limitSteps({ steps, ...runs }: RunCounts): RunCounts {
  const namedSteps = [...steps].filter(([name]) => name !== OTHER);
  const otherSteps = [...steps].filter(([name]) => name === OTHER);
  const rankedSteps = namedSteps.sort(([, a], [, b]) => b.finished + b.failures - (a.finished + a.failures));
  const counts: RunCounts = { ...runs, steps: new Map(rankedSteps.slice(0, MAX_STEPS)) };
  for (const [, step] of [...rankedSteps.slice(MAX_STEPS), ...otherSteps]) addStep(counts, OTHER, step);
  return counts;
}

/** Returns the counters of the workflows with the most runs; those of the others are added up, without the names of their steps. */
function limitWorkflows(sums: ReadonlyMap<string, RunCounts>): ReadonlyMap<string, RunCounts> {
  const namedWorkflows = [...sums]
    .filter(([workflow]) => workflow !== OTHER_WORKFLOWS)
    .sort(([, a], [, b]) => b.started - a.started);
  const topWorkflows = new Map(
    namedWorkflows.slice(0, MAX_WORKFLOWS).map(([workflow, counts]) => [workflow, limitSteps(counts)]),
  );
  const otherWorkflows = [
    ...namedWorkflows.slice(MAX_WORKFLOWS),
    ...[...sums].filter(([workflow]) => workflow === OTHER_WORKFLOWS),
  ];
  if (otherWorkflows.length === 0) return topWorkflows;
  const sum = noCounts();
  for (const [, counts] of otherWorkflows) {
    addRuns(sum, counts);
    for (const step of counts.steps.values()) addStep(sum, OTHER, step);
  }
  return topWorkflows.set(OTHER_WORKFLOWS, sum);
}

/** Adds up the hours of one day that ended by `until`, Unix ms. Returns the number of days, 0 if there are none. */
export function* addUpDay(instanceId: string, until: number | null): Procedure<number> {
  if (until === null) return 0;
  yield* rows(lockCounters(instanceId));
  const day = yield* nextDay(instanceId, until);
  if (day === null) return 0;
  const totals = new Map<number, RunCounts>([[SCOPES.runs, noCounts()]]);
  const workflows = new Map<string, RunCounts>();
  const foundRows = yield* rows(sql`
    SELECT scope, workflow, started, succeeded, failed, canceled, durations, steps FROM insight ${BY_START}
    WHERE ${ofInstance(instanceId)} AND period = ${PERIODS.hour} AND start >= ${day} AND start < ${day + DAY_MS}`);
  for (const sumRow of foundRows) {
    const scope = integer(sumRow, 'scope');
    if (scope === SCOPES.workflow) mergeInto(workflows, text(sumRow, 'workflow'), countsOfRow(sumRow));
    else mergeInto(totals, scope, countsOfRow(sumRow));
  }
  const dayCounter = (scope: number, workflow: string, counts: RunCounts): Counter => ({
    period: PERIODS.day,
    start: day,
    scope,
    workflow,
    counts,
  });
  for (const [scope, counts] of totals) yield* writeCounter(instanceId, dayCounter(scope, '', counts));
  for (const [workflow, counts] of limitWorkflows(workflows))
    yield* writeCounter(instanceId, dayCounter(SCOPES.workflow, workflow, counts));
  return 1;
}
