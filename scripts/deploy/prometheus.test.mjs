// A real Prometheus scrapes a real server: the alert rules are healthy, and the queries of the dashboard return what ran.
// The programs are those of Debian's package prometheus: EVERSTEP_TEST_PROMETHEUS and EVERSTEP_TEST_PROMTOOL, or in PATH.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { listen, waitUntil } from '../../packages/everstep/dist/end-to-end/nodes.fixture.js';
import { ServerProcess } from '../../packages/everstep/dist/end-to-end/service-process.fixture.js';
import { freePort } from '../../packages/everstep/dist/stores/postgres/testing/server-process.js';
import { toNodeHandler } from '../../packages/sdk/dist/adapters/node.js';
import { Client, serve } from '../../packages/sdk/dist/index.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RULES = join(ROOT, 'deploy/monitoring/alerts.yaml');
const DASHBOARD = join(ROOT, 'deploy/monitoring/dashboard.json');
const prometheus = process.env.EVERSTEP_TEST_PROMETHEUS ?? 'prometheus';
const promtool = process.env.EVERSTEP_TEST_PROMTOOL ?? 'promtool';
const has = (program) => spawnSync(program, ['--version']).status === 0;
const skip = has(prometheus) && has(promtool) ? false : 'prometheus and promtool are not installed';

/** Metrics of features that this test does not use, such as workers, PostgreSQL, repairs and search, and of errors. */
const ABSENT =
  /everstep_(worker|database_commit|store_errors|dead_letters_removed|queue_waiting|messages_ended|schedule_ticks|search|lease|spans)/;
const WINDOW = '20s';

/** Starts runs that succeed, fail and wait for a paused key. */
async function startWork(t, service) {
  const of = (name) => service.env.get(name);
  const signingKeys = { current: of('EVERSTEP_CURRENT_SIGNING_KEY'), next: of('EVERSTEP_NEXT_SIGNING_KEY') };
  const workflow = (work) => toNodeHandler(serve((ctx) => ctx.run('work', work), { signingKeys }));
  const handlers = new Map([
    ['/work', workflow(() => 1)],
    [
      '/fail',
      workflow(() => {
        throw new Error('failed on purpose');
      }),
    ],
  ]);
  const app = await listen((request, response) => void handlers.get(request.url)?.(request, response));
  t.after(() => app.close());
  const client = new Client({ baseUrl: of('EVERSTEP_URL'), token: of('EVERSTEP_TOKEN') });
  const busy = { flowControl: { key: 'busy', parallelism: 1 } };
  await client.trigger(app.url, busy);
  const paused = await service.request('POST', '/v2/flowControl/busy/pause');
  assert.equal(paused.status, 200, JSON.stringify(paused.body));
  await client.trigger(app.url, busy);
  return async () => {
    await client.trigger(app.url);
    await client.trigger(new URL('/fail', app.url).href, { retries: 0 });
  };
}

async function startPrometheus(t, target) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-prometheus-'));
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [RULES],
    scrape_configs: [{ job_name: 'everstep', static_configs: [{ targets: [target] }] }],
  };
  // JSON is YAML.
  await writeFile(join(directory, 'prometheus.yml'), JSON.stringify(config));
  const port = await freePort();
  const child = spawn(
    prometheus,
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  t.after(async () => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  const ask = async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return (await response.json()).data;
  };
  await waitUntil('Prometheus responds', () => ask('status/buildinfo').then(Boolean, () => false));
  return {
    ask,
    query: async (expression) => (await ask(`query?${new URLSearchParams({ query: expression })}`))?.result,
  };
}

test('Prometheus scrapes a server that ran, failed and queued work, and the dashboard shows it', {
  skip,
  timeout: 180_000,
}, async (t) => {
  const metricsPort = await freePort();
  const service = await ServerProcess.create({ EVERSTEP_METRICS_ADDRESS: `127.0.0.1:${metricsPort}` });
  t.after(() => service.dispose());
  await service.start();
  const work = await startWork(t, service);
  const { ask, query } = await startPrometheus(t, `127.0.0.1:${metricsPort}`);

  await waitUntil('rates of failed and succeeded runs are positive', async () => {
    await work();
    const found = await query(`sum by (state) (rate(everstep_runs_ended_total[${WINDOW}])) > 0`);
    return new Set(found?.map(({ metric }) => metric.state)).size === 2;
  });

  const { activeTargets } = await ask('targets');
  assert.deepEqual(
    activeTargets.map(({ health, lastError }) => [health, lastError]),
    [['up', '']],
  );

  const expected = parse(await readFile(RULES, 'utf8')).groups.flatMap(({ rules }) => rules);
  await waitUntil('every rule was evaluated', async () =>
    (await ask('rules')).groups.every(({ rules }) => rules.every(({ health }) => health !== 'unknown')),
  );
  const rules = (await ask('rules')).groups.flatMap((group) => group.rules);
  assert.equal(rules.length, expected.length);
  for (const { name, health, lastError } of rules) assert.deepEqual([health, lastError ?? ''], ['ok', ''], name);

  const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8'));
  const empty = [];
  for (const { title, targets = [] } of panels)
    for (const { expr } of targets) {
      const expression = expr.replaceAll('$job', 'everstep').replaceAll('$__rate_interval', WINDOW);
      const found = await query(expression);
      assert.ok(Array.isArray(found), `${title}: ${expression} is not valid`);
      if (found.length === 0 && !ABSENT.test(expr)) empty.push(`${title}: ${expression}`);
    }
  assert.deepEqual(empty, []);
  const waiting = await query('everstep_flow_control_waiting{key="busy"}');
  assert.equal(waiting[0]?.value[1], '1');
});

test('the server offers both metric formats, and promtool accepts them', { skip }, async (t) => {
  const metricsPort = await freePort();
  const service = await ServerProcess.create({ EVERSTEP_METRICS_ADDRESS: `127.0.0.1:${metricsPort}` });
  t.after(() => service.dispose());
  await service.start();
  const page = async (accept) => {
    const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`, { headers: { accept } });
    return { type: response.headers.get('content-type'), text: await response.text() };
  };
  const open = await page('application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5');
  assert.match(open.type, /^application\/openmetrics-text/);
  assert.match(open.text, /\n# EOF\n$/);
  const plain = await page('text/plain');
  assert.match(plain.type, /^text\/plain/);
  const { status, stderr, stdout } = spawnSync(promtool, ['check', 'metrics'], { input: plain.text, encoding: 'utf8' });
  const problems = `${stdout}${stderr}`.split('\n').filter((line) => line.startsWith('everstep_') || line.startsWith('error'));
  assert.deepEqual(problems, [], `promtool ended with ${status}`);
});
