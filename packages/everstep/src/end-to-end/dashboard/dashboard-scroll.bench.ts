/**
 * Measures how smoothly long lists of the dashboard scroll: runs, dead letters, messages, and the results of a repair.
 *
 *   node dist/end-to-end/dashboard/dashboard-scroll.bench.js [rows, 5000] [lists, runs,dead-letters,messages,repair]
 *
 * Scrolls each list down with the wheel until all rows are loaded, then up and down again at full speed. A long task takes more than
 * 50 ms, during which the page neither renders nor handles keys. Long tasks are measured twice: in wall-clock time
 * (`PerformanceObserver`), which includes the load of the machine, and in CPU time of the page's main thread (tracing).
 * `blank` is the time after the last wheel event until the window is filled with rows again.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@everstep/sdk';
import type { Page } from 'playwright-core';
import type { CommitUnit } from '../../ports/stores/store.js';
import { creation, failure, sampleDeadLetter, sampleRun, unit } from '../../stores/conformance/samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { ServerProcess } from '../service-process.fixture.js';
import { openBrowser } from './chromium.fixture.js';

const rows = Number(process.argv[2] ?? 5_000);
const lists = (process.argv[3] ?? 'runs,dead-letters,messages,repair').split(',');
const LOADING_TIMEOUT_MS = 90_000;
const TURN_PX = 1_500;
const TURNS = 80;
const BODY = { body: new TextEncoder().encode('{"order":7}'), contentType: 'application/json', forwardHeaders: {} };

const opened = await openBrowser();
if (opened.kind === 'missing') throw new Error(opened.missing);
const directory = await mkdtemp(join(tmpdir(), 'everstep-scroll-bench-'));
const service = await ServerProcess.create({ EVERSTEP_DATA_DIR: directory });
const variable = (name: string): string => service.env.get(name) ?? '';
const client = () => new Client({ baseUrl: variable('EVERSTEP_URL'), token: variable('EVERSTEP_TOKEN') });

/** Writes `rows` failed runs, each with its dead letter. */
async function fill(instance: string): Promise<void> {
  const start = Date.now() - rows * 10;
  const units = Array.from({ length: rows }, (_, n): CommitUnit => {
    const createdAt = start + n * 10;
    const run = sampleRun(n, { instanceId: instance, createdAt, settings: { labels: [`customer-${n % 50}`, 'shop'] } });
    const error = `payment service answered 503 for order ${n}`;
    return unit([creation(run, BODY), ...failure(run, sampleDeadLetter(run, { createdAt: createdAt + 9, error }))]);
  });
  const store = await openSqliteStore({ file: join(directory, 'everstep.db') });
  for (let from = 0; from < rows; from += 1_000) await store.commit(units.slice(from, from + 1_000));
  await store.close();
}

/** Sends `rows` messages and waits until all are delivered. */
async function send(to: string, delivered: () => number): Promise<void> {
  const messages = Array.from({ length: 100 }, (_, order) => ({ destination: to, body: JSON.stringify({ order }) }));
  for (let sent = 0; sent < rows; sent += messages.length) {
    const response = await fetch(`${variable('EVERSTEP_URL')}/v2/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${variable('EVERSTEP_TOKEN')}`, 'content-type': 'application/json' },
      body: JSON.stringify(messages.slice(0, rows - sent)),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  }
  const since = performance.now();
  while (delivered() < rows && performance.now() - since < LOADING_TIMEOUT_MS)
    await new Promise((resolve) => setTimeout(resolve, 100));
}

const OBSERVE = `
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) window.longTasks.push({ startTime, duration });
  }).observe({ type: 'longtask' });
`;

/** Evaluated in the page: number of rows in the grid, and whether rows fill the window. */
const GRID_STATE = `(() => {
  const grid = document.querySelector('[role=grid]');
  const body = grid?.querySelector('.table-body')?.getBoundingClientRect();
  const count = Number(grid?.getAttribute('aria-rowcount') ?? 1) - 1;
  if (!body) return { count, whole: false, atEnd: true };
  const from = Math.max(body.top, 0) + 45;
  const to = Math.min(body.bottom, innerHeight) - 5;
  let whole = true;
  for (let y = from; y < to; y += 20)
    if (!document.elementFromPoint(innerWidth / 2, y)?.closest('.table-row, .selection-bar, .table-head')) whole = false;
  return { count, whole, atEnd: scrollY + innerHeight >= document.documentElement.scrollHeight - 2 };
})()`;
interface GridState {
  readonly count: number;
  readonly whole: boolean;
  readonly atEnd: boolean;
}
const gridState = (page: Page) => page.evaluate<GridState>(GRID_STATE);

interface TraceEvent {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** CPU time, microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

const isTraceEvent = (value: unknown): value is TraceEvent =>
  typeof value === 'object' && value !== null && 'ph' in value && 'tid' in value;

const summary = (durations: readonly number[]): string => {
  const long = durations.filter((ms) => ms > 50);
  return `${long.length} long tasks, longest task ${Math.round(durations.reduce((max, each) => Math.max(max, each), 0))} ms`;
};

/** Runs an action and reports the tasks of the page during it. */
async function measureTasks(page: Page, act: () => Promise<string>): Promise<string> {
  const devTools = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  devTools.on('Tracing.dataCollected', ({ value }) => {
    const collected: readonly unknown[] = value;
    events.push(...collected.filter(isTraceEvent));
  });
  await page.evaluate('window.longTasks.splice(0)');
  await devTools.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['toplevel'] } });
  const result = await act();
  const wallClock = await page.evaluate<number[]>('window.longTasks.map(({ duration }) => duration)');
  const complete = new Promise((resolve) => devTools.once('Tracing.tracingComplete', resolve));
  await devTools.send('Tracing.end');
  await complete;
  await devTools.detach();
  // Each page has its own process with a main thread of this name; the other pages are idle.
  const threads = new Map<string, number[]>();
  const keyOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  for (const event of events) if (event.ph === 'M' && event.args?.name === 'CrRendererMain') threads.set(keyOf(event), []);
  for (const event of events)
    if (event.name === 'ThreadControllerImpl::RunTask' && event.tdur !== undefined)
      threads.get(keyOf(event))?.push(event.tdur / 1000);
  const sumOf = (durations: readonly number[]) => durations.reduce((sum, each) => sum + each, 0);
  const busiest = [...threads.values()].sort((a, b) => sumOf(b) - sumOf(a))[0] ?? [];
  return `${result}; wall clock: ${summary(wallClock)}; CPU: ${summary(busiest)}`;
}

async function blankMs(page: Page): Promise<number> {
  const since = performance.now();
  while (!(await gridState(page)).whole) if (performance.now() - since > 10_000) return Number.POSITIVE_INFINITY;
  return performance.now() - since;
}

async function measure(page: Page, name: string, path: string): Promise<void> {
  await page.goto(path);
  await page.getByRole('row').nth(1).waitFor({ timeout: 60_000 });
  await page.mouse.move(700, 500);
  const loading = await measureTasks(page, async () => {
    const since = performance.now();
    let now = await gridState(page);
    while (now.count < rows && performance.now() - since < LOADING_TIMEOUT_MS) {
      for (let turn = 0; turn < 4; turn++) await page.mouse.wheel(0, TURN_PX);
      now = await gridState(page);
    }
    return `${now.count} of ${rows} rows loaded in ${((performance.now() - since) / 1000).toFixed(1)} s`;
  });
  console.log(`${name}: ${loading}`);
  for (const direction of [-1, 1]) {
    const scrolling = await measureTasks(page, async () => {
      const since = performance.now();
      for (let turn = 0; turn < TURNS; turn++) await page.mouse.wheel(0, direction * TURN_PX);
      const turned = performance.now() - since;
      return `${TURNS} turns in ${Math.round(turned)} ms, blank ${Math.round(await blankMs(page))} ms`;
    });
    console.log(`${name}, ${direction < 0 ? 'up' : 'down'}: ${scrolling}`);
  }
}

let delivered = 0;
const receiver = createServer((request, response) => {
  request.resume().on('end', () => response.end('ok', () => delivered++));
}).listen(0, '127.0.0.1');

try {
  await service.start();
  const instance = await service.instanceId();
  await service.end('SIGTERM');
  await fill(instance);
  await service.start();
  const paths: Record<string, () => Promise<string>> = {
    runs: async () => 'runs',
    'dead-letters': async () => 'dead-letters?view=entries',
    messages: async () => {
      await send(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, () => delivered);
      return 'queues';
    },
    repair: async () => {
      const { repairId } = await client().repairs.plan('resume');
      await client().repairs.start(repairId, { ratePerSecond: 0.01 });
      await client().repairs.pause(repairId);
      return `repairs/${repairId}`;
    },
  };
  const context = await opened.browser.newContext({
    baseURL: variable('EVERSTEP_MANAGEMENT_URL'),
    viewport: { width: 1440, height: 900 },
  });
  await context.addInitScript(OBSERVE);
  const page = await context.newPage();
  await page.goto('/login');
  await page.getByLabel('Email').fill(variable('EVERSTEP_ADMIN_EMAIL'));
  await page.getByLabel('API key').fill(variable('EVERSTEP_ADMIN_API_KEY'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/q/**');
  for (const name of lists) {
    const path = await paths[name]?.();
    if (path !== undefined) await measure(page, name, `/q/${instance}/${path}`);
  }
} finally {
  await opened.browser.close();
  receiver.close();
  await service.dispose();
  await rm(directory, { recursive: true, force: true });
}
