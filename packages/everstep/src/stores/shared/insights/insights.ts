/** Reads and removes the counters of insights. */
import { addCounts, DAY_MS, noCounts, type RunCounts, startOfDay } from '../../../engine/insights/counts.js';
import { countsFrom } from '../../../engine/insights/stored-counts.js';
import type {
  InsightPeriod,
  InsightPoint,
  InsightSeriesQuery,
  InsightStore,
  InsightTime,
  InsightUpkeep,
  WorkflowSumQuery,
  WorkflowTotals,
  WorkflowTotalsQuery,
} from '../../../ports/stores/insights/insight-store.js';
import { integer, type Row, text, textOrNull } from '../../records/columns.js';
import { ofInstance } from '../sql/dialect.js';
import { count, type Procedure, rows, type SqlStore } from '../sql/procedure.js';
import { joinSql, raw, type Sql, sql } from '../sql/sql.js';
import { addUpDay, daysWithCounters } from './days.js';
import { countsOfDelta } from './deltas.js';
import { countsOfRow, foldInsights, mergeInto, runsOfRow } from './fold.js';
import {
  BY_START,
  hasDay,
  isStartOf,
  OTHER_WORKFLOWS,
  type Parts,
  PERIODS,
  partsOf,
  periodsIn,
  SCOPES,
  startIn,
} from './periods.js';

/** Maximum number of periods that are removed in one transaction. */
const REMOVED_AT_ONCE = 50;
const LONGEST_FIRST = ['day', 'hour', 'minute'] as const satisfies readonly InsightPeriod[];

/** The source from which the counters of a time are read. */
interface Source {
  readonly instanceId: string;
  readonly parts: Parts;
  readonly index?: Sql;
  /** Condition of the rows that are read. */
  readonly condition: Sql;
  /** Columns of the rows besides `start`, and the values that the row of a commit has instead. */
  readonly columns: Sql;
  readonly emptyColumns: Sql;
}

/** Reads counters, and commits that are not added to them yet. One statement reads both, so that each commit is read once. */
function* readRows({ instanceId, parts, index = raw(''), condition, columns, emptyColumns }: Source): Procedure<readonly Row[]> {
  const periodStatements = LONGEST_FIRST.filter((period) => parts[period].length > 0).map(
    (period) => sql`
    SELECT start, ${columns}, NULL AS counts FROM insight ${index}
    WHERE ${ofInstance(instanceId)} AND period = ${PERIODS[period]} AND ${condition} AND ${isStartOf(period, parts[period])}`,
  );
  const commitStatement = sql`SELECT 0, ${emptyColumns}, counts FROM insight_delta WHERE ${ofInstance(instanceId)}`;
  return yield* rows(joinSql([...periodStatements, commitStatement], ' UNION ALL '));
}

/** Calls `visit` with the counters of each commit in the time, by minute. The workflow of plain messages is null. */
function visitCommits(
  foundRows: readonly Row[],
  { from, to }: InsightTime,
  visit: (minute: number, workflow: string | null, counts: () => RunCounts) => void,
): void {
  for (const row of foundRows) {
    const delta = textOrNull(row, 'counts');
    if (delta === null) continue;
    for (const storedCounts of countsOfDelta(delta))
      if (storedCounts[0] >= from && storedCounts[0] < to)
        visit(storedCounts[0], storedCounts[1], () => countsFrom(storedCounts));
  }
}

const isOfPeriod = (row: Row): boolean => row.counts === null;

const RUN_COLUMNS = {
  columns: sql`started, succeeded, failed, canceled, durations`,
  emptyColumns: sql`0, 0, 0, 0, ''`,
};

function* partsOfTime(instanceId: string, time: InsightTime): Procedure<Parts> {
  const days = hasDay(time) ? yield* daysWithCounters(instanceId, time.from, time.to) : new Set<number>();
  return partsOf(time, days);
}

function* series(query: InsightSeriesQuery): Procedure<readonly InsightPoint[]> {
  const { instanceId, subject, period } = query;
  const scope = typeof subject === 'string' ? SCOPES[subject] : SCOPES.workflow;
  const workflow = typeof subject === 'string' ? '' : subject.workflow;
  const foundRows = yield* readRows({
    instanceId,
    // A day without its own counters is read as hours.
    parts: period === 'day' ? yield* partsOfTime(instanceId, query) : periodsIn(period, query),
    condition: sql`scope = ${scope} AND workflow = ${workflow}`,
    ...RUN_COLUMNS,
  });
  const points = new Map<number, RunCounts>();
  for (const row of foundRows) if (isOfPeriod(row)) mergeInto(points, startIn(period, integer(row, 'start')), runsOfRow(row));
  visitCommits(foundRows, query, (minute, countedWorkflow, counts) => {
    if (matchesSubject(subject, countedWorkflow)) mergeInto(points, startIn(period, minute), { ...counts(), steps: new Map() });
  });
  return [...points].map(([start, counts]) => ({ start, counts })).sort((a, b) => a.start - b.start);
}

function matchesSubject(subject: InsightSeriesQuery['subject'], workflow: string | null): boolean {
  if (subject === 'messages') return workflow === null;
  return subject === 'runs' ? workflow !== null : workflow === subject.workflow;
}

function* workflowSum({ instanceId, workflow, from, to }: WorkflowSumQuery): Procedure<RunCounts> {
  const foundRows = yield* readRows({
    instanceId,
    parts: yield* partsOfTime(instanceId, { from, to }),
    condition: sql`scope = ${SCOPES.workflow} AND workflow = ${workflow}`,
    columns: sql`${RUN_COLUMNS.columns}, steps`,
    emptyColumns: sql`${RUN_COLUMNS.emptyColumns}, ''`,
  });
  const sum = noCounts();
  for (const row of foundRows) if (isOfPeriod(row)) addCounts(sum, countsOfRow(row));
  visitCommits(foundRows, { from, to }, (_, countedWorkflow, counts) => {
    if (countedWorkflow === workflow) addCounts(sum, counts());
  });
  return sum;
}

function* workflowTotals({ instanceId, from, to }: WorkflowTotalsQuery): Procedure<readonly WorkflowTotals[]> {
  const foundRows = yield* readRows({
    instanceId,
    parts: yield* partsOfTime(instanceId, { from, to }),
    index: BY_START,
    condition: sql`scope = ${SCOPES.workflow}`,
    columns: sql`workflow, started, succeeded, failed, canceled`,
    emptyColumns: sql`'', 0, 0, 0, 0`,
  });
  const sums = new Map<string, { -readonly [Name in keyof WorkflowTotals]: WorkflowTotals[Name] }>();
  const sumOf = (workflow: string) => {
    let sum = sums.get(workflow);
    if (!sum) {
      sum = { workflow: workflow === OTHER_WORKFLOWS ? null : workflow, started: 0, succeeded: 0, failed: 0, canceled: 0 };
      sums.set(workflow, sum);
    }
    return sum;
  };
  const add = (workflow: string, counts: Omit<WorkflowTotals, 'workflow'>): void => {
    const sum = sumOf(workflow);
    sum.started += counts.started;
    sum.succeeded += counts.succeeded;
    sum.failed += counts.failed;
    sum.canceled += counts.canceled;
  };
  for (const row of foundRows)
    if (isOfPeriod(row))
      add(text(row, 'workflow'), {
        started: integer(row, 'started'),
        succeeded: integer(row, 'succeeded'),
        failed: integer(row, 'failed'),
        canceled: integer(row, 'canceled'),
      });
  visitCommits(foundRows, { from, to }, (_, workflow, counts) => {
    if (workflow !== null) add(workflow, counts());
  });
  return [...sums.values()];
}

function* removePeriods(instanceId: string, period: InsightPeriod, before: number | null): Procedure<number> {
  if (before === null) return 0;
  return yield* count(sql`
    DELETE FROM insight ${BY_START} WHERE ${ofInstance(instanceId)} AND period = ${PERIODS[period]} AND start IN (
      SELECT start FROM insight ${BY_START} WHERE ${ofInstance(instanceId)} AND period = ${PERIODS[period]} AND start < ${before}
      ORDER BY start LIMIT ${REMOVED_AT_ONCE})`);
}

/** A day is kept until its last hour is removed. */
const daysBefore = (hoursBefore: number | null): number | null =>
  hoursBefore === null ? null : startOfDay(hoursBefore) - DAY_MS + 1;

function* tidy({ instanceId, daysUntil, minutesBefore, hoursBefore }: InsightUpkeep): Procedure<number> {
  const changedRows =
    (yield* foldInsights(instanceId)) +
    (yield* removePeriods(instanceId, 'minute', minutesBefore)) +
    (yield* removePeriods(instanceId, 'hour', hoursBefore)) +
    (yield* removePeriods(instanceId, 'day', daysBefore(hoursBefore)));
  // Hours that are due to be removed are not added up.
  return changedRows > 0 ? changedRows : yield* addUpDay(instanceId, daysUntil);
}

export const createInsights = (store: SqlStore): InsightStore => ({
  series: (query) => store.read(series(query)),
  workflowSum: (query) => store.read(workflowSum(query)),
  workflowTotals: (query) => store.read(workflowTotals(query)),
  tidy: (upkeep) => store.write(() => tidy(upkeep), { durable: false }),
});
