/** Commits runs that end immediately, keeps only the newest and frees the space; prints a number per round, until it is killed. */
import { writeSync } from 'node:fs';
import { creation, INSTANCE, sampleRun, sampleStep, unit } from '../../conformance/samples.js';
import { openSqliteStore } from '../index.js';

const STDOUT = 1;
const RUNS_PER_ROUND = 20;
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('the path of the store file is missing');

const store = await openSqliteStore({ file });
for (let round = 1; ; round++) {
  const units = Array.from({ length: RUNS_PER_ROUND }, (_, i) => {
    const run = sampleRun(round * RUNS_PER_ROUND + i, { settings: { labels: [`label ${i}`] } });
    const runKey = run.key;
    return unit([
      creation(run),
      { kind: 'record-step', runKey, step: sampleStep(0) },
      { kind: 'end-run', runKey, outcome: { status: 'canceled' }, completedAt: run.createdAt },
    ]);
  });
  await store.commit(units);
  await store.removeEndedRuns({ instanceId: INSTANCE, state: 'canceled', endedBefore: null, keepNewest: 50, limit: 30 });
  await store.releaseSpace();
  writeSync(STDOUT, `${round}\n`);
}
