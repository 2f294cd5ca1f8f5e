/**
 * Measures the time to the first paint of the dashboard and to the first row of its lists, with many runs in the embedded store.
 *
 *   node dist/end-to-end/dashboard/dashboard.bench.js [runs, 1000000] [loads, 7]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommitUnit } from '../../ports/stores/store.js';
import { creation, failure, sampleDeadLetter, sampleRun, unit } from '../../stores/conformance/samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { ServerProcess } from '../service-process.fixture.js';
import { openBrowser } from './chromium.fixture.js';

const [runs = 1_000_000, loads = 7] = process.argv.slice(2).map(Number);
const BATCH_SIZE = 2_000;
const BODY = { body: new TextEncoder().encode('{"order":7}'), contentType: 'application/json', forwardHeaders: {} };

const opened = await openBrowser();
if (opened.kind === 'missing') throw new Error(opened.missing);
const directory = await mkdtemp(join(tmpdir(), 'everstep-dashboard-bench-'));
const service = await ServerProcess.create({ EVERSTEP_DATA_DIR: directory });

const variable = (name: string): string => service.env.get(name) ?? '';

/** Writes the runs: five of a hundred have failed, and the others have succeeded. */
async function fill(instance: string): Promise<void> {
  const start = Date.now() - runs * 10;
  const unitOf = (n: number): CommitUnit => {
    const createdAt = start + n * 10;
    const run = sampleRun(n, { instanceId: instance, createdAt, settings: { labels: [`customer-${n % 50}`] } });
    if (n % 100 < 5) return unit([creation(run, BODY), ...failure(run, sampleDeadLetter(run, { createdAt: createdAt + 9 }))]);
    const outcome = { status: 'succeeded', result: '"done"' } as const;
    return unit([creation(run, BODY), { kind: 'end-run', runKey: run.key, outcome, completedAt: createdAt + 9 }]);
  };
  const store = await openSqliteStore({ file: join(directory, 'everstep.db') });
  for (let n = 0; n < runs; n += BATCH_SIZE)
    await store.commit(Array.from({ length: Math.min(BATCH_SIZE, runs - n) }, (_, at) => unitOf(n + at)));
  await store.close();
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

try {
  await service.start();
  const instance = await service.instanceId();
  await service.end('SIGTERM');
  const fillingSince = performance.now();
  await fill(instance);
  console.log(`${runs} runs written in ${((performance.now() - fillingSince) / 1000).toFixed(0)} s`);
  await service.start();
  const url = variable('EVERSTEP_MANAGEMENT_URL');
  const first = await opened.browser.newContext({ baseURL: url });
  const signInPage = await first.newPage();
  await signInPage.goto('/login');
  await signInPage.getByLabel('Email').fill(variable('EVERSTEP_ADMIN_EMAIL'));
  await signInPage.getByLabel('API key').fill(variable('EVERSTEP_ADMIN_API_KEY'));
  await signInPage.getByRole('button', { name: 'Sign in' }).click();
  await signInPage.waitForURL('**/q/**');
  const storageState = await first.storageState();
  for (const page of ['runs', 'runs?state=RUN_FAILED', 'runs?q=customer-7', 'dead-letters']) {
    const painted: number[] = [];
    const filled: number[] = [];
    for (let load = 0; load < loads; load++) {
      // A new context has an empty cache.
      const context = await opened.browser.newContext({ baseURL: url, storageState });
      const window = await context.newPage();
      const since = performance.now();
      await window.goto(`/q/${instance}/${page}`);
      await window.getByRole('row').nth(1).waitFor({ timeout: 60_000 });
      filled.push(performance.now() - since);
      painted.push(
        await window.evaluate<number>(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN`),
      );
      await context.close();
    }
    const shown = (values: readonly number[]) => `${Math.round(median(values))} ms (${Math.round(Math.max(...values))} ms max)`;
    console.log(`${page}: first paint ${shown(painted)}, first row ${shown(filled)}`);
  }
} finally {
  await opened.browser.close();
  await service.dispose();
  await rm(directory, { recursive: true, force: true });
}
