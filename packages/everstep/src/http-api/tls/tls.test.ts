import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, type RequestOptions, request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect, TLSSocket } from 'node:tls';
import { hashOfApiKey } from '../../accounts/users/api-key-hash.js';
import { readTlsFiles, watchTlsFiles } from '../../bootstrap/tls-files.js';
import { ELSEWHERE_CERTIFICATE, LOCAL_CERTIFICATE, TEST_CA } from '../../config/certificates.fixture.js';
import { ApiHarness } from '../testing/api-harness.js';
import { TlsListener } from './tls-listener.js';

let harness: ApiHarness;
let directory = '';
let port = 0;
const tls = new TlsListener(LOCAL_CERTIFICATE);

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-tls-'));
  harness = await ApiHarness.open({ tls });
  ({ port } = await harness.api.listen({ host: '127.0.0.1', port: 0 }));
});
after(async () => {
  await harness.close();
  await rm(directory, { recursive: true });
});

interface Got {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Host names of the certificate of a connection. */
  readonly names: string | undefined;
}

const get = (options: RequestOptions, body?: string): Promise<Got> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, ca: TEST_CA, ...options }, (response) => {
      const names = response.socket instanceof TLSSocket ? response.socket.getPeerCertificate().subjectaltname : '';
      response.resume();
      response.once('end', () => resolve({ status: response.statusCode, headers: response.headers, names }));
    });
    sent.once('error', reject).end(body);
  });

test('serves TLS 1.2 and later and sends Strict-Transport-Security', async () => {
  const result = await get({ path: '/health' });
  assert.deepEqual([result.status, result.headers['strict-transport-security']], [200, 'max-age=31536000']);
  assert.equal((await get({ path: '/health', maxVersion: 'TLSv1.2' })).status, 200);
  await assert.rejects(get({ path: '/health', minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }));
  const local = await get({ path: '/health', headers: { host: `localhost:${port}` } });
  assert.equal(local.headers['strict-transport-security'], undefined, 'the header would apply to every port of localhost');
});

test('the session cookie is for TLS only', async () => {
  const user = { userId: 'usr_1', email: 'ann@w.test', createdAt: 1 };
  const apiKey = { apiKeyId: 'key_1', userId: 'usr_1', name: 'one', keyHash: hashOfApiKey('ek_1'), createdAt: 1 };
  await harness.store.accounts.createUser({ user, apiKey });
  const response = await get(
    { method: 'POST', path: '/v2/session', headers: { 'content-type': 'application/json' } },
    JSON.stringify({ email: user.email, api_key: 'ek_1' }),
  );
  assert.match(String(response.headers['set-cookie']), /^__Host-everstep_session=.*; Secure/);
});

test('disconnects a client that uses plain HTTP', async () => {
  const socket = connectPlain(port, '127.0.0.1', () => socket.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n'));
  let received = '';
  socket.on('data', (chunk) => (received += chunk));
  await new Promise((resolve) => socket.once('close', resolve).on('error', () => {}));
  assert.equal(received.includes('HTTP/1.1'), false);
});

test('replaces a certificate without closing connections and rejects an invalid one', async () => {
  const paths = { cert: join(directory, 'tls.crt'), key: join(directory, 'tls.key') };
  const write = async ({ cert, key }: typeof LOCAL_CERTIFICATE) => {
    await writeFile(paths.cert, cert);
    await writeFile(paths.key, key);
  };
  await write(ELSEWHERE_CERTIFICATE);
  const errors: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (_: unknown, message: string) => void errors.push(message) };
  const watch = watchTlsFiles(paths, { log, onChange: (files) => tls.replace(files) });
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: TEST_CA });
  assert.match((await get({ path: '/health', agent })).names ?? '', /localhost/);
  await watch.reload();
  assert.match((await get({ path: '/health', agent })).names ?? '', /localhost/, 'the connection stays open');
  assert.match((await get({ path: '/health', servername: 'elsewhere.test' })).names ?? '', /elsewhere\.test/);
  agent.destroy();
  await copyFile(paths.key, paths.cert);
  await watch.reload();
  assert.deepEqual(errors, ['TLS certificate reload failed, keeping the previous one']);
  await write(LOCAL_CERTIFICATE);
  process.emit('SIGHUP');
  await watch.reload();
  assert.match((await get({ path: '/health' })).names ?? '', /localhost/);
  watch.close();
  await assert.rejects(readTlsFiles({ cert: paths.cert, key: join(directory, 'none') }), /EVERSTEP_TLS_KEY.*ENOENT/);
});

test('stopping does not wait for connections without a request', async () => {
  const own = await ApiHarness.open({ tls: new TlsListener(LOCAL_CERTIFICATE) });
  const listening = await own.api.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect({ host: '127.0.0.1', port: listening.port, ca: TEST_CA });
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  const closed = new Promise((resolve) =>
    socket
      .resume()
      .once('close', resolve)
      .on('error', () => {}),
  );
  await own.close();
  await closed;
});
