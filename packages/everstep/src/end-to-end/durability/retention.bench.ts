/**
 * Measures how much retention slows down a run while it removes dead letters:
 *
 *   node packages/everstep/dist/end-to-end/durability/retention.bench.js [sqlite | postgres] [dead letters = 150000]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, serve } from '@everstep/sdk';
import { serveWorkflows } from '@everstep/sdk/testing';
import { DEFAULT_INSTANCE_SETTINGS } from '../../engine/runs/run.js';
import type { Store } from '../../ports/stores/store.js';
import { apply, creation, failure, sampleRun, unit } from '../../stores/conformance/samples.js';
import { openPostgresStore } from '../../stores/postgres/index.js';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { ServerProcess } from '../service-process.fixture.js';

const [kind = 'sqlite', given = '150000'] = process.argv.slice(2);
const deadLetters = Number(given);
const UNITS_AT_ONCE = 2_000;
const BASELINE_RUNS = 300;
const BETWEEN_RUNS_MS = 5;
const RUNS_PER_LOOK = 20;
const DAY_MS = 86_400_000;

const log = { debug() {}, info() {}, warn: console.warn, error: console.error };
const schemas = kind === 'postgres' ? await openTestSchemas() : null;
if (typeof schemas === 'string') throw new Error(schemas);
const schema = (await schemas?.make()) ?? null;
const directory = await mkdtemp(join(tmpdir(), 'everstep-retention-bench-'));
const service = await ServerProcess.create({
  EVERSTEP_DATA_DIR: directory,
  ...(schema ? { EVERSTEP_STORE: schema.url } : {}),
});
const openStore = (): Promise<Store> =>
  schema ? openPostgresStore({ url: schema.url, log }) : openSqliteStore({ file: join(directory, 'everstep.db') });

/** Creates failed runs of two days ago and keeps dead letters for one day. */
async function fill(instanceId: string): Promise<void> {
  const store = await openStore();
  const createdAt = Date.now() - 2 * DAY_MS;
  for (let at = 0; at < deadLetters; at += UNITS_AT_ONCE) {
    const units = Array.from({ length: Math.min(UNITS_AT_ONCE, deadLetters - at) }, (_, n) => {
      const run = sampleRun(at + n, { instanceId, createdAt: createdAt + at + n });
      return unit([creation(run), ...failure(run)]);
    });
    await store.commit(units);
  }
  const retention = { ...DEFAULT_INSTANCE_SETTINGS.retention, deadLetter: { maxAgeMs: DAY_MS, maxCount: null } };
  const settings = { ...DEFAULT_INSTANCE_SETTINGS, retention };
  await apply(store, [{ kind: 'set-instance-settings', instanceId, settings }]);
  await store.close();
}

const workflows = await serveWorkflows({
  '/flow': serve(async (context) => {
    for (let step = 1; step <= 3; step++) await context.run(`step ${step}`, () => step);
  }),
});

async function measure(client: Client, more: (done: number) => boolean | Promise<boolean>): Promise<readonly number[]> {
  const times: number[] = [];
  while (await more(times.length)) {
    const since = performance.now();
    await client.trigger(workflows.urls['/flow'], { waitForResult: true });
    times.push(performance.now() - since);
    await pause(BETWEEN_RUNS_MS);
  }
  return times;
}

function report(name: string, times: readonly number[]): void {
  const sorted = [...times].sort((a, b) => a - b);
  const of = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
  console.log(`${name}: ${times.length} runs, p50 ${of(0.5)} ms, p95 ${of(0.95)} ms, max ${of(1)} ms`);
}

const connect = () =>
  new Client({ baseUrl: service.env.get('EVERSTEP_URL') ?? '', token: service.env.get('EVERSTEP_TOKEN') ?? '' });

try {
  await service.start();
  await measure(connect(), (done) => done < BASELINE_RUNS);
  report(`${kind}, without retention`, await measure(connect(), (done) => done < BASELINE_RUNS));
  const instanceId = await service.instanceId();
  await service.end('SIGTERM');
  await fill(instanceId);
  await service.start();
  const since = performance.now();
  const left = async () => {
    const { body } = await service.request('GET', '/v2/workflows/dlq?count=1');
    return !JSON.stringify(body).includes('"messages":[]');
  };
  const times = await measure(connect(), (done) => done % RUNS_PER_LOOK !== 0 || left());
  const seconds = (performance.now() - since) / 1_000;
  report(`${kind}, while ${deadLetters} dead letters are removed, in ${seconds.toFixed(1)} s`, times);
} finally {
  await service.dispose();
  await workflows.stop();
  await schema?.drop();
  await rm(directory, { recursive: true, force: true });
}
