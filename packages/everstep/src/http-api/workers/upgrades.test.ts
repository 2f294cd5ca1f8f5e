/** Tests requests with an Upgrade header over raw sockets, on Everstep and on servers that echo what they have read. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { after, before, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { LOCAL_CERTIFICATE, TEST_CA } from '../../config/certificates.fixture.js';
import { TlsListener } from '../tls/tls-listener.js';
import { serveUpgrades } from './upgrades.js';
import { WorkerHarness } from './worker-client.fixture.js';

interface TestServer {
  readonly name: string;
  readonly port: number;
  readonly isTls: boolean;
}

/** Servers that respond to each request with what they have read of it. */
const echoServers: Server[] = [];
const harnesses: WorkerHarness[] = [];
const servers: TestServer[] = [];

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += chunk;
  const { method, url, headers } = request;
  // The response to a slow request is sent after later requests have arrived.
  if (url === '/slow') for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  response.end(JSON.stringify({ method, url, body, connection: headers.connection ?? null, upgrade: headers.upgrade ?? null }));
}

async function startEcho(server: Server, isTls: boolean): Promise<void> {
  const latest = new WeakMap<object, ServerResponse>();
  server.on('request', (request, response) => {
    latest.set(request.socket, response);
    echo(request, response).catch(() => response.destroy());
  });
  const target = { isFor: ({ url }: IncomingMessage) => url === '/own', refusalOf: () => null };
  const accept = (_request: IncomingMessage, socket: { end: (text: string) => void }) =>
    void socket.end('HTTP/1.1 101 Own\r\n\r\n');
  serveUpgrades(server, {
    target: { ...target, accept },
    connectionEvent: isTls ? 'secureConnection' : 'connection',
    latestResponse: (socket) => latest.get(socket),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  echoServers.push(server);
  servers.push({ name: isTls ? 'echo over TLS' : 'echo', port: (server.address() as AddressInfo).port, isTls });
}

before(async () => {
  await startEcho(createServer(), false);
  await startEcho(createTlsServer(LOCAL_CERTIFICATE), true);
  for (const tls of [null, new TlsListener(LOCAL_CERTIFICATE)]) {
    const harness = await WorkerHarness.open(tls ? { tls } : {});
    harnesses.push(harness);
    servers.push({ name: tls ? 'TLS' : 'HTTP', port: harness.port, isTls: tls !== null });
  }
});
after(async () => {
  for (const server of echoServers) server.close();
  for (const harness of harnesses) await harness.close();
});

/** Sends bytes and reads until the server closes the connection. */
async function exchange({ port, isTls }: TestServer, ...texts: readonly string[]): Promise<string> {
  const options = { port, host: '127.0.0.1' };
  const socket = isTls ? connectTls({ ...options, ca: TEST_CA }) : connect(options);
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.on('error', () => {});
  await once(socket, isTls ? 'secureConnect' : 'connect');
  for (const text of texts) {
    socket.write(text, 'latin1');
    await new Promise((resolve) => setImmediate(resolve));
  }
  await once(socket, 'close');
  return received;
}

const statusesOf = (text: string): readonly string[] => text.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [];
const bodiesOf = (text: string): readonly Record<string, unknown>[] =>
  [...text.matchAll(/\{"method.*?\}/g)].map(([body]) => JSON.parse(body));

const H2C = 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nConnection: Upgrade, HTTP2-Settings';
/** Closes the connection after its response. */
const LAST = 'GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
/** Returns a request for an upgrade to h2c. `more` contains further headers. */
const upgrading = (start: string, more = ''): string => `${start} HTTP/1.1\r\nHost: a\r\n${H2C}\r\n${more}\r\n`;

test('requests for an unsupported upgrade are served without the upgrade, and so are the requests after them', async () => {
  for (const server of servers) {
    const body = upgrading('POST /health', 'Content-Length: 5\r\n');
    const chunked = upgrading('POST /health', 'Transfer-Encoding: chunked\r\n');
    const all = `${upgrading('GET /health')}${body}hello${chunked}5\r\nhello\r\n0\r\n\r\n${LAST}`;
    const expected = server.name.includes('echo') ? ['200', '200', '200', '200'] : ['200', '405', '405', '200'];
    assert.deepEqual(statusesOf(await exchange(server, all)), expected, server.name);
    // The heads, the bodies and the next requests arrive separately, and some of them in several parts.
    const parts = [upgrading('GET /health'), body, 'hel', 'lo', chunked, '5\r\nhe', 'llo\r\n0\r\n', '\r\n', LAST];
    assert.deepEqual(statusesOf(await exchange(server, ...parts)), expected, server.name);
    const webSocket = 'GET /elsewhere HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
    const expectedStatus = server.name.includes('echo') ? '200' : '404';
    assert.deepEqual(statusesOf(await exchange(server, webSocket + LAST)), [expectedStatus, '200'], server.name);
  }
});

test('responses keep the order of their requests', async () => {
  const [plain] = servers;
  assert.ok(plain);
  const text = await exchange(plain, `GET /slow HTTP/1.1\r\nHost: a\r\n\r\n${upgrading('GET /1')}${upgrading('GET /2')}${LAST}`);
  assert.deepEqual(
    bodiesOf(text).map(({ url }) => url),
    ['/slow', '/1', '/2', '/health'],
  );
});

test('an upgrade for a worker does not follow an unfinished response', async () => {
  const [plain] = servers;
  assert.ok(plain);
  const own = 'GET /own HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
  assert.deepEqual(statusesOf(await exchange(plain, own)), ['101']);
  assert.deepEqual(statusesOf(await exchange(plain, `GET /slow HTTP/1.1\r\nHost: a\r\n\r\n${own}`)), []);
});

test('a request keeps its other connection options and its body', async () => {
  const [plain] = servers;
  assert.ok(plain);
  const head =
    'POST /a HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\nX: \u00e9\r\nContent-Length: 3\r\n\r\n';
  const [read] = bodiesOf(await exchange(plain, `${head}abc`));
  assert.deepEqual(read, { method: 'POST', url: '/a', body: 'abc', connection: 'close', upgrade: null });
  const http10 = 'GET /a HTTP/1.0\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n';
  assert.equal(bodiesOf(await exchange(plain, http10)).length, 1);
});

test('a request that is invalid without an upgrade is also invalid with one, so no request is smuggled', async () => {
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  const invalid = [
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
    'Content-Length: 5\r\nContent-Length: 6\r\n',
    'Transfer-Encoding: chunked, identity\r\n',
    'Transfer-Encoding: xchunked\r\n',
    'Content-Length: +5\r\n',
    'Content-Length : 5\r\n',
    'no colon\r\n',
  ];
  for (const server of servers) {
    for (const headers of invalid) {
      const text = await exchange(server, `${upgrading('POST /a', headers)}${hidden}`);
      assert.ok(!text.includes('/hidden') && statusesOf(text).length <= 1, `${server.name} ${headers}: ${text}`);
    }
    // A folded header cannot hide a body length from this server and show it to another one.
    const folded = await exchange(
      server,
      `${upgrading('POST /health', 'X: a\r\n Content-Length: 45\r\nContent-Length: 0\r\n')}${LAST}`,
    );
    assert.ok(statusesOf(folded).length <= 2 && !folded.includes('/hidden'), `${server.name}: ${folded}`);
    // A header that is listed as a connection option is still read.
    const named =
      'GET /health HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, Content-Length\r\nContent-Length: 5\r\n\r\nhello';
    assert.equal(statusesOf(await exchange(server, named + LAST)).length, 2, server.name);
  }
});

test('connection limits apply to upgrade requests, and a connection counts once', async () => {
  const harness = await WorkerHarness.open({ connectionLimits: { served: 1, accepted: 8 } });
  const server = { name: 'HTTP', port: harness.port, isTls: false };
  // Only one connection is allowed at a time. Each has several upgrade requests.
  for (let n = 0; n < 3; n++) {
    const text = await exchange(server, upgrading('GET /nothing').repeat(3) + LAST);
    assert.deepEqual(statusesOf(text), ['404', '404', '404', '200']);
  }
  const first = connect(harness.port, '127.0.0.1');
  await once(first, 'connect');
  first.write(upgrading('GET /health'));
  await once(first, 'data');
  assert.deepEqual(statusesOf(await exchange(server, upgrading('GET /nothing'))), ['503']);
  await assert.rejects(harness.dial(), /503/);
  first.destroy();
  await harness.close();
});
