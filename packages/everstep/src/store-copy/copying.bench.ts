/**
 * Measures how long it takes to copy an embedded store to PostgreSQL.
 *
 *   node dist/store-copy/copying.bench.js [runs, 100000] [steps of each, 5]
 *
 * Uses the PostgreSQL server of the tests, or the one in EVERSTEP_TEST_POSTGRES.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { CommitUnit } from '../ports/stores/store.js';
import {
  advanceTask,
  creation,
  failure,
  putTasks,
  sampleRun,
  sampleStep,
  sleepTask,
  T0,
  unit,
} from '../stores/conformance/samples.js';
import { openTestServer } from '../stores/postgres/testing/server.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { copyStore } from './copying.js';

const UNITS_AT_ONCE = 500;
const BODY = {
  body: new TextEncoder().encode(JSON.stringify({ order: 7, note: 'x'.repeat(500) })),
  contentType: 'application/json',
  forwardHeaders: {},
};
const [runs = 100_000, steps = 5] = process.argv.slice(2).map(Number);

/** Returns the unit of a run. Of 100 runs, 90 have succeeded, 5 have failed and 5 are active. */
function unitOf(n: number): CommitUnit {
  const run = sampleRun(n, { settings: { labels: [`customer-${n % 50}`] } });
  const recorded = Array.from({ length: steps }, (_, index) => ({
    kind: 'record-step' as const,
    runKey: run.key,
    step: sampleStep(index, { out: JSON.stringify({ index, value: 'y'.repeat(200) }) }),
  }));
  const state = n % 100;
  if (state < 5) return unit([creation(run, BODY), ...recorded, ...failure(run)]);
  if (state < 10)
    return unit([creation(run, BODY), ...recorded, ...putTasks(run.key, [advanceTask(T0), sleepTask(1, T0 + 9, T0 + 9)])]);
  const outcome = { status: 'succeeded', result: '"done"' } as const;
  return unit([creation(run, BODY), ...recorded, { kind: 'end-run', runKey: run.key, outcome, completedAt: T0 + n }]);
}

const directory = await mkdtemp(join(tmpdir(), 'everstep-copy-bench-'));
const server = await openTestServer();
if (server.kind === 'missing') throw new Error(`no PostgreSQL: ${server.why}`);
const name = `copy_bench_${process.pid}`;
const pool = new pg.Pool({ connectionString: server.url, max: 1 });
try {
  const file = join(directory, 'everstep.db');
  const store = await openSqliteStore({ file });
  for (let n = 0; n < runs; n += UNITS_AT_ONCE)
    await store.commit(Array.from({ length: Math.min(UNITS_AT_ONCE, runs - n) }, (_, at) => unitOf(n + at)));
  await store.close();
  await pool.query(`CREATE SCHEMA ${name}`);
  const to = new URL(server.url);
  to.searchParams.set('options', `-c search_path=${name}`);
  const bytes = (await stat(file)).size;
  console.log(`${runs} runs of ${steps} steps, ${Math.round(bytes / 2 ** 20)} MiB; ${server.what}`);
  const startedAt = performance.now();
  let max = 0;
  const watching = setInterval(() => {
    max = Math.max(max, process.memoryUsage().rss);
  }, 50);
  const { tables } = await copyStore({ from: file, to: to.href, onProgress: () => {} });
  clearInterval(watching);
  const seconds = (performance.now() - startedAt) / 1000;
  const rows = tables.reduce((sum, each) => sum + each.rows, 0);
  console.log(
    `${seconds.toFixed(1)} s for ${rows} rows: ${Math.round(rows / seconds)} rows/s, at most ${Math.round(max / 2 ** 20)} MiB of memory`,
  );
} finally {
  await pool.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
  await pool.end();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
