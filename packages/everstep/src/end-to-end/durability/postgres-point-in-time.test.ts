/** Point-in-time recovery: a database is restored to an earlier time from an online backup and the write-ahead log. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import pg from 'pg';
import { OwnServer } from '../../stores/postgres/testing/own-server.js';
import { listen, waitUntil } from '../nodes.fixture.js';
import { ServerProcess } from '../service-process.fixture.js';

const server = await OwnServer.start();

test('after a point-in-time recovery, ended runs stay ended, waiting runs continue, and later runs do not exist', {
  timeout: 240_000,
  skip: server === null && 'no PostgreSQL server is installed here',
}, async (t) => {
  assert.ok(server);
  // The last one runs first: the store of a server process is checked while its database still exists.
  const closers: (() => unknown)[] = [() => server.dispose()];
  t.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const directory = await mkdtemp(join(tmpdir(), 'everstep-moment-'));
  closers.push(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  const settings = { EVERSTEP_DATA_DIR: join(directory, 'data'), EVERSTEP_NODE_LEASE: '1' };
  const service = await ServerProcess.create({ ...settings, EVERSTEP_STORE: server.url() });
  // The recovery stops the server of this database.
  closers.push(() => service.dispose({ isStoreGone: true }));
  await service.start();
  const of = (name: string) => service.env.get(name) ?? '';
  const reserved: string[] = [];
  const workflow = serve<{ readonly order: string }, string>(
    async (ctx) => {
      const { order } = ctx.payload;
      const shelf = await ctx.run('reserve', () => `shelf ${reserved.push(order)}`);
      const { eventData } = await ctx.waitForEvent<string>('paid', `paid/${order}`, { timeout: '1d' });
      return ctx.run('ship', () => `${order} of ${shelf}, paid ${eventData}`);
    },
    { signingKeys: { current: of('EVERSTEP_CURRENT_SIGNING_KEY'), next: of('EVERSTEP_NEXT_SIGNING_KEY') } },
  );
  const handler = toNodeHandler(workflow);
  const app = await listen((request, response) => void handler(request, response));
  closers.push(() => app.close());
  const client = new Client({ baseUrl: of('EVERSTEP_URL'), token: of('EVERSTEP_TOKEN') });
  const begin = async (order: string, from: Client) => {
    await from.trigger(app.url, { runId: order, body: { order } });
    await waitUntil(`${order} waits`, async () => (await from.waiters(`paid/${order}`)).length === 1);
  };
  const pay = (order: string, how: string, from: Client) => from.notify({ eventId: `paid/${order}`, eventData: how });
  const resultOf = async (order: string, from: Client) => {
    const ended = await from.runs.result(order, { timeout: '60s' });
    return 'result' in ended ? ended.result : ended.workflowState;
  };

  // One run starts before the backup, and others are in the log after it.
  await begin('before', client);
  await pay('before', 'at once', client);
  assert.equal(await resultOf('before', client), 'before of shelf 1, paid at once');
  await server.backUp();
  // The server was restarted.
  await waitUntil('Everstep has its database', async () => (await fetch(`${of('EVERSTEP_URL')}/ready`)).ok);
  await begin('open', client);
  const database = new pg.Client({ connectionString: server.url() });
  await database.connect();
  const { rows } = await database.query<{ moment: string }>('SELECT clock_timestamp()::text AS moment');
  await database.end();
  // This is the mistake to undo.
  await pay('open', 'twice', client);
  assert.equal(await resultOf('open', client), 'open of shelf 2, paid twice');
  await begin('later', client);

  const restored = await server.restoreAt(rows[0]?.moment ?? '');
  closers.push(() => restored.end('SIGKILL'));
  await service.end('SIGKILL');
  const again = await ServerProcess.create({ ...settings, EVERSTEP_STORE: restored.url() });
  closers.push(() => again.dispose());
  await again.start();
  const then = new Client({ baseUrl: again.env.get('EVERSTEP_URL') ?? '', token: again.env.get('EVERSTEP_TOKEN') ?? '' });
  assert.equal(await resultOf('before', then), 'before of shelf 1, paid at once');
  await assert.rejects(then.runs.result('later', { timeout: '1s' }), { status: 404 });
  assert.equal((await then.waiters('paid/open')).length, 1);
  await pay('open', 'once', then);
  assert.equal(await resultOf('open', then), 'open of shelf 2, paid once');
  assert.deepEqual(reserved, ['before', 'open', 'later'], 'no recorded step is repeated');
  await again.end('SIGTERM');
});
