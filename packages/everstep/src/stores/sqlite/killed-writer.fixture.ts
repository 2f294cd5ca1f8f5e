/** Commits runs with a step each, one after the other, and prints the number of each when it is durable; until killed. */
import { writeSync } from 'node:fs';
import { creation, sampleRun, sampleStep, unit } from '../conformance/samples.js';
import { openSqliteStore } from './index.js';

const STDOUT = 1;
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('give the file of the store');

const store = await openSqliteStore({ file });
for (let n = 1; ; n++) {
  const run = sampleRun(n);
  await store.commit([unit([creation(run)]), unit([{ kind: 'record-step', runKey: run.key, step: sampleStep(0) }])]);
  writeSync(STDOUT, `${n}\n`);
}
