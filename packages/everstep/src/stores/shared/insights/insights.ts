/** Reads and removes the counters of insights. */
import { addRuns, noCounts, type RunCounts, startOfHour } from '../../../engine/insights/counts.js';
import { countsFrom } from '../../../engine/insights/stored-counts.js';
import type {
  InsightPeriod,
  InsightPoint,
  InsightRemoval,
  InsightSeriesQuery,
  InsightStore,
  WorkflowTotals,
  WorkflowTotalsQuery,
} from '../../../ports/stores/insights/insight-store.js';
import { integer, text, textOrNull } from '../../records/columns.js';
import { isOneOfNumbers, ofInstance } from '../sql/dialect.js';
import { count, type Procedure, rows, type SqlStore } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { countsOfDelta } from './deltas.js';
import { countsOfRow, foldInsights, mergeInto, OTHER_WORKFLOWS, PERIODS, SCOPES } from './fold.js';

/** Maximum number of periods that are removed in one transaction. */
const REMOVED_AT_ONCE = 50;

const startIn = (period: InsightPeriod, minute: number): number => (period === 'hour' ? startOfHour(minute) : minute);

/** Reads a series in one statement, so that no row is added to the counters between two reads. */
function* series({ instanceId, subject, period, starts }: InsightSeriesQuery): Procedure<readonly InsightPoint[]> {
  const isWorkflow = typeof subject !== 'string';
  const scope = isWorkflow ? SCOPES.workflow : SCOPES[subject];
  const workflow = isWorkflow ? subject.workflow : '';
  const found = yield* rows(sql`
    SELECT start, started, succeeded, failed, canceled, durations, steps, NULL AS counts FROM insight
    WHERE ${ofInstance(instanceId)} AND period = ${PERIODS[period]} AND start ${isOneOfNumbers(starts)}
      AND scope = ${scope} AND workflow = ${workflow}
    UNION ALL
    SELECT 0, 0, 0, 0, 0, '', '', counts FROM insight_delta WHERE ${ofInstance(instanceId)}`);
  const wanted = new Set(starts);
  const points = new Map<number, RunCounts>();
  for (const row of found) {
    const delta = textOrNull(row, 'counts');
    if (delta === null) mergeInto(points, integer(row, 'start'), countsOfRow(row));
    else
      for (const stored of countsOfDelta(delta)) {
        const start = startIn(period, stored[0]);
        if (!wanted.has(start) || !isOf(subject, stored[1])) continue;
        const counts = countsFrom(stored);
        mergeInto(points, start, isWorkflow ? counts : { ...counts, steps: new Map() });
      }
  }
  return [...points].map(([start, counts]) => ({ start, counts })).sort((a, b) => a.start - b.start);
}

function isOf(subject: InsightSeriesQuery['subject'], workflow: string | null): boolean {
  if (subject === 'messages') return workflow === null;
  return subject === 'runs' ? workflow !== null : workflow === subject.workflow;
}

function* workflowTotals({ instanceId, period, from, to }: WorkflowTotalsQuery): Procedure<readonly WorkflowTotals[]> {
  const found = yield* rows(sql`
    SELECT workflow, started, succeeded, failed, canceled, NULL AS counts FROM insight
    WHERE ${ofInstance(instanceId)} AND period = ${PERIODS[period]} AND start BETWEEN ${from} AND ${to}
      AND scope = ${SCOPES.workflow}
    UNION ALL
    SELECT '', 0, 0, 0, 0, counts FROM insight_delta WHERE ${ofInstance(instanceId)}`);
  const sums = new Map<string, RunCounts>();
  const add = (workflow: string, counts: Omit<WorkflowTotals, 'workflow'>): void => {
    const sum = sums.get(workflow) ?? noCounts();
    sums.set(workflow, sum);
    addRuns(sum, { ...noCounts(), ...counts });
  };
  for (const row of found) {
    const delta = textOrNull(row, 'counts');
    if (delta === null)
      add(text(row, 'workflow'), {
        started: integer(row, 'started'),
        succeeded: integer(row, 'succeeded'),
        failed: integer(row, 'failed'),
        canceled: integer(row, 'canceled'),
      });
    else
      for (const [minute, workflow, started, succeeded, failed, canceled] of countsOfDelta(delta)) {
        const start = startIn(period, minute);
        if (workflow !== null && start >= from && start <= to) add(workflow, { started, succeeded, failed, canceled });
      }
  }
  return [...sums].map(([workflow, { started, succeeded, failed, canceled }]) => ({
    workflow: workflow === OTHER_WORKFLOWS ? null : workflow,
    started,
    succeeded,
    failed,
    canceled,
  }));
}

function* removePeriods(instanceId: string, period: InsightPeriod, before: number | null): Procedure<number> {
  if (before === null) return 0;
  return yield* count(sql`
    DELETE FROM insight WHERE ${ofInstance(instanceId)} AND period = ${PERIODS[period]} AND start IN (
      SELECT start FROM insight WHERE ${ofInstance(instanceId)} AND period = ${PERIODS[period]} AND start < ${before}
      ORDER BY start LIMIT ${REMOVED_AT_ONCE})`);
}

function* removeBefore({ instanceId, minutesBefore, hoursBefore }: InsightRemoval): Procedure<number> {
  return (
    (yield* foldInsights(instanceId)) +
    (yield* removePeriods(instanceId, 'minute', minutesBefore)) +
    (yield* removePeriods(instanceId, 'hour', hoursBefore))
  );
}

export const createInsights = (store: SqlStore): InsightStore => ({
  series: (query) => store.read(series(query)),
  workflowTotals: (query) => store.read(workflowTotals(query)),
  removeBefore: (removal) => store.write(() => removeBefore(removal), { durable: false }),
});
