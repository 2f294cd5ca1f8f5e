/** A server under load is backed up and lost; acknowledged runs continue on the restored one. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { ServerProcess } from '../service-process.fixture.js';

const BIN = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
/** Number of runs that are acknowledged before the backup starts. */
const RUNS_BEFORE = 100;
const CLIENTS = 8;
/** Duration of a sleep, long enough that runs started before the backup end after it. */
const NAP_SECONDS = 3;

async function everstep(...args: readonly string[]): Promise<string> {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_')));
  const { stdout } = await promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, ...args], {
    env: inherited,
  });
  return stdout;
}

async function startWorker(keys: { readonly current: string; readonly next: string }) {
  const workflow = serve<{ readonly order: number }, string>(
    async (ctx) => {
      const { order } = ctx.payload;
      const reserved = await ctx.run('reserve', () => `reserved ${order}`);
      await ctx.sleep('nap', NAP_SECONDS);
      return ctx.run('charge', () => `${reserved}, charged`);
    },
    { signingKeys: keys },
  );
  const handler = toNodeHandler(workflow);
  const server = createServer((request, response) => void handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/orders`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('every run acknowledged before a backup under load ends on the restored server', {
  timeout: 180_000,
}, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-backup-'));
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  const [dataDir, backup, elsewhere] = [join(directory, 'data'), join(directory, 'backup'), join(directory, 'elsewhere')];
  const service = await ServerProcess.create({ EVERSTEP_DATA_DIR: dataDir });
  t.after(() => service.dispose());
  await service.start();
  const worker = await startWorker({
    current: service.env.get('EVERSTEP_CURRENT_SIGNING_KEY') ?? '',
    next: service.env.get('EVERSTEP_NEXT_SIGNING_KEY') ?? '',
  });
  t.after(() => worker.close());
  const { id: indexId } = JSON.parse(
    await everstep('admin', 'search', 'create', 'films', '--region', 'eu-central-1', '--data-dir', dataDir, '--json'),
  );
  await everstep('search', 'upsert', '{"id":"m1","content":{"title":"Vertigo"}}', '--index', indexId, '--data-dir', dataDir);

  const acknowledged = new Set<number>();
  let orders = 0;
  let loading = true;
  const client = async (): Promise<void> => {
    while (loading) {
      const order = orders++;
      const headers = { 'content-type': 'application/json', 'svc-workflow-runid': `order-${order}` };
      const body = JSON.stringify({ order });
      const outcome = await service.request('POST', `/v2/trigger/${worker.url}`, headers, body).catch(() => null);
      if (outcome?.status === 200) acknowledged.add(order);
    }
  };
  const load = Promise.all(Array.from({ length: CLIENTS }, client));
  while (acknowledged.size < RUNS_BEFORE) await new Promise((resolve) => setImmediate(resolve));
  const before = [...acknowledged];
  const text = await everstep('backup', '--to', backup, '--data-dir', dataDir);
  const during = acknowledged.size - before.length;
  loading = false;
  await service.end('SIGKILL');
  await load;

  assert.match(text, /Backed up the running server to/);
  assert.ok(during > 0, 'the server accepted requests during the backup');
  t.diagnostic(`${before.length} runs before the backup, ${during} during it`);
  await rm(dataDir, { recursive: true });
  await everstep('verify-backup', '--from', backup);
  for (const file of ['everstep.db', 'credentials.json', 'manifest.json', `search/${indexId}.db`])
    assert.equal((await stat(join(backup, file))).mode & 0o777, 0o600, file);
  const { counts } = JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8'));
  assert.ok(counts.runs >= before.length);
  assert.ok(counts.tasks > 0, 'runs were pending');
  assert.equal(counts.documents, 1);

  await everstep('restore', '--from', backup, '--data-dir', elsewhere);
  const restored = await ServerProcess.create({ EVERSTEP_DATA_DIR: elsewhere });
  t.after(() => restored.dispose());
  await restored.start();
  assert.equal(restored.env.get('EVERSTEP_TOKEN'), service.env.get('EVERSTEP_TOKEN'), 'the credentials did not change');
  const problems: string[] = [];
  for (const order of before) {
    const ended = await restored.request('GET', `/v2/workflows/runs/order-${order}/result?timeout=60s`);
    const { workflowState, result } = ended.body as { workflowState?: string; result?: unknown };
    if (workflowState !== 'RUN_SUCCESS' || result !== `reserved ${order}, charged`)
      problems.push(`order-${order}: ${JSON.stringify(ended.body)}`);
  }
  assert.deepEqual(problems, []);
  const found = await everstep('search', 'query', 'vertigo', '--index', indexId, '--data-dir', elsewhere);
  assert.match(found, /m1/);
  await restored.end('SIGTERM');
});
