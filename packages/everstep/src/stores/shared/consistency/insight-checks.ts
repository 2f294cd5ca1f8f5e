/** Checks of the counters of insights. Runs may be removed before their counters, so a counter can exceed the found runs. */
import { DAY_MS } from '../../../engine/insights/counts.js';
import type { ConsistencyCheck } from './check-definition.js';

/** Counts of commits that are not yet added to the counters, as rows of hours. Each text is JSON of `StoredCounts`. */
const COMMIT_COUNTS = {
  sqlite: `
    SELECT d.tenant, (e.value ->> 0) / 3600000 * 3600000 AS start, e.value ->> 2 AS started, e.value ->> 3 AS succeeded,
      e.value ->> 4 AS failed, e.value ->> 5 AS canceled
    FROM insight_delta d, json_each(d.counts) e`,
  postgres: `
    SELECT d.instance_id, (e ->> 0)::bigint / 3600000 * 3600000 AS start, (e ->> 2)::bigint AS started,
      (e ->> 3)::bigint AS succeeded, (e ->> 4)::bigint AS failed, (e ->> 5)::bigint AS canceled
    FROM insight_delta d, jsonb_array_elements(d.counts::jsonb) e`,
};

const STATES = ['started', 'succeeded', 'failed', 'canceled'] as const;

/** Returns SQL for the counters of each hour, with a row for each state. */
const hourSums = (ownerColumn: string, commitCounts: string): string => `
  WITH hours AS (
    SELECT ${ownerColumn}, start, started, succeeded, failed, canceled FROM insight WHERE period = 1 AND scope IN (0, 1)
    UNION ALL ${commitCounts})
  ${STATES.map((state) => `SELECT ${ownerColumn}, start, '${state}' AS state, sum(${state}) AS count FROM hours GROUP BY ${ownerColumn}, start`).join(' UNION ALL ')}`;

/** Returns SQL for hours with uncounted runs. The first hour is skipped: it may have runs that are older than the counters. */
const uncountedRuns = (ownerColumn: string, sums: string, foundRuns: string): string => `
  SELECT f.${ownerColumn} || ', hour ' || f.start || ': ' || coalesce(c.count, 0) || ' ' || f.state || ' counted, ' || f.count || ' found' AS what
  FROM (${foundRuns}) f
  JOIN (SELECT ${ownerColumn}, min(start) AS start FROM (${sums}) k GROUP BY ${ownerColumn}) b ON b.${ownerColumn} = f.${ownerColumn} AND b.start < f.start
  LEFT JOIN (${sums}) c ON c.${ownerColumn} = f.${ownerColumn} AND c.start = f.start AND c.state = f.state
  WHERE f.count > coalesce(c.count, 0)`;

const hourOf = (column: string): string => `(${column} / 3600000 * 3600000)`;

const FOUND_RUNS = {
  sqlite: `
    SELECT tenant, ${hourOf('created_at')} AS start, 'started' AS state, count(*) AS count FROM run GROUP BY 1, 2
    UNION ALL
    SELECT tenant, ${hourOf('completed_at')} AS start, status AS state, count(*) AS count FROM run
    WHERE status <> 'active' GROUP BY 1, 2, 3`,
  postgres: `
    SELECT instance_id, ${hourOf('created_at')} AS start, 'started' AS state, count(*) AS count FROM run GROUP BY 1, 2
    UNION ALL
    SELECT instance_id, ${hourOf('completed_at')} AS start,
      CASE state WHEN 'deadLetter' THEN 'failed' ELSE state END AS state, count(*) AS count
    FROM ended_run GROUP BY 1, 2, 3`,
};

const SUMS_DIFFER = STATES.map((state) => `sum(side * ${state}) <> 0`).join(' OR ');

const hoursDifferFromMinutes = (ownerColumn: string): string => `
  SELECT i.${ownerColumn} || ', hour ' || ${hourOf('i.start')} || ', ' || i.workflow AS what
  FROM (SELECT x.*, CASE period WHEN 1 THEN 1 ELSE -1 END AS side FROM insight x WHERE period IN (0, 1)) i
  JOIN (SELECT ${ownerColumn}, min(start) AS start FROM insight WHERE period = 0 GROUP BY ${ownerColumn}) b
    ON b.${ownerColumn} = i.${ownerColumn} AND b.start < ${hourOf('i.start')}
  GROUP BY i.${ownerColumn}, ${hourOf('i.start')}, i.scope, i.workflow HAVING ${SUMS_DIFFER}`;

/** A day has the totals of its hours, but fewer workflows. The first day may have lost hours. */
const daysDifferFromHours = (ownerColumn: string): string => `
  SELECT d.${ownerColumn} || ', day ' || d.start AS what
  FROM insight d
  JOIN (SELECT ${ownerColumn}, min(start) AS start FROM insight WHERE period = 1 GROUP BY ${ownerColumn}) b
    ON b.${ownerColumn} = d.${ownerColumn} AND b.start <= d.start
  LEFT JOIN insight h ON h.${ownerColumn} = d.${ownerColumn} AND h.period = 1 AND h.scope = d.scope AND h.workflow = ''
    AND h.start >= d.start AND h.start < d.start + ${DAY_MS}
  WHERE d.period = 2 AND d.scope IN (0, 1)
  GROUP BY d.${ownerColumn}, d.start, d.scope, ${STATES.map((state) => `d.${state}`).join(', ')}
  HAVING ${STATES.map((state) => `d.${state} <> coalesce(sum(h.${state}), 0)`).join(' OR ')}`;

const totalsDiffer = (ownerColumn: string): string => `
  SELECT i.${ownerColumn} || ', period ' || i.period || ', ' || i.start AS what
  FROM (SELECT x.*, CASE scope WHEN 0 THEN 1 ELSE -1 END AS side FROM insight x WHERE scope <> 1) i
  GROUP BY i.${ownerColumn}, i.period, i.start HAVING ${SUMS_DIFFER}`;

export const INSIGHT_CHECKS: readonly ConsistencyCheck[] = [
  {
    id: 'runs-counted',
    rule: 'The counters of an hour contain every run that started or ended in it.',
    sqlite: uncountedRuns('tenant', hourSums('tenant', COMMIT_COUNTS.sqlite), FOUND_RUNS.sqlite),
    postgres: uncountedRuns('instance_id', hourSums('instance_id', COMMIT_COUNTS.postgres), FOUND_RUNS.postgres),
  },
  {
    id: 'hours-sum-minutes',
    rule: 'The counters of an hour are the sums of those of its minutes.',
    sqlite: hoursDifferFromMinutes('tenant'),
    postgres: hoursDifferFromMinutes('instance_id'),
  },
  {
    id: 'days-sum-hours',
    rule: 'The totals of a day are the sums of those of its hours.',
    sqlite: daysDifferFromHours('tenant'),
    postgres: daysDifferFromHours('instance_id'),
  },
  {
    id: 'totals-sum-workflows',
    rule: 'The counters of all workflows are the sums of those of each workflow.',
    sqlite: totalsDiffer('tenant'),
    postgres: totalsDiffer('instance_id'),
  },
];
