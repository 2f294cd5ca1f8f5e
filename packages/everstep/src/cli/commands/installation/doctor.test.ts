/** `everstep doctor` on files and against servers, in process. */
import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LOCAL_CERTIFICATE } from '../../../config/certificates.fixture.js';
import { SERVER_VERSION } from '../../../step-calls/version.js';
import { openTestSchemas } from '../../../stores/postgres/testing/schemas.js';
import { openSqliteStore } from '../../../stores/sqlite/index.js';
import type { Finding } from '../../doctor/findings.js';
import { runInProcess } from '../../testing/in-process.js';

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-doctor-'));
});
after(() => rm(directory, { recursive: true, force: true }));

interface Report {
  readonly problems: number;
  readonly warnings: number;
  readonly findings: readonly Finding[];
}

const run = (env: Readonly<Record<string, string>>, ...args: readonly string[]) =>
  runInProcess(['doctor', ...args], { env, cwd: directory });

async function examined(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const { code, stdout, stderr } = await run(env, ...args, '--json');
  assert.equal(stderr, '');
  const report: Report = JSON.parse(stdout);
  assert.equal(code, report.problems > 0 ? 1 : 0);
  return (check: Finding['check']) => report.findings.filter((finding) => finding.check === check);
}

/** Creates a data directory with a store that was closed. */
async function dataDir(name: string): Promise<string> {
  const path = join(directory, name);
  await mkdir(path, { mode: 0o700 });
  const store = await openSqliteStore({ file: join(path, 'everstep.db') });
  await store.close();
  return path;
}

/** A port at which no server listens. */
const NO_SERVER = { EVERSTEP_PORT: '1' };

test('a stopped installation is examined, and files that other users can access are reported with the command that fixes them', async () => {
  const data = await dataDir('stopped');
  const env = { ...NO_SERVER, EVERSTEP_DATA_DIR: data };
  const found = await examined(env);
  assert.deepEqual([found('service')[0]?.status, found('versions')[0]?.status], ['warning', 'skipped']);
  assert.match(found('store')[0]?.message ?? '', /the store .*everstep\.db opens/);
  assert.equal(found('files')[0]?.status, 'ok', JSON.stringify(found('files')));
  for (const check of ['disk', 'backups', 'tls', 'addresses', 'settings', 'descriptors', 'memory'] as const)
    assert.ok(found(check).length > 0, check);
  await chmod(join(data, 'everstep.db'), 0o644);
  const opened = await run(env);
  assert.equal(opened.code, 1);
  assert.match(
    opened.stdout,
    /^PROBLEM {2}files {8}other users can access .*everstep\.db \(mode 644\)\n {22}chmod 600 .*everstep\.db$/m,
  );
  assert.match(opened.stdout, /\n1 problem, \d warnings?\n$/);
});

test('an invalid store is a problem, and a missing store is skipped', async () => {
  const data = join(directory, 'broken');
  await mkdir(data, { mode: 0o700 });
  assert.equal((await examined({ ...NO_SERVER, EVERSTEP_DATA_DIR: data }))('store')[0]?.status, 'skipped');
  await writeFile(join(data, 'everstep.db'), 'not a database', { mode: 0o600 });
  assert.equal((await examined({ ...NO_SERVER, EVERSTEP_DATA_DIR: data }))('store')[0]?.status, 'problem');
});

test('the state, version, clock and addresses of a running server are checked', async (t) => {
  let ready = true;
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url === '/health') return response.end(JSON.stringify({ status: 'ok', version: SERVER_VERSION }));
    if (ready) return response.end(JSON.stringify({ status: 'ready' }));
    response.writeHead(503, { 'svc-not-ready-reason': 'stopping' });
    response.end(JSON.stringify({ error: 'the server is stopping' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const env = {
    EVERSTEP_PORT: String(port),
    EVERSTEP_DATA_DIR: await dataDir('running'),
    EVERSTEP_PUBLIC_URL: `http://127.0.0.1:${port}`,
  };
  const found = await examined(env);
  for (const check of ['service', 'versions', 'store', 'clock', 'addresses'] as const)
    assert.deepEqual(
      found(check).map(({ status }) => status),
      ['ok'],
      JSON.stringify(found(check)),
    );
  ready = false;
  assert.match((await examined(env))('service')[0]?.message ?? '', /not ready: stopping/);
  const away = await examined({ ...env, EVERSTEP_PUBLIC_URL: 'http://127.0.0.1:1' });
  assert.equal(away('addresses')[0]?.status, 'problem');
  const separate = { ...env, EVERSTEP_MANAGEMENT_ADDRESS: '8081' };
  assert.match((await examined(separate))('addresses')[1]?.message ?? '', /EVERSTEP_DASHBOARD_URL is not set/);
  const configured = await examined({ ...separate, EVERSTEP_DASHBOARD_URL: 'https://dashboard.test' });
  assert.equal(configured('addresses').length, 1);
});

test('certificates of the files and of the public URL are read', async (t) => {
  const server = https.createServer(LOCAL_CERTIFICATE, (_request, response) => response.end('{}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  await writeFile(cert, LOCAL_CERTIFICATE.cert);
  await writeFile(key, LOCAL_CERTIFICATE.key, { mode: 0o600 });
  const env = {
    ...NO_SERVER,
    ...{ EVERSTEP_DATA_DIR: await dataDir('tls'), EVERSTEP_TLS_CERT: cert, EVERSTEP_TLS_KEY: key },
    EVERSTEP_PUBLIC_URL: `https://localhost:${(server.address() as AddressInfo).port}`,
  };
  const found = await examined(env);
  assert.equal(found('tls').length, 2, JSON.stringify(found('tls')));
  for (const { message } of found('tls')) assert.match(message, /^the certificate of /);
  // The test's authority is not trusted by this machine.
  assert.match(found('addresses')[0]?.message ?? '', /does not respond from here: .*certificate/);
  await writeFile(key, 'no key');
  assert.equal((await examined(env))('tls')[0]?.status, 'problem');
});

test('the newest complete backup in a directory is used', async () => {
  const backups = join(directory, 'backups');
  await mkdir(join(backups, 'incomplete'), { recursive: true });
  const env = { ...NO_SERVER, EVERSTEP_DATA_DIR: await dataDir('backed-up') };
  assert.equal((await examined(env, '--backups', 'backups'))('backups')[0]?.status, 'problem');
  const made = await runInProcess(['backup', '--to', join(backups, 'one')], { env, cwd: directory });
  assert.equal(made.code, 0, made.stderr);
  const found = await examined(env, '--backups', 'backups');
  assert.match(found('backups')[0]?.message ?? '', /backups\/one, is \d+ ms|s old/);
  assert.equal(found('backups')[0]?.status, 'ok');
});

test('an invalid setting or option is a usage error', async () => {
  const [setting, age] = [await run({ EVERSTEP_PORT: 'x' }), await run({}, '--max-backup-age', '0')];
  assert.deepEqual([setting.code, age.code], [2, 2]);
  assert.match(age.stderr, /--max-backup-age must be a number of hours/);
});

const schemas = await openTestSchemas();
test('a PostgreSQL store and its clock are checked, and its password is not printed', {
  skip: typeof schemas === 'string' ? schemas : false,
}, async () => {
  if (typeof schemas === 'string') return;
  const { url } = await schemas.make();
  const env = { ...NO_SERVER, EVERSTEP_DATA_DIR: join(directory, 'none') };
  const found = await examined({ ...env, EVERSTEP_STORE: url });
  assert.ok(
    found('store').some(({ message }) => /no Everstep schema yet/.test(message)),
    JSON.stringify(found('store')),
  );
  assert.match(found('clock')[0]?.message ?? '', /clock of the database matches/);
  const away = await examined({ ...env, EVERSTEP_STORE: 'postgres://user:secret@127.0.0.1:1/none' });
  assert.equal(away('store')[0]?.status, 'problem');
  assert.doesNotMatch(JSON.stringify(away('store')), /secret/);
});
