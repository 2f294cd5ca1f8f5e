/** Releases of claims use the index of claims: a scan of all tasks can take longer than a statement may, so it would never end. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type pg from 'pg';
import { advanceTask, apply, creation, INSTANCE, putTasks, sampleRun, T0 } from '../../conformance/samples.js';
import { Database, statement, type TransactionSession, unpreparedStatement } from '../connection/connection.js';
import { migrate } from '../connection/migrate.js';
import { createPostgresStore } from '../index.js';
import { IS_ON_CLUSTER } from '../testing/citus.js';
import { recordStatements } from '../testing/recorded-statements.js';
import { openTestSchemas } from '../testing/schemas.js';
import { releaseClaims, releaseClaimsOfNodes, releaseLostClaims } from './claims.js';
import { releaseClaimsByInstance, releaseUnusedByInstance } from './distributed-claims.js';

const schemas = IS_ON_CLUSTER ? 'the plans of a cluster have another form' : await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const NODE = 'n_1';
const NO_WORK = { tasks: [], gates: [] };
/** The instance also has many tasks without a claim. */
const ADD_PARKED_TASKS = `
  INSERT INTO task SELECT (jsonb_populate_record(t, jsonb_build_object('slot', n, 'claimed_by', NULL))).*
  FROM task t CROSS JOIN generate_series(1000, 4000) n WHERE t.due_at IS NULL AND t.slot = 0 ON CONFLICT DO NOTHING`;
const ANALYZED = /^\s*(?:SELECT|UPDATE|DELETE)[^;]*\btask\b/;

if (typeof schemas === 'string') {
  describe('plans of releases', { skip: schemas }, () => {});
} else {
  const { url } = await schemas.make();
  const database = new Database({ url, log });
  await migrate(database, url);
  const store = createPostgresStore(database);
  after(() => store.close());
  const texts = recordStatements();

  /** Returns the plan of a statement, whatever its values are. */
  async function planOf(client: pg.ClientBase, text: string): Promise<string> {
    const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
    await client.query('SET plan_cache_mode = force_generic_plan');
    await client.query(`PREPARE analyzed AS ${text}`);
    const values = count === 0 ? '' : `(${Array.from({ length: count }, () => 'NULL').join(', ')})`;
    const { rows } = await client.query<{ readonly 'QUERY PLAN': string }>(`EXPLAIN (COSTS off) EXECUTE analyzed${values}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }

  const releases: Readonly<Record<string, (session: TransactionSession) => Promise<unknown>>> = {
    'a takeover': (session) => releaseClaimsOfNodes(session, [NODE]),
    'a takeover in distributed tables': (session) => releaseClaimsByInstance(session, [NODE]),
    'a node that stops': (session) => releaseClaims(session, NODE, NO_WORK),
    'a node that stops, in distributed tables': (session) => releaseUnusedByInstance(session, NODE, NO_WORK),
  };

  describe('plans of releases', () => {
    test('many claims of lost nodes are released in several transactions, and messages in queues in the first', async () => {
      const runs = Array.from({ length: 7 }, (_, n) => sampleRun(100 + n));
      for (const run of runs) await apply(store, [creation(run), ...putTasks(run.key, [advanceTask(T0)])]);
      const claim = (queue: string | null, keys: readonly string[]) =>
        database.execute(statement('UPDATE task SET claimed_by = $1, queue = $2 WHERE run_key = ANY($3::text[])'), [
          NODE,
          queue,
          keys,
        ]);
      await claim(
        null,
        runs.slice(0, 4).map(({ key }) => key),
      );
      await claim(
        'q',
        runs.slice(4).map(({ key }) => key),
      );
      const claimed = async () =>
        (await database.query(statement('SELECT queue FROM task WHERE claimed_by = $1 AND due_at IS NOT NULL'), [NODE])).map(
          ({ queue }) => queue,
        );
      await database.transaction((session) => releaseClaimsOfNodes(session, [NODE], 3));
      assert.deepEqual(await claimed(), [null]);
      await claim(
        null,
        runs.map(({ key }) => key),
      );
      while (await releaseLostClaims(database, 3));
      assert.deepEqual(await claimed(), []);
      assert.equal(await releaseLostClaims(database, 3), false);
    });

    for (const [n, [name, release]] of Object.entries(releases).entries()) {
      test(`the statements of ${name} use the indexes of claims, and release due tasks`, async () => {
        const [due, parked] = [sampleRun(2 * n), sampleRun(2 * n + 1)];
        for (const [run, dueAt] of [[due, T0] as const, [parked, null] as const])
          await apply(store, [creation(run), ...putTasks(run.key, [advanceTask(dueAt)])]);
        await database.execute(statement('UPDATE task SET claimed_by = $1 WHERE instance_id = $2'), [NODE, INSTANCE]);
        await database.execute(unpreparedStatement(ADD_PARKED_TASKS));
        await database.execute(unpreparedStatement('ANALYZE task'));
        const earlierCount = texts.size;
        await database.transaction(release);
        const claims = await database.query(statement('SELECT run_key FROM task WHERE claimed_by = $1 AND due_at IS NOT NULL'), [
          NODE,
        ]);
        assert.deepEqual(claims, []);
        let readsClaims = false;
        for (const text of [...texts].slice(earlierCount)) {
          if (!ANALYZED.test(text)) continue;
          const plan = await database.withConnection((client) => planOf(client, text));
          readsClaims ||= plan.includes('task_claimed');
          // One task may be found by its whole key.
          assert.doesNotMatch(plan.replace(/task_pkey.*\n.*run_key = /g, ''), /Seq Scan on task|task_pkey/, `${text}\n${plan}`);
        }
        assert.ok(readsClaims);
      });
    }
  });
}
