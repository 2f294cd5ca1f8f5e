/** The disk of a real server is full for a while, with either store: no step is executed twice, and all runs end. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import pg from 'pg';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { listen, waitUntil } from '../nodes.fixture.js';
import { ServerProcess } from '../service-process.fixture.js';

const schemas = await openTestSchemas();
const FULL_DISK = new URL('./full-disk.fixture.js', import.meta.url).href;
const RUNS = 10;
/** Time for which the disk is full: longer than ten of the delays after which steps would be executed again. */
const FULL_MS = 4_000;

/** A server whose disk a test fills. */
interface ServerWithDisk {
  readonly service: ServerProcess;
  fill(): Promise<void>;
  free(): Promise<void>;
}

async function embedded(t: TestContext): Promise<ServerWithDisk> {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-full-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const flag = join(directory, 'full');
  const service = await ServerProcess.create({ NODE_OPTIONS: `--import ${FULL_DISK}`, FULL_DISK_FLAG: flag });
  return { service, fill: () => writeFile(flag, ''), free: () => rm(flag) };
}

/** SQL that fills the disk: it applies to every table except that of the nodes, whose rows are updated in place. */
const FULL_TABLES = `
CREATE TABLE full_disk (is_full boolean);
INSERT INTO full_disk VALUES (false);
CREATE FUNCTION refuse_when_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT is_full FROM full_disk) THEN
    RAISE 'could not extend file "base/5/16389": No space left on device' USING ERRCODE = '53100';
  END IF;
  RETURN NULL;
END $$;
DO $$
DECLARE one record;
BEGIN
  FOR one IN SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND relname NOT IN ('full_disk', 'node')
  LOOP
    EXECUTE format('CREATE TRIGGER refuse_when_full AFTER INSERT OR UPDATE ON %I EXECUTE FUNCTION refuse_when_full()', one.relname);
  END LOOP;
END $$`;

async function onPostgres(t: TestContext): Promise<ServerWithDisk> {
  assert.ok(typeof schemas === 'object');
  const { url } = await schemas.make();
  const service = await ServerProcess.create({ EVERSTEP_STORE: url });
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  t.after(() => database.end());
  let prepared = false;
  return {
    service,
    async fill() {
      if (!prepared) await database.query(FULL_TABLES);
      prepared = true;
      await database.query('UPDATE full_disk SET is_full = true');
    },
    async free() {
      await database.query('UPDATE full_disk SET is_full = false');
    },
  };
}

async function fillWhileStepsRun(t: TestContext, { service, fill, free }: ServerWithDisk): Promise<void> {
  t.after(() => service.dispose());
  await service.start();
  const of = (name: string) => service.env.get(name) ?? '';
  const executed: string[] = [];
  let inFlight = 0;
  let endSteps = (): void => {};
  const stepsMayEnd = new Promise<void>((resolve) => {
    endSteps = resolve;
  });
  const step = (runId: string, name: string) => async () => {
    executed.push(`${runId} ${name}`);
    inFlight++;
    await stepsMayEnd;
    inFlight--;
    return executed.length;
  };
  const workflow = serve(
    async (ctx) => {
      await ctx.run('first', step(ctx.runId, 'first'));
      return ctx.run('second', step(ctx.runId, 'second'));
    },
    { signingKeys: { current: of('EVERSTEP_CURRENT_SIGNING_KEY'), next: of('EVERSTEP_NEXT_SIGNING_KEY') } },
  );
  const handler = toNodeHandler(workflow);
  const app = await listen((request, response) => void handler(request, response));
  t.after(() => app.close());
  const client = new Client({ baseUrl: of('EVERSTEP_URL'), token: of('EVERSTEP_TOKEN') });
  const ids = Array.from({ length: RUNS }, (_, n) => `run-${n}`);
  const ready = async () => {
    const response = await fetch(`${of('EVERSTEP_URL')}/ready`);
    return { status: response.status, body: await response.text() };
  };

  await Promise.all(ids.map((runId) => client.trigger(app.url, { runId })));
  await waitUntil('steps are in flight', () => inFlight === RUNS);
  await fill();
  endSteps();
  await waitUntil('the server notices', async () => (await ready()).status === 503);
  assert.match((await ready()).body, /the store rejects writes: disk full/);
  assert.ok(executed.length >= RUNS && executed.length <= 2 * RUNS);
  await waitUntil('deliveries in flight have ended', () => inFlight === 0);
  const before = executed.length;

  const refused = await fetch(`${of('EVERSTEP_URL')}/v2/trigger/${app.url}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${of('EVERSTEP_TOKEN')}` },
  });
  assert.deepEqual([refused.status, refused.headers.get('svc-error-code')], [503, 'store-unavailable']);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.match(await refused.text(), /the store rejects writes: disk full/);
  // The page has a cursor, which requires no write.
  const listed = await service.request('GET', '/v2/workflows/logs?count=1');
  assert.equal(listed.status, 200, JSON.stringify(listed.body));
  await pause(FULL_MS);
  assert.equal(executed.length, before, 'no step is executed while the disk is full');
  assert.equal((await ready()).status, 503);

  await free();
  await waitUntil('the server is ready again', async () => (await ready()).status === 200);
  for (const id of ids) {
    const ended = await client.runs.result(id, { timeout: '60s' });
    assert.ok('result' in ended, `${id} succeeded`);
  }
  const expected = ids.flatMap((id) => [`${id} first`, `${id} second`]).sort();
  assert.deepEqual(executed.sort(), expected, 'each step was executed once');
  for (const event of [
    'store unavailable for writes, deliveries stopped',
    'store available for writes again, deliveries resumed',
  ])
    assert.equal(service.log.split(event).length, 2, `logged once: ${event}`);
  await service.end('SIGTERM');
}

const timeout = 120_000;

test('the embedded store survives a full disk', { timeout }, async (t) => fillWhileStepsRun(t, await embedded(t)));

test('PostgreSQL survives a full disk', { timeout, skip: typeof schemas === 'string' && schemas }, async (t) =>
  fillWhileStepsRun(t, await onPostgres(t)),
);
