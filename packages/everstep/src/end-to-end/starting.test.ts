/** What scripts and operators see while the server starts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { createServerLog } from '../bootstrap/server-log.js';
import { StartError } from '../bootstrap/start-error.js';
import { type Config, parseConfig } from '../config/config.js';
import { startServer } from '../main.js';
import { DatabaseProxy } from '../stores/postgres/testing/database-proxy.js';
import { openTestSchemas } from '../stores/postgres/testing/schemas.js';
import { freePort } from '../stores/postgres/testing/server-process.js';
import { waitUntil } from './nodes.fixture.js';

const schemas = await openTestSchemas();

async function directoryFor(t: TestContext): Promise<string> {
  const directory = await fs.mkdtemp(join(tmpdir(), 'everstep-starting-'));
  t.after(() => fs.rm(directory, { recursive: true, force: true }));
  return directory;
}

function configOf(cwd: string, env: Readonly<Record<string, string>>, mode: 'dev' | 'serve' = 'dev'): Config {
  const parsed = parseConfig({ mode, flags: {}, env: { EVERSTEP_DEMO: '0', EVERSTEP_DATA_DIR: 'data', ...env }, cwd });
  assert.ok(parsed.ok);
  return parsed.config;
}

/** Returns a log that collects its lines. */
function keptLog() {
  const lines: string[] = [];
  return { lines, log: createServerLog({ level: 'warn', format: 'text', write: (line) => lines.push(line) }) };
}

test('the env file exists before the server reports that it is ready', async (t) => {
  const directory = await directoryFor(t);
  const port = await freePort();
  const envFile = join(directory, 'service.env');
  const readiness = async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status;
  const seen: number[] = [];
  const { rename } = fs;
  // The file is moved into place when it is complete.
  fs.rename = async (from, to) => {
    if (to === envFile) seen.push(await readiness());
    return rename(from, to);
  };
  syncBuiltinESMExports();
  t.after(() => {
    fs.rename = rename;
    syncBuiltinESMExports();
  });
  const config = configOf(directory, { EVERSTEP_PORT: String(port), EVERSTEP_ENV_FILE: envFile });
  const service = await startServer(config, { log: keptLog().log });
  t.after(() => service.stop());
  assert.deepEqual(seen, [503]);
  assert.equal(await readiness(), 200);
});

test('an https public URL without a trusted proxy logs a warning', async (t) => {
  const publicUrl = { EVERSTEP_PORT: '0', EVERSTEP_PUBLIC_URL: 'https://everstep.example.com' };
  const warned = async (env: Readonly<Record<string, string>>) => {
    const { log, lines } = keptLog();
    const service = await startServer(configOf(await directoryFor(t), env), { log });
    await service.stop();
    return lines;
  };
  const [line, ...others] = await warned(publicUrl);
  assert.match(line ?? '', /WARN public URL is https without a trusted proxy.*EVERSTEP_TRUSTED_PROXIES/);
  assert.deepEqual(others, []);
  assert.deepEqual(await warned({ ...publicUrl, EVERSTEP_TRUSTED_PROXIES: '10.0.0.2' }), []);
  assert.deepEqual(await warned({ EVERSTEP_PORT: '0', EVERSTEP_PUBLIC_URL: 'http://localhost:8081' }), []);
});

test('the data directory and that of the store are created private; existing ones keep their modes', async (t) => {
  const directory = await directoryFor(t);
  const modeOf = async (path: string) => (await fs.stat(join(directory, path))).mode & 0o777;
  const start = async (env: Readonly<Record<string, string>>) => {
    const service = await startServer(configOf(directory, { EVERSTEP_PORT: '0', ...env }), { log: keptLog().log });
    await service.stop();
  };
  await start({ EVERSTEP_DATA_DIR: 'a/b', EVERSTEP_STORE: join(directory, 'c/d/x.db') });
  assert.deepEqual([await modeOf('a/b'), await modeOf('c/d')], [0o700, 0o700]);
  const usual = 0o777 & ~process.umask();
  assert.deepEqual([await modeOf('a'), await modeOf('c')], [usual, usual], 'parent directories are public');
  await fs.mkdir(join(directory, 'given'), { mode: 0o750 });
  await start({ EVERSTEP_DATA_DIR: 'given' });
  assert.equal(await modeOf('given'), 0o750);
});

async function takenPort(t: TestContext): Promise<number> {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  return (taken.address() as AddressInfo).port;
}

test('a start on a taken port leaves no files', async (t) => {
  const directory = await directoryFor(t);
  const port = await takenPort(t);
  const settings: readonly Readonly<Record<string, string>>[] = [
    { EVERSTEP_PORT: String(port) },
    { EVERSTEP_PORT: '0', EVERSTEP_MANAGEMENT_ADDRESS: String(port) },
  ];
  for (const env of settings) {
    const { log, lines } = keptLog();
    await assert.rejects(startServer(configOf(directory, env), { log }), StartError);
    assert.deepEqual([await fs.readdir(directory), lines], [[], []]);
  }
});

describe('on PostgreSQL', { skip: typeof schemas === 'string' ? schemas : false }, () => {
  test('a start that fails after opening the store logs nothing about the cluster', async (t) => {
    if (typeof schemas === 'string') return;
    const { url } = await schemas.make();
    const directory = await directoryFor(t);
    const port = await takenPort(t);
    const { log, lines } = keptLog();
    // The port is free at first, but the runtime API has taken it when the management API starts.
    const own = await freePort();
    const env = { EVERSTEP_STORE: url, EVERSTEP_PORT: String(own), EVERSTEP_MANAGEMENT_ADDRESS: String(own) };
    await assert.rejects(startServer(configOf(directory, env), { log }), /is in use by another program/);
    await assert.rejects(startServer(configOf(directory, { ...env, EVERSTEP_PORT: String(port) }), { log }), /is in use/);
    // The test servers run without fsync, which is logged.
    assert.deepEqual(
      lines.filter((line) => !line.includes('fsync')),
      [],
    );
  });

  async function behindProxy(t: TestContext) {
    assert.ok(typeof schemas !== 'string');
    const schema = new URL((await schemas.make()).url);
    const proxy = new DatabaseProxy(Number(schema.port));
    await proxy.listen();
    t.after(() => proxy.close());
    schema.port = String(proxy.port);
    const port = await freePort();
    const env = { EVERSTEP_STORE: schema.href, EVERSTEP_PORT: String(port), EVERSTEP_SECRETS_KEY: 'k'.repeat(43) };
    const asked = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      const { error, ...others } = (await response.json()) as { readonly error?: string };
      return { status: response.status, error, reason: response.headers.get('svc-not-ready-reason'), others };
    };
    return { proxy, asked, config: configOf(await directoryFor(t), env, 'serve') };
  }

  test('a node whose database does not respond at startup waits for it, and reports it', async (t) => {
    const { proxy, asked, config } = await behindProxy(t);
    const { log, lines } = keptLog();
    proxy.isRefusing = true;
    const canceled = new AbortController();
    const starting = startServer(config, { log, signal: canceled.signal });
    t.after(async () => {
      canceled.abort();
      await starting.then(
        (service) => service.stop(),
        () => {},
      );
    });
    const unavailable = { status: 503, error: 'the database cannot be reached', reason: 'store-unavailable', others: {} };
    await waitUntil('the node waits', () => lines.some((line) => line.includes('store unavailable during startup, retrying')));
    await waitUntil('the node responds', () =>
      asked('/ready').then(
        () => true,
        () => false,
      ),
    );
    assert.deepEqual(await asked('/ready'), unavailable);
    assert.equal((await asked('/health')).status, 200);
    assert.deepEqual(await asked('/v2/workflows/logs'), { ...unavailable, reason: null });
    // Then the database responds, except when the node joins the others.
    proxy.cutAt = 'INSERT INTO node ';
    proxy.isRefusing = false;
    await waitUntil('it listens', async () => (await asked('/openapi.json').catch(() => null))?.status === 200);
    await waitUntil('the node cannot join', async () => (await asked('/ready')).reason === 'store-unavailable');
    proxy.cutAt = null;
    await starting;
    assert.equal((await asked('/ready')).status, 200);
  });

  test('a start that waits for its database can be canceled', async (t) => {
    const { proxy, asked, config } = await behindProxy(t);
    proxy.isRefusing = true;
    const canceled = new AbortController();
    const starting = startServer(config, { log: keptLog().log, signal: canceled.signal });
    await waitUntil('the node waits', async () => (await asked('/ready').catch(() => null))?.status === 503);
    canceled.abort();
    await assert.rejects(starting, StartError);
    await assert.rejects(asked('/ready'));
  });
});
