/**
 * Measures how long it takes to copy an embedded store to PostgreSQL.
 *
 *   node dist/store-copy/copying.bench.js [runs = 100000] [steps per run = 5]
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
const PAYLOAD = {
  body: new TextEncoder().encode(JSON.stringify({ order: 7, note: 'x'.repeat(500) })),
  contentType: 'application/json',
  forwardHeaders: {},
};
const [runCount = 100_000, stepCount = 5] = process.argv.slice(2).map(Number);

/** Returns the unit of a run. Of 100 runs, 90 have succeeded, 5 have failed and 5 are active. */
function unitOf(runNumber: number): CommitUnit {
  const run = sampleRun(runNumber, { settings: { labels: [`customer-${runNumber % 50}`] } });
  const stepWrites = Array.from({ length: stepCount }, (_, index) => ({
    kind: 'record-step' as const,
    runKey: run.key,
    step: sampleStep(index, { out: JSON.stringify({ index, value: 'y'.repeat(200) }) }),
  }));
  const state = runNumber % 100;
  if (state < 5) return unit([creation(run, PAYLOAD), ...stepWrites, ...failure(run)]);
  if (state < 10)
    return unit([creation(run, PAYLOAD), ...stepWrites, ...putTasks(run.key, [advanceTask(T0), sleepTask(1, T0 + 9, T0 + 9)])]);
  const outcome = { status: 'succeeded', result: '"done"' } as const;
  return unit([
    creation(run, PAYLOAD),
    ...stepWrites,
    { kind: 'end-run', runKey: run.key, outcome, completedAt: T0 + runNumber },
  ]);
}

const directory = await mkdtemp(join(tmpdir(), 'everstep-copy-bench-'));
const server = await openTestServer();
if (server.kind === 'missing') throw new Error(`no PostgreSQL: ${server.why}`);
const schemaName = `copy_bench_${process.pid}`;
const pool = new pg.Pool({ connectionString: server.url, max: 1 });
try {
  const file = join(directory, 'everstep.db');
  const store = await openSqliteStore({ file });
  for (let runNumber = 0; runNumber < runCount; runNumber += UNITS_AT_ONCE)
    await store.commit(
      Array.from({ length: Math.min(UNITS_AT_ONCE, runCount - runNumber) }, (_, offset) => unitOf(runNumber + offset)),
    );
  await store.close();
  await pool.query(`CREATE SCHEMA ${schemaName}`);
  const schemaUrl = new URL(server.url);
  schemaUrl.searchParams.set('options', `-c search_path=${schemaName}`);
  const bytes = (await stat(file)).size;
  console.log(`${runCount} runs of ${stepCount} steps, ${Math.round(bytes / 2 ** 20)} MiB; ${server.what}`);
  const startedAt = performance.now();
  let maxRssBytes = 0;
  const memoryTimer = setInterval(() => {
    maxRssBytes = Math.max(maxRssBytes, process.memoryUsage().rss);
  }, 50);
  const { tables } = await copyStore({ from: file, to: schemaUrl.href, onProgress: () => {} });
  clearInterval(memoryTimer);
  const seconds = (performance.now() - startedAt) / 1000;
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  console.log(
    `${seconds.toFixed(1)} s for ${rows} rows: ${Math.round(rows / seconds)} rows/s, at most ${Math.round(maxRssBytes / 2 ** 20)} MiB of memory`,
  );
} finally {
  await pool.query(`DROP SCHEMA IF EXISTS ${schemaName} CASCADE`);
  await pool.end();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
