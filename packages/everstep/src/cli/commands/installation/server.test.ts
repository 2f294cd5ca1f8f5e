import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { Agent, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { AdminClient, Client } from '@everstep/sdk';
import { LOCAL_CERTIFICATE, TEST_CA } from '../../../config/certificates.fixture.js';
import { endAll, readEnvFile, runCommand, SpawnedCli, type TestDirectory, testDirectory } from '../../testing/spawned-cli.js';

describe('the server process', () => {
  let directory: TestDirectory;
  before(async () => {
    directory = await testDirectory();
  });
  after(async () => {
    await endAll();
    await directory.remove();
  });

  async function start(name: string, mode: 'dev' | 'serve' = 'dev', env: Readonly<Record<string, string>> = {}) {
    const envFile = join(directory.path, `${name}.env`);
    const settings = { EVERSTEP_PORT: '0', EVERSTEP_DATA_DIR: name, EVERSTEP_ENV_FILE: envFile, EVERSTEP_DEMO: '0', ...env };
    const service = new SpawnedCli([mode], { cwd: directory.path, env: settings });
    await service.untilPrinted(/is listening on/);
    const serverEnv = await readEnvFile(envFile);
    const baseUrl = serverEnv.EVERSTEP_URL ?? '';
    return { service, serverEnv, client: new Client({ baseUrl, token: serverEnv.EVERSTEP_TOKEN ?? '' }) };
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`${signal} stops the server with exit code 0 and no errors`, async () => {
      const { service } = await start(`end-${signal}`);
      const { code, stdout, stderr } = await service.end(signal);
      assert.equal(code, 0);
      assert.match(stdout, /Stopped\. Your data is in/);
      assert.equal(stderr, '');
    });
  }

  test('SIGHUP stops a server without TLS, and reloads the certificate of a server with TLS', async () => {
    const plain = await start('hang-up');
    assert.equal((await plain.service.end('SIGHUP')).code, 0);
    const [cert, key] = [join(directory.path, 'tls.crt'), join(directory.path, 'tls.key')];
    await writeFile(cert, LOCAL_CERTIFICATE.cert);
    await writeFile(key, LOCAL_CERTIFICATE.key);
    const { service, serverEnv } = await start('hang-up-tls', 'serve', {
      EVERSTEP_TLS_CERT: cert,
      EVERSTEP_TLS_KEY: key,
      EVERSTEP_LOG_LEVEL: 'info',
    });
    const { hostname, port } = new URL(serverEnv.EVERSTEP_URL ?? '');
    service.child.kill('SIGHUP');
    await service.untilPrinted(/"msg":"TLS certificate reloaded"/, 'stderr');
    const agent = new Agent({ ca: TEST_CA, keepAlive: false });
    const [response] = await once(get({ hostname, port, agent, path: '/health' }), 'response');
    assert.equal(response.resume().statusCode, 200);
    assert.equal((await service.end('SIGTERM')).code, 0);
  });

  test('SIGUSR2 switches the log to debug, and back', async () => {
    const { service, serverEnv } = await start('log-level', 'dev', { EVERSTEP_LOG_LEVEL: 'info' });
    const {
      EVERSTEP_MANAGEMENT_URL: baseUrl = '',
      EVERSTEP_ADMIN_EMAIL: email = '',
      EVERSTEP_ADMIN_API_KEY: apiKey = '',
    } = serverEnv;
    const admin = new AdminClient({ baseUrl, email, apiKey });
    for (const expected of ['debug', 'info']) {
      service.child.kill('SIGUSR2');
      while ((await admin.logLevel()).level !== expected);
    }
    const changes = (await admin.auditLog({ all: true })).auditlogs.filter(({ action }) => action === 'log-level.set');
    assert.deepEqual(
      changes.map(({ actor, details }) => [actor, details]),
      [
        ['operator', { level: 'info' }],
        ['operator', { level: 'debug' }],
      ],
    );
    assert.match((await service.end()).stderr, /INFO log level changed newLevel=debug previousLevel=info by=signal\n/);
  });

  async function statusOf(url: string, serverEnv: Readonly<Record<string, string>>): Promise<number> {
    const credential = `${serverEnv.EVERSTEP_ADMIN_EMAIL}:${serverEnv.EVERSTEP_ADMIN_API_KEY}`;
    const headers = { authorization: `Basic ${Buffer.from(credential).toString('base64')}` };
    const response = await fetch(url, { headers });
    await response.arrayBuffer();
    return response.status;
  }

  test('the first user can use the management API on the address of the runtime API', async () => {
    const { service, serverEnv } = await start('management', 'dev', { EVERSTEP_ADMIN_EMAIL: 'Ann@W.test' });
    assert.equal(serverEnv.EVERSTEP_MANAGEMENT_URL, serverEnv.EVERSTEP_URL);
    assert.equal(await statusOf(`${serverEnv.EVERSTEP_MANAGEMENT_URL}/v2/queue/users`, serverEnv), 200);
    await service.end();
  });

  test('the management API is served only on its own address if one is set', async () => {
    const { service, serverEnv, client } = await start('own-address', 'serve', { EVERSTEP_MANAGEMENT_ADDRESS: '0' });
    const { EVERSTEP_URL: runtime, EVERSTEP_MANAGEMENT_URL: management } = serverEnv;
    assert.notEqual(runtime, management);
    assert.equal(await statusOf(`${management}/v2/account`, serverEnv), 200);
    assert.equal(await statusOf(`${management}/health`, serverEnv), 200);
    assert.equal(await statusOf(`${management}/v2/flowControl`, serverEnv), 404);
    assert.equal(await statusOf(`${runtime}/v2/account`, serverEnv), 404);
    assert.deepEqual((await client.runs.list()).runs, []);
    assert.equal((await service.end()).code, 0);
  });

  test('notices link to the dashboard at the management address if it is separate, not to the public URL', async (t) => {
    const receiver = createServer();
    const received = new Promise<string>((resolve) => {
      receiver.on('request', async (request, response) => {
        resolve(await text(request));
        response.end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    t.after(() => receiver.close());
    const { service, serverEnv, client } = await start('notices', 'dev', {
      EVERSTEP_MANAGEMENT_ADDRESS: '0',
      EVERSTEP_PUBLIC_URL: 'https://everstep.example.com',
    });
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    await client.alerts.destinations.put('hook', { kind: 'webhook', url });
    await client.alerts.destinations.test('hook');
    const { dashboardUrl } = JSON.parse(await received);
    assert.ok(dashboardUrl.startsWith(`${serverEnv.EVERSTEP_MANAGEMENT_URL}/q/`), dashboardUrl);
    assert.equal((await service.end()).code, 0);
  });

  test('the env file contains working settings for clients and apps', async () => {
    const { service, serverEnv, client } = await start('env');
    assert.deepEqual(Object.keys(serverEnv), [
      'EVERSTEP_URL',
      'EVERSTEP_MANAGEMENT_URL',
      'EVERSTEP_TOKEN',
      'EVERSTEP_READONLY_TOKEN',
      'EVERSTEP_CURRENT_SIGNING_KEY',
      'EVERSTEP_NEXT_SIGNING_KEY',
      'EVERSTEP_ADMIN_EMAIL',
      'EVERSTEP_ADMIN_API_KEY',
      'QSTASH_URL',
      'QSTASH_TOKEN',
      'QSTASH_CURRENT_SIGNING_KEY',
      'QSTASH_NEXT_SIGNING_KEY',
    ]);
    const headers = { authorization: `Bearer ${serverEnv.QSTASH_TOKEN}` };
    assert.equal((await fetch(`${serverEnv.QSTASH_URL}/v2/queues`, { headers })).status, 200);
    assert.deepEqual(await client.keys.get(), {
      current: serverEnv.EVERSTEP_CURRENT_SIGNING_KEY,
      next: serverEnv.EVERSTEP_NEXT_SIGNING_KEY,
    });
    const reader = new Client({ baseUrl: serverEnv.EVERSTEP_URL ?? '', token: serverEnv.EVERSTEP_READONLY_TOKEN ?? '' });
    assert.deepEqual((await reader.runs.list()).runs, []);
    await assert.rejects(reader.trigger('http://127.0.0.1:8999/'), { status: 403 });
    await service.end();
  });

  test('dev prints a login link instead of credentials; the next start keeps the credentials and the runs', async () => {
    const first = await start('again');
    await first.service.untilPrinted(/Press Ctrl-C to stop/);
    const { stdout } = first.service;
    const [, secret = ''] = /\/login#(lnk_[\w-]{43})\n/.exec(stdout) ?? [];
    for (const [name, value] of Object.entries(first.serverEnv))
      if (/TOKEN|KEY/.test(name)) assert.ok(!stdout.includes(value), name);
    const logIn = () =>
      fetch(`${first.serverEnv.EVERSTEP_MANAGEMENT_URL}/v2/session/link`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ secret }),
      });
    const received = await logIn();
    assert.equal(received.status, 200);
    assert.match(received.headers.get('set-cookie') ?? '', /^everstep_session=/);
    assert.equal((await logIn()).status, 401, 'a link is valid once');
    assert.ok(!first.service.stderr.includes(secret));
    await first.client.trigger('http://127.0.0.1:8999/', { runId: 'kept', delay: '1h' });
    await first.service.end();
    const second = await start('again');
    await second.service.untilPrinted(/Press Ctrl-C to stop/);
    assert.match(second.service.stdout, /\/login#lnk_/);
    assert.ok(!second.service.stdout.includes(secret));
    assert.ok(!second.service.stdout.includes(first.serverEnv.EVERSTEP_ADMIN_API_KEY ?? '?'));
    const { EVERSTEP_URL: _url, EVERSTEP_MANAGEMENT_URL: _managementUrl, QSTASH_URL: _sameUrl, ...kept } = first.serverEnv;
    for (const [name, value] of Object.entries(kept)) assert.equal(second.serverEnv[name], value, name);
    assert.equal((await second.client.runs.get('kept')).workflowState, 'RUN_STARTED');
    await second.service.end();
  });

  test('serve prints credentials to a terminal only, unless --print-credentials is set', async () => {
    const secretsOf = (serverEnv: Readonly<Record<string, string>>) =>
      Object.entries(serverEnv).flatMap(([name, value]) => (/TOKEN|KEY/.test(name) ? [value] : []));
    const quiet = await start('unprinted', 'serve');
    await quiet.service.untilPrinted(/credentials\.json/);
    const { stdout, stderr } = await quiet.service.end();
    assert.match(stdout, /This is the first start\. The new credentials are in unprinted\/credentials\.json/);
    assert.match(stdout, /--print-credentials/);
    assert.ok(secretsOf(quiet.serverEnv).length >= 6);
    for (const secret of secretsOf(quiet.serverEnv)) assert.ok(!`${stdout}${stderr}`.includes(secret));
    const asked = await start('printed', 'serve', { EVERSTEP_PRINT_CREDENTIALS: '1' });
    await asked.service.untilPrinted(/This is the first start[\s\S]*ek_[\s\S]*credentials\.json/);
    assert.ok((await asked.service.end()).stdout.includes(asked.serverEnv.EVERSTEP_ADMIN_API_KEY ?? '?'));
  });

  test('after a kill, the next start continues', async () => {
    const first = await start('killed');
    await first.client.trigger('http://127.0.0.1:8999/', { runId: 'durable', delay: '1h' });
    await first.service.end('SIGKILL');
    const second = await start('killed');
    assert.equal((await second.client.runs.get('durable')).workflowState, 'RUN_STARTED');
    await second.service.end();
  });

  test('serve logs JSON lines and refuses loopback destinations, unless they are allowed', async () => {
    const { service, client, serverEnv } = await start('serve', 'serve');
    await assert.rejects(client.trigger('http://127.0.0.1:8999/'), { status: 400, code: 'blocked-address' });
    const {
      EVERSTEP_MANAGEMENT_URL: baseUrl = '',
      EVERSTEP_ADMIN_EMAIL: email = '',
      EVERSTEP_ADMIN_API_KEY: apiKey = '',
    } = serverEnv;
    const admin = new AdminClient({ baseUrl, email, apiKey });
    const [queue] = await admin.instances.list();
    await admin.instances.setAllowedDestinations(queue?.id ?? '', ['127.0.0.1:8999']);
    await client.trigger('http://127.0.0.1:8999/', { delay: '1h' });
    await admin.instances.setOutboundRules(queue?.id ?? '', { deny: ['127.0.0.1'], only: null });
    await assert.rejects(client.trigger('http://127.0.0.1:8999/'), /denied by the outbound policy of this queue instance/);
    await admin.instances.setAllowedDestinations(queue?.id ?? '', []);
    await admin.instances.setOutboundRules(queue?.id ?? '', { deny: [], only: null });
    const { stderr } = await service.end();
    for (const line of stderr.trimEnd().split('\n')) assert.equal(typeof JSON.parse(line).msg, 'string');
    const allowing = await start('serve', 'serve', { EVERSTEP_ALLOW_ADDRESSES: '127.0.0.1' });
    await allowing.client.trigger('http://127.0.0.1:8999/', { delay: '1h' });
    await allowing.service.end();
  });

  test('an installation of another region responds on an address without a region', async () => {
    const { service, client } = await start('region', 'dev', { EVERSTEP_REGION: 'us-east-1' });
    assert.deepEqual((await client.runs.list()).runs, []);
    await service.end();
  });

  test('a client that waits for a result does not delay the shutdown', async () => {
    const { service, client } = await start('waiting');
    await client.trigger('http://127.0.0.1:8999/', { runId: 'long', delay: '1h' });
    const waiting = client.runs.result('long', { timeout: '60s' }).then(
      (result) => result.workflowState,
      (error) => error.status,
    );
    // The earlier request is on its way before the signal: a later request already has its response.
    await client.runs.get('long');
    const startedAt = performance.now();
    assert.equal((await service.end()).code, 0);
    assert.ok(performance.now() - startedAt < 5_000);
    assert.ok(['RUN_STARTED', 503, 0].includes(await waiting));
  });

  describe('a failed start prints one sentence', () => {
    let taken: Server;
    before(async () => {
      taken = createServer();
      await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
      await writeFile(join(directory.path, 'a-file'), '');
      await mkdir(join(directory.path, 'no-store'));
      await writeFile(join(directory.path, 'no-store', 'everstep.db'), 'this is not a database but another file '.repeat(50));
    });
    after(() => taken.close());

    const refused = (env: Readonly<Record<string, string>>) =>
      runCommand(['dev', '--no-demo'], { cwd: directory.path, env: { EVERSTEP_PORT: '0', ...env } });

    const CASES: readonly (readonly [string, () => Readonly<Record<string, string>>, number, RegExp])[] = [
      [
        'a port that is in use',
        () => ({ EVERSTEP_PORT: String((taken.address() as AddressInfo).port), EVERSTEP_DATA_DIR: 'port' }),
        1,
        /^127\.0\.0\.1:\d+ is in use by another program\. .*EVERSTEP_PORT.*\n$/,
      ],
      [
        'a management port that is in use',
        () => ({ EVERSTEP_MANAGEMENT_ADDRESS: String((taken.address() as AddressInfo).port), EVERSTEP_DATA_DIR: 'port-2' }),
        1,
        /^127\.0\.0\.1:\d+ is in use by another program\. .*EVERSTEP_MANAGEMENT_ADDRESS.*\n$/,
      ],
      [
        'a data directory that is a file',
        () => ({ EVERSTEP_DATA_DIR: 'a-file' }),
        1,
        /^The data directory .*a-file is not usable: .*\.\n$/,
      ],
      [
        'a data directory below a file',
        () => ({ EVERSTEP_DATA_DIR: 'a-file/x' }),
        1,
        /^The data directory .* is not usable: .*\.\n$/,
      ],
      [
        'a store that is another file',
        () => ({ EVERSTEP_DATA_DIR: 'no-store' }),
        1,
        /everstep\.db is not a database, or it is damaged\.\n$/,
      ],
      [
        'an address of another machine',
        () => ({ EVERSTEP_HOST: '192.0.2.1', EVERSTEP_DATA_DIR: 'host' }),
        1,
        /^192\.0\.2\.1 is not an address of this machine/,
      ],
      [
        'an env file that is not writable',
        () => ({ EVERSTEP_ENV_FILE: 'a-file/x.env', EVERSTEP_DATA_DIR: 'env-fails' }),
        1,
        /^The env file .* is not writable: .*\n$/,
      ],
      ['a bad value', () => ({ EVERSTEP_PORT: 'http' }), 2, /^EVERSTEP_PORT must be a whole number.*got "http"\n$/],
      [
        'a misspelled variable',
        () => ({ EVERSTEP_DATADIR: 'x' }),
        2,
        /^EVERSTEP_DATADIR is not a setting of Everstep; did you mean EVERSTEP_DATA_DIR\?\n$/,
      ],
    ];
    for (const [name, env, expected, words] of CASES) {
      test(`${name}: exit code ${expected}`, async () => {
        const { code, stdout, stderr } = await refused(env());
        assert.match(stderr, words);
        assert.deepEqual([code, stdout], [expected, '']);
      });
    }

    test('a data directory that a running server uses: exit code 1', async () => {
      const { service } = await start('shared');
      const { code, stderr } = await refused({ EVERSTEP_DATA_DIR: 'shared' });
      assert.equal(code, 1);
      assert.match(stderr, /^.*everstep\.db is in use by another process.*\n$/);
      await service.end();
    });
  });
});
