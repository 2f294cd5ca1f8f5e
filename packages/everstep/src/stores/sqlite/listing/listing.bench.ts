/**
 * Measures a page of a very long listing. Fills a store with dead letters and requests pages with random filters, at random
 * positions:
 *
 *   node listing.bench.js [entries = 1000000] [file]
 *
 * Prints a line per kind of query, in ms. A filled file is used as it is.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FailureFunctionState } from '../../../engine/runs/run.js';
import type { DeadLetterFilter, Page, RunFilter, Store } from '../../../ports/stores/store.js';
import { creation, failure, INSTANCE, sampleDeadLetter, sampleRun, seededNumbers, T0, unit } from '../../conformance/samples.js';
import { openSqliteStore } from '../index.js';

const BATCH = 2000;
const QUERIES_PER_KIND = 200;
const STEP_MS = 10;
const URLS = 200;
const CALLER_IPS = 5000;
const FLOW_CONTROL_KEYS = 50;
const LABELS = 20;
const STATES: readonly FailureFunctionState[] = ['CALLBACK_INPROGRESS', 'CALLBACK_SUCCESS', 'CALLBACK_FAIL', 'CALLBACK_CANCELED'];

const entries = Number(process.argv[2] ?? 1_000_000);
const randomNumber = seededNumbers(7);
const pick = <Value>(values: readonly Value[]): Value => values[randomNumber(values.length)] as Value;
const several = (count: number, value: (n: number) => string): string[] => Array.from({ length: count }, (_, n) => value(n));

const urlOf = (n: number) => `http://app-${n % 4}.example/flows/${n}`;
const ipOf = (n: number) => `10.0.${n >> 8}.${n & 255}`;
const keyOf = (n: number) => `tenant/${n}`;
const labelOf = (n: number) => `label-${n}`;

function deadRun(n: number) {
  const url = randomNumber(URLS);
  const labels = [n % 2 === 0 ? 'even' : 'odd', n < entries / 2 ? 'early' : 'late', labelOf(randomNumber(LABELS))];
  // Labels that only one half of the URLs has, so that many dense values can exclude each other.
  labels.push(`${url < URLS / 2 ? 'low' : 'high'}-${randomNumber(50)}`);
  if (randomNumber(100_000) === 0) labels.push('rare');
  return sampleRun(n, {
    createdAt: T0 + n * STEP_MS,
    workflowRunId: n % 3 === 0 ? 'daily' : `order-${n % 2 === 0 ? 'eu' : 'us'}-${randomNumber(1_000_000_000).toString(36)}`,
    workflowUrl: urlOf(url),
    callerIp: ipOf(randomNumber(CALLER_IPS)),
    settings: { labels, flowControl: randomNumber(2) === 0 ? null : { key: keyOf(randomNumber(FLOW_CONTROL_KEYS)) } },
  });
}

async function fill(store: Store): Promise<void> {
  const started = performance.now();
  for (let at = 0; at < entries; at += BATCH) {
    const units = Array.from({ length: Math.min(BATCH, entries - at) }, (_, i) => {
      const run = deadRun(at + i);
      const failureFunctionState = randomNumber(3) === 0 ? null : pick(STATES);
      return unit([creation(run), ...failure(run, sampleDeadLetter(run, { failureFunctionState }))]);
    });
    await store.commit(units);
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(`filled with ${entries} in ${seconds.toFixed(1)} s, ${Math.round(entries / seconds)} per second`);
}

const randomTime = () => T0 + randomNumber(entries) * STEP_MS;
const optionally = <Part>(part: () => Part): Part | Record<string, never> => (randomNumber(3) === 0 ? part() : {});

const randomFilter = (): DeadLetterFilter => ({
  ...optionally(() => ({ workflowUrls: several(1 + randomNumber(30), () => urlOf(randomNumber(URLS))) })),
  ...optionally(() => ({
    labels: several(1 + randomNumber(3), () => pick([labelOf(randomNumber(LABELS)), 'even', 'odd', 'rare', 'early'])),
  })),
  ...optionally(() => ({ callerIps: several(1 + randomNumber(100), () => ipOf(randomNumber(CALLER_IPS))) })),
  ...optionally(() => ({ flowControlKeys: several(1 + randomNumber(10), () => keyOf(randomNumber(FLOW_CONTROL_KEYS))) })),
  ...optionally(() => ({ failureFunctionStates: [pick(STATES), pick(STATES)] })),
  ...optionally(() => ({ fromDate: randomTime() })),
  ...optionally(() => ({ toDate: randomTime() })),
});

const KINDS: readonly (readonly [string, () => DeadLetterFilter])[] = [
  ['no filter', () => ({})],
  ['random combinations', randomFilter],
  ['one in two', () => ({ labels: [pick(['even', 'odd'])] })],
  ['one in 100,000', () => ({ labels: ['rare'] })],
  ['none: halves apart in time', () => ({ labels: ['early'], fromDate: T0 + (entries / 2 + 1000) * STEP_MS })],
  ['none: URLs and labels that exclude each other', () => ({ workflowUrls: [urlOf(1), urlOf(2)], labels: ['high-1', 'high-2'] })],
  [
    'none: 100 URLs, 50 labels, 100 addresses, 50 keys',
    () => ({
      workflowUrls: several(URLS / 2, urlOf),
      labels: several(50, (n) => `high-${n}`),
      callerIps: several(100, ipOf),
      flowControlKeys: several(FLOW_CONTROL_KEYS, keyOf),
    }),
  ],
  ['none: the same, dense alone', () => ({ workflowUrls: several(URLS / 2, urlOf), labels: several(50, (n) => `high-${n}`) })],
  ['one run id that a third has, with a rare label', () => ({ workflowRunId: 'daily', labels: ['rare'] })],
  ['a run id prefix that a third has', () => ({ workflowRunIdPrefix: 'order-eu-' })],
  ['none: a run id prefix that a third has', () => ({ workflowRunIdPrefix: 'order-eu-', labels: ['odd'] })],
  ['a run id prefix of few', () => ({ workflowRunIdPrefix: `order-us-${randomNumber(36 * 36).toString(36)}` })],
  ['none: a run id prefix without separator that few have', () => ({ workflowRunIdPrefix: 'order-eu-zz', labels: ['odd'] })],
  ['creation time of the run', () => ({ workflowCreatedAt: randomTime() })],
  ['days', () => ({ fromDate: randomTime(), toDate: randomTime() })],
];

async function measure(name: string, runQuery: () => Promise<number>): Promise<void> {
  const times: number[] = [];
  let found = 0;
  for (let i = 0; i < QUERIES_PER_KIND; i++) {
    const started = performance.now();
    found += await runQuery();
    times.push(performance.now() - started);
  }
  times.sort((a, b) => a - b);
  const of = (share: number) => (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(1).padStart(7);
  console.log(`p50 ${of(0.5)}  p99 ${of(0.99)}  max ${of(1)}  items ${(found / times.length).toFixed(1).padStart(5)}  ${name}`);
}

const randomPage = <Filter>(filter: Filter, limit: number): Page<Filter> => ({
  instanceId: INSTANCE,
  filter,
  order: pick(['newest-first', 'oldest-first']),
  after: randomNumber(2) === 0 ? null : String(1 + randomNumber(entries)),
  horizon: randomNumber(2) === 0 ? null : String(1 + randomNumber(entries)),
  limit,
});

const directory = await mkdtemp(join(tmpdir(), 'everstep-listing-'));
const file = process.argv[3] ?? join(directory, 'listing.db');
const isFilled = existsSync(file);
const store = await openSqliteStore({ file });
if (!isFilled) await fill(store);

console.log('dead letters, 100 a page');
for (const [name, filter] of KINDS) {
  await measure(name, async () => (await store.listDeadLetters(randomPage(filter(), 100))).items.length);
}
console.log('runs, 100 a page');
const runFilters: readonly (readonly [string, () => RunFilter])[] = [
  ...KINDS.slice(0, 8),
  ['one state', () => ({ statuses: ['failed'] })],
  ['none: another state', () => ({ statuses: ['active', 'canceled'], labels: ['even'] })],
  ['URL prefix', () => ({ workflowUrlPrefix: 'http://app-1.example/', labels: ['even'] })],
];
for (const [name, filter] of runFilters) {
  await measure(name, async () => (await store.listRuns(randomPage(filter(), 100))).items.length);
}
console.log(`resident memory ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`);
await store.close();
await rm(directory, { recursive: true });
