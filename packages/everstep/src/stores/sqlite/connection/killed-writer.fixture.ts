/**
 * Commits runs one after the other until it is killed, each with a step, five counted messages and a daily count. Prints the
 * number of each run when it is durable.
 */
import { writeSync } from 'node:fs';
import type { DailyCount } from '../../../engine/writes.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { creation, INSTANCE, sampleRun, sampleStep, T0, unit } from '../../conformance/samples.js';
import { openSqliteStore } from '../index.js';

const STDOUT = 1;
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('the path of the store file is missing');

const countMessages = (messages: number): StoreWrite => ({ kind: 'count-messages', instanceId: INSTANCE, messages, at: T0 });
const dailyCount: DailyCount = { kind: 'count-of-day', instanceId: INSTANCE, what: 'run', count: 1, at: T0 };
const store = await openSqliteStore({ file });
for (let n = 1; ; n++) {
  const run = sampleRun(n);
  const step = { kind: 'record-step', runKey: run.key, step: sampleStep(0) } as const;
  await store.commit([unit([creation(run), countMessages(2), dailyCount]), unit([step, countMessages(3)])]);
  writeSync(STDOUT, `${n}\n`);
}
