/** Checks of the invariants of ARCHITECTURE.md over a whole store. Each statement selects the violations of a check, as `what`. */

import type { ConsistencyCheck } from './check-definition.js';
import { INSIGHT_CHECKS } from './insight-checks.js';

/** Sums of the embedded store that are not yet added to their tables: see `stores/sqlite/commit/unsettled-sums.ts`. */
const UNSETTLED_RUNS = `
  SELECT CAST(s.value -> 1 ->> 0 AS INTEGER) AS tenant, CAST(s.value -> 3 ->> 1 AS INTEGER) AS active_runs
  FROM counter c, json_each(iif(c.sums = '', '[]', c.sums)) s
  WHERE c.name = 'commits' AND c.sums IS NOT NULL AND s.value ->> 0 = 'instance_totals'`;

export const CONSISTENCY_CHECKS: readonly ConsistencyCheck[] = [
  {
    id: 'journal-complete',
    rule: 'The journal of a run has no gaps.',
    sqlite: `
      SELECT r.key AS what FROM (
        SELECT run_seq FROM step GROUP BY run_seq HAVING min(idx) <> 0 OR max(idx) + 1 <> count(*)) s
      JOIN run r ON r.seq = s.run_seq`,
    postgres: `
      SELECT r.run_key AS what FROM (
        SELECT instance_id, run_key FROM step GROUP BY instance_id, run_key
        HAVING min(idx) <> 0 OR max(idx) + 1 <> count(*)) s
      JOIN run r USING (instance_id, run_key)`,
  },
  {
    id: 'step-recorded-once',
    rule: 'A step is recorded once.',
    sqlite: `
      SELECT r.key || ', step ' || s.step_id AS what
      FROM (SELECT run_seq, step_id FROM step GROUP BY run_seq, step_id HAVING count(*) > 1) s JOIN run r ON r.seq = s.run_seq`,
    postgres: `
      SELECT run_key || ', step ' || step_id AS what FROM step
      GROUP BY instance_id, run_key, step_id HAVING count(*) > 1`,
  },
  {
    id: 'run-has-payload',
    rule: 'Every run has its payload.',
    sqlite: 'SELECT r.key AS what FROM run r WHERE NOT EXISTS (SELECT 1 FROM payload p WHERE p.run_seq = r.seq)',
    postgres: `
      SELECT r.run_key AS what FROM run r
      WHERE NOT EXISTS (SELECT 1 FROM payload p WHERE p.instance_id = r.instance_id AND p.run_key = r.run_key)`,
  },
  {
    id: 'one-active-run-per-id',
    rule: 'At most one run with a given id is active in a queue instance.',
    sqlite: `
      SELECT t.instance_id || ', run id ' || r.workflow_run_id AS what
      FROM (SELECT tenant, workflow_run_id FROM run WHERE status = 'active'
        GROUP BY tenant, workflow_run_id HAVING count(*) > 1) r
      JOIN tenant t ON t.seq = r.tenant`,
    postgres: `
      SELECT instance_id || ', run id ' || workflow_run_id AS what FROM active_run
      GROUP BY instance_id, workflow_run_id HAVING count(*) > 1`,
  },
  {
    id: 'active-run-has-task',
    rule: 'An active run has at least one task.',
    sqlite: `
      SELECT r.key AS what FROM run r
      WHERE r.status = 'active' AND NOT EXISTS (SELECT 1 FROM task t WHERE t.run_seq = r.seq)`,
    postgres: `
      SELECT a.run_key AS what FROM active_run a
      WHERE NOT EXISTS (SELECT 1 FROM task t WHERE t.instance_id = a.instance_id AND t.run_key = a.run_key)`,
  },
  {
    id: 'ended-run-does-nothing',
    rule: 'A run that has ended has no due task except the failure callback.',
    sqlite: `
      SELECT r.key || ', task ' || t.slot AS what FROM task t JOIN run r ON r.seq = t.run_seq
      WHERE r.status <> 'active' AND t.due_at IS NOT NULL AND t.kind <> 'callback'`,
    postgres: `
      SELECT t.run_key || ', task ' || t.slot AS what FROM task t JOIN ended_run e USING (instance_id, run_key)
      WHERE t.due_at IS NOT NULL AND t.kind <> 'callback'`,
  },
  {
    id: 'task-has-run',
    rule: 'Every task belongs to a run.',
    sqlite: `
      SELECT 'task ' || t.slot || ' of row ' || t.run_seq AS what FROM task t
      WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.seq = t.run_seq)`,
    postgres: `
      SELECT t.run_key || ', task ' || t.slot AS what FROM task t
      WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.instance_id = t.instance_id AND r.run_key = t.run_key)`,
  },
  {
    id: 'dead-letter-has-run',
    rule: 'Every dead letter belongs to a failed run, and a run has at most one.',
    sqlite: `
      SELECT d.dlq_id AS what FROM dead_letter d LEFT JOIN run r ON r.seq = d.run_seq
      WHERE r.seq IS NULL OR r.status <> 'failed' OR r.dead_letter_seq IS NOT d.seq`,
    postgres: `
      SELECT d.dlq_id AS what FROM dead_letter d LEFT JOIN ended_run e USING (instance_id, run_key)
      WHERE e.state IS DISTINCT FROM 'deadLetter'
      UNION ALL
      SELECT run_key FROM dead_letter GROUP BY instance_id, run_key HAVING count(*) > 1`,
  },
  {
    id: 'failed-run-has-dead-letter',
    rule: 'A failed run that was not recovered or deleted has a dead letter.',
    sqlite: `
      SELECT r.key AS what FROM run r
      WHERE r.dead_letter_seq IS NOT NULL AND NOT EXISTS (SELECT 1 FROM dead_letter d WHERE d.seq = r.dead_letter_seq)`,
    postgres: `
      SELECT e.run_key AS what FROM ended_run e
      WHERE e.state = 'deadLetter'
        AND NOT EXISTS (SELECT 1 FROM dead_letter d WHERE d.instance_id = e.instance_id AND d.run_key = e.run_key)`,
  },
  {
    id: 'group-counts-entries',
    rule: 'A group of dead letters counts its entries.',
    sqlite: `
      SELECT g.fingerprint || ': ' || g.entries || ' counted, ' || coalesce(d.count, 0) || ' found' AS what
      FROM dead_letter_group g LEFT JOIN (
        SELECT tenant, fingerprint, count(*) AS count FROM dead_letter GROUP BY tenant, fingerprint) d
      ON d.tenant = g.tenant AND d.fingerprint = g.fingerprint WHERE g.entries <> coalesce(d.count, 0)`,
    postgres: `
      SELECT g.fingerprint || ': ' || g.entries || ' counted, ' || coalesce(d.count, 0) || ' found' AS what
      FROM dead_letter_group g LEFT JOIN (
        SELECT instance_id, fingerprint, count(*) AS count FROM dead_letter GROUP BY instance_id, fingerprint) d
      USING (instance_id, fingerprint) WHERE g.entries <> coalesce(d.count, 0)`,
  },
  {
    id: 'active-runs-counted',
    rule: 'The number of active runs of a queue instance is correct.',
    sqlite: `
      SELECT t.instance_id || ': ' || coalesce(s.count, 0) || ' counted, ' || coalesce(r.count, 0) || ' found' AS what
      FROM tenant t LEFT JOIN (
        SELECT tenant, sum(active_runs) AS count
        FROM (SELECT tenant, active_runs FROM instance_totals UNION ALL ${UNSETTLED_RUNS}) GROUP BY tenant) s
      ON s.tenant = t.seq LEFT JOIN (
        SELECT tenant, count(*) AS count FROM run WHERE status = 'active' GROUP BY tenant) r
      ON r.tenant = t.seq WHERE coalesce(s.count, 0) <> coalesce(r.count, 0)`,
    postgres: `
      SELECT instance_id || ': ' || coalesce(s.count, 0) || ' counted, ' || coalesce(r.count, 0) || ' found' AS what
      FROM (SELECT instance_id, sum(active_runs) AS count FROM instance_totals GROUP BY instance_id) s
      FULL JOIN (SELECT instance_id, count(*) AS count FROM active_run GROUP BY instance_id) r USING (instance_id)
      WHERE coalesce(s.count, 0) <> coalesce(r.count, 0)`,
  },
  ...INSIGHT_CHECKS,
];

/** Maximum number of violations that are shown for each check. */
export const MAX_EXAMPLES = 10;

/** The result of a check. */
export interface CheckResult {
  readonly id: string;
  readonly rule: string;
  /** Number of violations. */
  readonly violations: number;
  /** Some of the violations. */
  readonly examples: readonly string[];
}

/** Returns the statement that counts the violations and shows some of them, as `violations` and `what`. */
export const countWithExamples = (sql: string): string =>
  `SELECT what, count(*) OVER () AS violations FROM (${sql}) v LIMIT ${MAX_EXAMPLES}`;

export const resultOf = (
  { id, rule }: ConsistencyCheck,
  rows: readonly { readonly what: string; readonly violations: number }[],
): CheckResult => ({ id, rule, violations: rows[0]?.violations ?? 0, examples: rows.map(({ what }) => what) });
