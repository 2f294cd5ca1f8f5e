/** Each check of the invariants finds the damage that it is for. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS, HOUR_MS } from '../../../engine/insights/counts.js';
import type { Store } from '../../../ports/stores/store.js';
import { failedRun } from '../../conformance/groups/samples.js';
import { advanceTask, apply, creation, INSTANCE, putTasks, sampleRun, sampleStep, T0 } from '../../conformance/samples.js';
import { type Connection, openConnection } from '../connection/connection.js';
import { createSqliteStore } from '../index.js';
import { checkConsistency } from './consistency.js';

const violated = (connection: Connection) =>
  checkConsistency(connection)
    .filter(({ violations }) => violations > 0)
    .map(({ id }) => id);

/** Damage, and the checks that find it. Run 1 is active and has two steps, run 2 has failed. */
const DAMAGE: readonly (readonly [sql: string, ...ids: readonly string[]])[] = [
  ['DELETE FROM step WHERE idx = 0', 'journal-complete'],
  ['UPDATE step SET step_id = 1', 'step-recorded-once'],
  ['DELETE FROM payload', 'run-has-payload'],
  ["UPDATE payload SET body = CAST('other' AS BLOB)", 'values-unchanged'],
  ["UPDATE step SET out = 'null' WHERE idx = 1", 'values-unchanged'],
  [
    `INSERT INTO run (key, tenant, status, created_at, listed_at, workflow_run_id, dialect, workflow_url, caller_ip, settings)
       SELECT 'KEY2', tenant, status, created_at, listed_at, workflow_run_id, dialect, workflow_url, caller_ip, settings
       FROM run WHERE status = 'active'`,
    'run-has-payload',
    'one-active-run-per-id',
    'active-run-has-task',
    'active-runs-counted',
    'runs-counted',
  ],
  ["DELETE FROM task WHERE kind = 'advance'", 'active-run-has-task'],
  ["UPDATE run SET status = 'succeeded' WHERE status = 'active'", 'ended-run-does-nothing', 'active-runs-counted'],
  ['UPDATE task SET run_seq = 99', 'active-run-has-task', 'task-has-run'],
  ['UPDATE dead_letter SET run_seq = 99', 'dead-letter-has-run'],
  ['DELETE FROM dead_letter', 'failed-run-has-dead-letter', 'group-counts-entries'],
  ['UPDATE dead_letter_group SET entries = 7', 'group-counts-entries'],
  ['INSERT INTO instance_totals VALUES (1, 0, 5) ON CONFLICT DO UPDATE SET active_runs = active_runs + 5', 'active-runs-counted'],
  [
    'UPDATE insight SET started = 0 WHERE period = 1 AND scope = 0',
    'runs-counted',
    'hours-sum-minutes',
    'days-sum-hours',
    'totals-sum-workflows',
  ],
  ['UPDATE insight SET failed = 3 WHERE period = 0', 'hours-sum-minutes'],
  ['UPDATE insight SET failed = 3 WHERE period = 2', 'days-sum-hours'],
];

/** Counts both runs, after the first hour and the first day with counters. */
async function count(store: Store): Promise<void> {
  const counts = { kind: 'count-insights', instanceId: INSTANCE, workflow: 'http://app.example/order', started: true } as const;
  await apply(store, [
    { ...counts, at: T0 - DAY_MS },
    { ...counts, at: T0 - 2 * HOUR_MS },
    { ...counts, at: T0 + 2 },
  ]);
  await apply(store, [{ ...counts, at: T0 + 2, ended: { status: 'failed', durationMs: 5 } }]);
  const upkeep = { instanceId: INSTANCE, daysUntil: T0 + DAY_MS, minutesBefore: null, hoursBefore: null };
  while ((await store.insights.tidy(upkeep)) > 0);
}

describe('the invariants of a store', () => {
  for (const [sql, ...ids] of [['SELECT 1'] as const, ...DAMAGE]) {
    test(`after "${sql}", the violated checks are: ${ids.join(', ') || 'none'}`, async () => {
      const connection = openConnection(':memory:');
      const store = createSqliteStore(connection);
      try {
        const run = sampleRun(1);
        await apply(store, [creation(run), ...putTasks(run.key, [advanceTask(T0)])]);
        for (const [index, stepId] of [1, 2].entries())
          await apply(store, [{ kind: 'record-step', runKey: run.key, step: sampleStep(index, { stepId }) }]);
        await apply(store, failedRun(2, T0));
        await count(store);
        assert.ok(run.instanceId === INSTANCE);
        connection.exec('DROP INDEX step_out_of_order');
        connection.exec(sql);
        assert.deepEqual(violated(connection), ids);
      } finally {
        await store.close();
      }
    });
  }
});
