/**
 * Compares commits with those of the embedded store, both durable, on this machine:
 *
 *   node packages/everstep/dist/stores/postgres/commit/commit.bench.js [seconds for each measurement]
 *
 * A unit is the writes of one step: a guard, a journal row, the next task and one counted message.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommitUnit, Store } from '../../../ports/stores/store.js';
import { advanceTask, creation, INSTANCE, sampleRun, sampleStep, T0, unit } from '../../conformance/samples.js';
import { openSqliteStore } from '../../sqlite/index.js';
import { openPostgresStore } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';

const DEFAULT_SECONDS = 3;
const BATCH_SIZES = [1, 16, 64] as const;
/** Numbers of batches that are committed at the same time, as by several processes. */
const WRITER_COUNTS = [1, 4] as const;
const STEPS_OF_A_RUN = 20;

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };

let runCount = 0;

/** Generates the units of one run after another. */
function* generateUnits(): Generator<CommitUnit> {
  for (;;) {
    const run = sampleRun(++runCount);
    const runKey = run.key;
    yield unit(
      [creation(run), { kind: 'put-task', runKey, task: advanceTask(T0) }],
      [{ kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: run.workflowRunId }],
    );
    for (let index = 0; index < STEPS_OF_A_RUN; index++) {
      yield unit(
        [
          { kind: 'record-step', runKey, step: sampleStep(index) },
          { kind: 'put-task', runKey, task: { ...advanceTask(T0 + index), messageId: `msg_${index}` } },
          { kind: 'count-messages', instanceId: INSTANCE, messages: 1, at: T0 },
        ],
        [{ kind: 'run-active', runKey, version: index, next: index + 1 }],
      );
    }
    yield unit(
      [
        { kind: 'delete-tasks', runKey },
        { kind: 'end-run', runKey, outcome: { status: 'succeeded', result: '"done"' }, completedAt: T0 },
      ],
      [{ kind: 'run-active', runKey, version: STEPS_OF_A_RUN, next: STEPS_OF_A_RUN + 1 }],
    );
  }
}

/** Commits units of many runs side by side. No batch contains two units of one run. */
async function writeBatches(store: Store, batchSize: number, endAtMs: number, commitTimesMs: number[]): Promise<void> {
  const generators = Array.from({ length: batchSize }, generateUnits);
  while (performance.now() < endAtMs) {
    const batch = generators.map((generator) => generator.next().value as CommitUnit);
    const startedAtMs = performance.now();
    const results = await store.commit(batch);
    commitTimesMs.push(performance.now() - startedAtMs);
    if (results.some(({ kind }) => kind !== 'applied')) throw new Error('a unit was refused');
  }
}

async function measure(name: string, store: Store, batchSize: number, writers: number, seconds: number): Promise<void> {
  const commitTimesMs: number[] = [];
  const startedAtMs = performance.now();
  await Promise.all(
    Array.from({ length: writers }, () => writeBatches(store, batchSize, startedAtMs + seconds * 1000, commitTimesMs)),
  );
  const commitRate = commitTimesMs.length / ((performance.now() - startedAtMs) / 1000);
  commitTimesMs.sort((a, b) => a - b);
  const medianMs = commitTimesMs[Math.floor(commitTimesMs.length / 2)] ?? 0;
  const columns = [name.padEnd(10), `${batchSize}`.padStart(5), `${writers}`.padStart(7), commitRate.toFixed(0).padStart(9)];
  console.log(...columns, (commitRate * batchSize).toFixed(0).padStart(9), `${medianMs.toFixed(2)} ms`.padStart(10));
}

const seconds = Number(process.argv[2] ?? DEFAULT_SECONDS);
const schemas = await openTestSchemas();
if (typeof schemas === 'string') throw new Error(schemas);
const directory = await mkdtemp(join(tmpdir(), 'everstep-bench-'));
const sqlite = await openSqliteStore({ file: join(directory, 'everstep.db') });
const postgres = await openPostgresStore({ url: (await schemas.make()).url, log });
try {
  console.log('store     batch writers commits/s   units/s     median');
  for (const size of BATCH_SIZES) {
    await measure('SQLite', sqlite, size, 1, seconds);
    for (const writers of WRITER_COUNTS) await measure('PostgreSQL', postgres, size, writers, seconds);
  }
} finally {
  await sqlite.close();
  await postgres.close();
  await rm(directory, { recursive: true });
}
