/** Tests the checks of the invariants on PostgreSQL. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { DAY_MS, HOUR_MS } from '../../engine/insights/counts.js';
import type { Store } from '../../ports/stores/store.js';
import { failedRun } from '../conformance/groups/samples.js';
import { advanceTask, apply, creation, INSTANCE, putTasks, sampleRun, sampleStep, T0 } from '../conformance/samples.js';
import { openPostgresStore } from './index.js';
import { verifyDatabase } from './storage/consistency.js';
import { openTestSchemas } from './testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** Damage, and the checks that find it. Run 1 is active and has two steps, run 2 has failed. */
const DAMAGE: readonly (readonly [sql: string, ...ids: readonly string[]])[] = [
  ['SELECT 1'],
  ['DELETE FROM step WHERE idx = 0', 'journal-complete'],
  ['DROP INDEX step_by_id; UPDATE step SET step_id = 1', 'step-recorded-once'],
  ['DELETE FROM payload', 'run-has-payload'],
  [
    `INSERT INTO active_run (instance_id, run_key, workflow_run_id, claim, created_at, message, place)
       SELECT instance_id, 'KEY2', workflow_run_id, 'KEY2', created_at, message, place FROM active_run`,
    'one-active-run-per-id',
    'active-run-has-task',
    'active-runs-counted',
  ],
  ['DELETE FROM task', 'active-run-has-task'],
  ['DELETE FROM active_run', 'active-runs-counted'],
  ['DELETE FROM run', 'task-has-run'],
  ["UPDATE ended_run SET state = 'failed'", 'dead-letter-has-run'],
  ['DELETE FROM dead_letter', 'failed-run-has-dead-letter', 'group-counts-entries'],
  ['UPDATE dead_letter_group SET entries = 7', 'group-counts-entries'],
  ['UPDATE instance_totals SET active_runs = active_runs + 5', 'active-runs-counted'],
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

describe('the invariants of a database', { skip: typeof schemas === 'string' ? schemas : false }, async () => {
  if (typeof schemas === 'string') return;
  const schema = await schemas.make();
  const client = new pg.Client({ connectionString: schema.url });
  await client.connect();
  after(() => client.end());
  for (const [sql, ...ids] of DAMAGE) {
    test(`after "${sql}", the violated checks are: ${ids.join(', ') || 'none'}`, async () => {
      const store = await openPostgresStore({ url: schema.url, log });
      try {
        const run = sampleRun(1);
        await apply(store, [creation(run), ...putTasks(run.key, [advanceTask(T0)])]);
        for (const [index, stepId] of [1, 2].entries())
          await apply(store, [{ kind: 'record-step', runKey: run.key, step: sampleStep(index, { stepId }) }]);
        await apply(store, failedRun(2, T0));
        await count(store);
        for (const each of sql.split('; ')) await client.query(each);
        const results = await verifyDatabase(schema.url, log);
        assert.deepEqual(
          results.filter(({ violations }) => violations > 0).map(({ id }) => id),
          ids,
        );
      } finally {
        await store.close();
        await schema.clear();
      }
    });
  }

  test('all checks read one state of the database, without a time limit', async (t) => {
    const store = await openPostgresStore({ url: schema.url, log });
    await store.close();
    const texts: string[] = [];
    const { query } = pg.Client.prototype;
    t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
      const [sent] = args;
      texts.push(typeof sent === 'string' ? sent : String((sent as { readonly text?: unknown }).text));
      return Reflect.apply(query, this, args);
    });
    const results = await verifyDatabase(schema.url, log);
    // On distributed tables, another connection may still send statements of the store that was closed.
    const [, begin, ...checks] = texts.slice(texts.findIndex((text) => text.includes('statement_timeout = 0')));
    assert.match(String(begin), /^BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY/);
    assert.deepEqual([checks.length, checks.indexOf('COMMIT')], [results.length + 1, results.length]);
  });
});
