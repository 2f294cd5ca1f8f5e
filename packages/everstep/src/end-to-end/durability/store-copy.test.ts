/** A server moves from its embedded store to PostgreSQL: it is stopped, copied and started there, and all runs continue. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { Client as PublishedClient } from '@upstash/qstash';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { listen, waitUntil } from '../nodes.fixture.js';
import { ServerProcess } from '../service-process.fixture.js';

const BIN = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
const schemas = await openTestSchemas();

async function everstep(...args: readonly string[]): Promise<string> {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('EVERSTEP_')));
  const { stdout } = await promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', BIN, ...args], {
    env: inherited,
  });
  return stdout;
}

/** An app with a workflow for each state of a run. `open`: earlier failures are fixed. */
async function startApp(keys: { readonly current: string; readonly next: string }) {
  const seen = { steps: new Map<string, number>(), messages: [] as string[], open: false };
  const did = (runId: string, step: string) => {
    const name = `${runId} ${step}`;
    seen.steps.set(name, (seen.steps.get(name) ?? 0) + 1);
    return step;
  };
  const fails = (runId: string) => {
    if (!seen.open) throw new Error('the shop is closed');
    return did(runId, 'paid');
  };
  const workflow = serve<{ readonly kind: string }, unknown>(
    async (ctx) => {
      const { kind } = ctx.payload;
      const first = await ctx.run('first', () => did(ctx.runId, 'first'));
      if (kind === 'sleeps') await ctx.sleep('nap', 5);
      if (kind === 'waits')
        return [first, (await ctx.waitForEvent<string>('pay', `paid-${ctx.runId}`, { timeout: '1h' })).eventData];
      if (kind === 'was-notified') {
        // It does not wait for the event before the store is copied, so that the event is kept.
        await ctx.run('pay', () => fails(ctx.runId));
        return [first, (await ctx.waitForEvent<string>('pay', `early-${ctx.runId}`, { timeout: '1h' })).eventData];
      }
      if (kind === 'parallel') {
        const both = [ctx.run('left', () => did(ctx.runId, 'left')), ctx.run('right', () => fails(ctx.runId))];
        return [first, ...(await Promise.all(both))];
      }
      if (kind === 'fails') return [first, await ctx.run('pay', () => fails(ctx.runId))];
      return [first, await ctx.run('last', () => did(ctx.runId, 'last'))];
    },
    { signingKeys: keys },
  );
  const handler = toNodeHandler(workflow);
  const endpoint = await listen((request, response) => {
    if (request.url !== '/messages') return void handler(request, response);
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      seen.messages.push(body);
      response.end();
    });
  });
  return { ...endpoint, seen, messages: endpoint.url.replace(/\/work$/, '/messages') };
}

test('runs in every state continue after the store is copied to PostgreSQL', {
  timeout: 240_000,
  skip: typeof schemas === 'string' ? schemas : false,
}, async (t) => {
  if (typeof schemas === 'string') return;
  const { url: database } = await schemas.make();
  const directory = await mkdtemp(join(tmpdir(), 'everstep-move-'));
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  const dataDir = join(directory, 'data');
  const service = await ServerProcess.create({ EVERSTEP_DATA_DIR: dataDir });
  t.after(() => service.dispose());
  await service.start();
  const of = (name: string) => service.env.get(name) ?? '';
  const app = await startApp({ current: of('EVERSTEP_CURRENT_SIGNING_KEY'), next: of('EVERSTEP_NEXT_SIGNING_KEY') });
  t.after(() => app.close());
  const token = of('EVERSTEP_TOKEN');
  let client = new Client({ baseUrl: of('EVERSTEP_URL'), token });
  const published = () => new PublishedClient({ baseUrl: of('EVERSTEP_URL'), token });
  const admin = (...args: readonly string[]) => everstep('admin', ...args, '--data-dir', dataDir);

  // Runs in each of these states are in the store when the server is stopped.
  const start = (kind: string, retries = 0) =>
    client.trigger(app.url, {
      body: { kind },
      runId: kind,
      labels: ['moved'],
      retries,
      ...(retries > 0 ? { retryDelay: '1000' } : {}),
    });
  await Promise.all([start('ends'), start('waits'), start('fails'), start('parallel', 30)]);
  await waitUntil('the run ended', async () => (await client.runs.result('ends')).workflowState === 'RUN_SUCCESS');
  await waitUntil('the run failed', async () => (await client.dlq.list()).messages.length === 1);
  await waitUntil('the run waits', async () => (await client.waiters('paid-waits')).length === 1);
  await waitUntil('half of it is done', () => app.seen.steps.get('parallel left') === 1);
  const { scheduleId } = await client.schedules.create(app.url, {
    cron: '0 9 1 1 *',
    body: { kind: 'ends' },
    scheduleId: 'each-year',
  });
  await client.settings.update({ retention: { succeeded: { maxCount: 1000 } } });
  const queue = published().queue({ queueName: 'mail' });
  await queue.upsert({ parallelism: 1, paused: true });
  for (const body of ['1', '2', '3']) await queue.enqueue({ url: app.messages, body });
  const teamId = (await admin('teams', 'create', 'movers')).trim();
  const { id: indexId } = JSON.parse(await admin('search', 'create', 'films', '--region', 'eu-central-1', '--json'));
  await everstep('search', 'upsert', '{"id":"m1","content":{"title":"Vertigo"}}', '--index', indexId, '--data-dir', dataDir);
  // The run starts late, so that it still sleeps when the server is stopped.
  await Promise.all([start('sleeps'), start('was-notified', 30)]);
  await client.notify({ eventId: 'early-was-notified', workflowRunId: 'was-notified', eventData: 'early' });
  const before = {
    schedule: await client.schedules.get(scheduleId),
    settings: await client.settings.get(),
  };

  // A running server locks its store.
  const refused = await everstep('copy-store', '--from', dataDir, '--to', database).then(
    () => null,
    (error) => error,
  );
  assert.equal(refused?.code, 1);
  assert.match(refused.stderr, /in use by another process/);
  await service.end('SIGTERM');
  const copied = JSON.parse(await everstep('copy-store', '--from', dataDir, '--to', database, '--json'));
  const rowsOf = (table: string) => copied.tables.find(({ what }: { readonly what: string }) => what === table)?.rows;
  assert.deepEqual([rowsOf('dead_letter'), rowsOf('schedule'), rowsOf('kept_event'), rowsOf('documents')], [1, 1, 1, 1]);

  // The data directory and the credentials are the same; only the store differs.
  const moved = await ServerProcess.create({ EVERSTEP_DATA_DIR: dataDir, EVERSTEP_STORE: database });
  t.after(() => moved.dispose());
  await moved.start();
  assert.equal(moved.env.get('EVERSTEP_TOKEN'), token);
  assert.equal(moved.env.get('EVERSTEP_CURRENT_SIGNING_KEY'), of('EVERSTEP_CURRENT_SIGNING_KEY'));
  client = new Client({ baseUrl: moved.env.get('EVERSTEP_URL') ?? '', token });
  app.seen.open = true;

  const resultOf = async (runId: string) => {
    const ended = await client.runs.result(runId, { timeout: '60s' });
    return 'result' in ended ? ended.result : ended;
  };
  assert.deepEqual(await resultOf('ends'), ['first', 'last'], 'ended runs are kept');
  assert.deepEqual(await resultOf('sleeps'), ['first', 'last']);
  assert.deepEqual(await resultOf('was-notified'), ['first', 'early'], 'an early event is kept');
  assert.deepEqual(await resultOf('parallel'), ['first', 'left', 'paid'], 'a failed step is retried');
  assert.equal((await client.notify({ eventId: 'paid-waits', eventData: 'late' })).length, 1);
  assert.deepEqual(await resultOf('waits'), ['first', 'late']);
  const [entry] = (await client.dlq.list({ label: 'moved' })).messages;
  assert.equal(entry?.workflowRunId, 'fails');
  await client.dlq.resume(entry?.dlqId ?? '', { runId: 'fails-again' });
  assert.deepEqual(await resultOf('fails-again'), ['first', 'paid'], 'a failed run is resumed with its recorded steps');
  for (const runId of ['sleeps', 'waits', 'was-notified', 'parallel', 'fails'])
    assert.equal(app.seen.steps.get(`${runId} first`), 1, `the first step of ${runId} was executed once`);
  assert.equal(app.seen.steps.get('parallel left'), 1);

  assert.deepEqual(await client.schedules.get(scheduleId), before.schedule);
  assert.deepEqual(await client.settings.get(), before.settings);
  const mail = new PublishedClient({ baseUrl: moved.env.get('EVERSTEP_URL') ?? '', token }).queue({ queueName: 'mail' });
  assert.deepEqual(app.seen.messages, [], 'the queue is still paused');
  await mail.resume();
  await waitUntil('the messages were sent', () => app.seen.messages.length === 3);
  assert.deepEqual(app.seen.messages, ['1', '2', '3'], 'in their original order');
  assert.match(await admin('teams', 'list'), new RegExp(teamId));
  assert.match(await everstep('search', 'query', 'vertigo', '--index', indexId, '--data-dir', dataDir), /m1/);
  await moved.end('SIGTERM');
});
