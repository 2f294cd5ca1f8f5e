/** A database is dumped with PostgreSQL tools under load and lost; the server continues on the restored one. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Client, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import pg from 'pg';
import { findBinaries } from '../../stores/postgres/testing/binaries.js';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { listen } from '../nodes.fixture.js';
import { ServerProcess } from '../service-process.fixture.js';

/** Number of runs that are acknowledged before the dump starts. */
const RUNS_BEFORE = 100;
const CLIENTS = 8;
/** Duration of a sleep, long enough that runs started before the dump end after it. */
const NAP_SECONDS = 4;

const schemas = await openTestSchemas();

/** Returns the path of pg_dump and pg_restore of the server's version or later, or the reason why they are unavailable. */
async function tools(): Promise<{ readonly dump: string; readonly restore: string } | string> {
  if (typeof schemas === 'string') return schemas;
  const directory = findBinaries()?.directory;
  const [dump, restore] = ['pg_dump', 'pg_restore'].map((name) => join(directory ?? '', name));
  if (!dump || !restore || !existsSync(dump) || !existsSync(restore))
    return 'no pg_dump and pg_restore beside the server of the tests';
  const version = Number(/ (\d+)/.exec(execFileSync(dump, ['--version'], { encoding: 'utf8' }))?.[1]);
  const client = new pg.Client({ connectionString: (await schemas.make()).url });
  await client.connect();
  const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version_num') AS version`);
  await client.end();
  const server = Math.floor(Number(rows[0]?.version) / 10_000);
  return version >= server ? { dump, restore } : `pg_dump ${version} does not read a server of version ${server}`;
}

/** Returns the URL without the parameter of the schema, which the tools take as an option. */
function withoutOptions(url: string | URL): string {
  const plain = new URL(url);
  plain.searchParams.delete('options');
  return plain.href;
}

const found = await tools();
if (typeof found === 'string') console.error(`NOT TESTED, dump and restore of PostgreSQL: ${found}`);

test('every run acknowledged before a dump under load continues on the restored database', {
  timeout: 240_000,
  skip: typeof found === 'string' ? found : false,
}, async (t) => {
  if (typeof schemas === 'string' || typeof found === 'string') return;
  const { url } = await schemas.make();
  const directory = await mkdtemp(join(tmpdir(), 'everstep-dump-'));
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  const EVERSTEP_DATA_DIR = join(directory, 'data');
  const settings = { EVERSTEP_DATA_DIR, EVERSTEP_NODE_LEASE: '1' };
  const service = await ServerProcess.create({ ...settings, EVERSTEP_STORE: url });
  t.after(() => service.dispose());
  await service.start();
  const of = (name: string) => service.env.get(name) ?? '';
  const workflow = serve<{ readonly order: number }, string>(
    async (ctx) => {
      const { order } = ctx.payload;
      const reserved = await ctx.run('reserve', () => `reserved ${order}`);
      await ctx.sleep('nap', NAP_SECONDS);
      return ctx.run('charge', () => `${reserved}, charged`);
    },
    { signingKeys: { current: of('EVERSTEP_CURRENT_SIGNING_KEY'), next: of('EVERSTEP_NEXT_SIGNING_KEY') } },
  );
  const handler = toNodeHandler(workflow);
  const app = await listen((request, response) => void handler(request, response));
  t.after(() => app.close());

  const client = new Client({ baseUrl: of('EVERSTEP_URL'), token: of('EVERSTEP_TOKEN') });
  const acknowledged = new Set<number>();
  let [orders, loading] = [0, true];
  t.after(() => {
    loading = false;
  });
  const trigger = async (): Promise<void> => {
    while (loading) {
      const order = orders++;
      const result = await client.trigger(app.url, { runId: `order-${order}`, body: { order } }).catch(() => null);
      if (result) acknowledged.add(order);
    }
  };
  const load = Promise.all(Array.from({ length: CLIENTS }, trigger));
  while (acknowledged.size < RUNS_BEFORE) await new Promise((resolve) => setImmediate(resolve));
  const before = [...acknowledged];
  const file = join(directory, 'everstep.dump');
  const schema = new URL(url).searchParams.get('options')?.split('=')[1] ?? '';
  await promisify(execFile)(found.dump, [
    '--format=custom',
    `--schema=${schema}`,
    `--file=${file}`,
    `--dbname=${withoutOptions(url)}`,
  ]);
  const during = acknowledged.size - before.length;
  loading = false;
  await service.end('SIGKILL');
  await load;
  assert.ok(during > 0, 'the server accepted requests during the dump');
  t.diagnostic(`${before.length} runs before the dump, ${during} during it`);

  const administrator = new pg.Client({ connectionString: url });
  await administrator.connect();
  const name = `restored_${schema}`;
  await administrator.query(`CREATE DATABASE ${name}`);
  let restored: ServerProcess | undefined;
  t.after(async () => {
    await restored?.dispose();
    await administrator.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await administrator.end();
  });
  const elsewhere = new URL(url);
  elsewhere.pathname = `/${name}`;
  await promisify(execFile)(found.restore, ['--exit-on-error', '--no-owner', `--dbname=${withoutOptions(elsewhere)}`, file]);

  restored = await ServerProcess.create({ ...settings, EVERSTEP_STORE: elsewhere.href });
  await restored.start();
  assert.equal(restored.env.get('EVERSTEP_TOKEN'), of('EVERSTEP_TOKEN'), 'the credentials did not change');
  const later = new Client({ baseUrl: restored.env.get('EVERSTEP_URL') ?? '', token: of('EVERSTEP_TOKEN') });
  const problems: string[] = [];
  for (const order of before) {
    const ended = await later.runs.result(`order-${order}`, { timeout: '60s' });
    if (!('result' in ended) || ended.result !== `reserved ${order}, charged`)
      problems.push(`order-${order}: ${JSON.stringify(ended)}`);
  }
  assert.deepEqual(problems, []);
  await restored.end('SIGTERM');
});
