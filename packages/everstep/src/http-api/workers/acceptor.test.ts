import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectRaw, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { MAX_HELLO_BYTES } from '@everstep/sdk/protocol';
import { WebSocket } from 'ws';
import { LIMITS } from '../../config/limits.js';
import type { TokenScope } from '../../ports/stores/accounts/named-tokens.js';
import { type TestWorker, WorkerHarness } from './worker-client.fixture.js';

let harness: WorkerHarness;
before(async () => {
  harness = await WorkerHarness.open();
});
after(() => harness.close());

const rejectionOf = async (worker: TestWorker) => {
  const { code, message, retry } = await worker.frame('rejected');
  await worker.closed;
  return { code, message, retry };
};

const HANDSHAKE =
  'GET /v2/workers/connect HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';

/** Returns a masked frame with a text. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.alloc(14);
  head[0] = 0x81;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

interface Raw {
  readonly socket: Socket;
  /** Resolves with everything that was received. */
  readonly closed: Promise<string>;
}

function raw(port = harness.port): Raw {
  const socket = connectRaw(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  socket.on('error', () => {});
  return { socket, closed: once(socket, 'close').then(() => text) };
}

test('a token with the scope for the app, for all apps, or for writing may connect, and no other', async () => {
  const table: readonly (readonly [scopes: readonly TokenScope[], mayConnect: boolean])[] = [
    [['write'], true],
    [['connect'], true],
    [['connect:shop'], true],
    [['connect:bills', 'connect:shop'], true],
    [['connect:bills'], false],
    [['trigger', 'notify', 'read'], false],
  ];
  for (const [scopes, mayConnect] of table) {
    const { token } = await harness.token(scopes);
    const worker = await harness.greet({ token });
    if (mayConnect) await worker.frame('welcome');
    else {
      const has = scopes.join(', ');
      assert.deepEqual(await rejectionOf(worker), {
        code: 'forbidden',
        message: `a worker of the app "shop" requires a token with the scope "connect:shop", "connect" or "write"; this token has: ${has}`,
        retry: false,
      });
    }
    worker.socket.terminate();
  }
  const readOnly = await harness.greet({ token: harness.api.readOnlyToken });
  assert.equal((await rejectionOf(readOnly)).code, 'forbidden');
});

test('a token that may only connect one app may do nothing else', async () => {
  const { token } = await harness.token(['connect:shop']);
  const headers = { authorization: `Bearer ${token}` };
  for (const [method, url] of [
    ['GET', '/v2/keys'],
    ['GET', '/v2/workflows/logs'],
    ['POST', '/v2/trigger/worker://shop/order'],
  ] as const) {
    const response = await harness.api.send<{ readonly error: string }>({ method, url, headers });
    assert.equal(response.status, 403, url);
    assert.match(response.body.error, /this token has: connect:shop$/);
  }
});

test('a token that is not valid is rejected permanently, and no log contains it', async () => {
  const secret = 'est_a-secret-that-nothing-shows';
  const worker = await harness.greet({ token: secret });
  const { code, retry } = await rejectionOf(worker);
  assert.deepEqual([code, retry], ['unauthorized', false]);
  const elsewhere = await harness.dial({ headers: { host: 'us-east-1.everstep.test' } });
  elsewhere.send(harness.hello());
  assert.match((await rejectionOf(elsewhere)).message, /the token belongs to region eu-central-1/);
  const nowhere = await harness.dial({ headers: { host: 'us-nowhere-9.everstep.test' } });
  nowhere.send(harness.hello());
  assert.match((await rejectionOf(nowhere)).message, /unknown region us-nowhere-9/);
  const { worker: accepted } = await harness.connect();
  accepted.socket.terminate();
  const logged = JSON.stringify(harness.api.logged);
  assert.ok(!logged.includes(secret) && !logged.includes(harness.api.token));
});

test('a revoked token ends its connections immediately, and no others', async () => {
  const { token, tokenId } = await harness.token(['connect']);
  const [revoked, other] = [await harness.connect({ token }), await harness.connect()];
  await harness.api.store.accounts.revokeNamedToken({ instanceId: 'qi_1', tokenId, at: 2 });
  harness.api.authority.dropRevoked('qi_1', [tokenId]);
  assert.deepEqual([(await rejectionOf(revoked.worker)).code, revoked.link.isOpen], ['unauthorized', false]);
  assert.equal(other.link.isOpen, true);
  other.worker.socket.terminate();
});

test('a permanent token, a deleted instance and a change on another node end connections too', async () => {
  const { authority, store } = harness.api;
  const token = await authority.issueToken({ instanceId: 'qi_2', access: 'read-write' });
  const permanent = await harness.connect({ token });
  await authority.revoke(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti);
  assert.equal((await rejectionOf(permanent.worker)).code, 'unauthorized');
  const named = await harness.token(['connect'], 'qi_2');
  const elsewhere = await harness.connect({ token: named.token });
  await store.accounts.revokeNamedToken({ instanceId: 'qi_2', tokenId: named.tokenId, at: 2 });
  // Another node revoked it, and notified this one.
  await authority.forget('qi_2');
  assert.equal((await rejectionOf(elsewhere.worker)).code, 'unauthorized');
});

test('closes a connection that sends too much before it is accepted, in one chunk or in many', async () => {
  assert.equal(LIMITS.maxWorkerHelloBytes, MAX_HELLO_BYTES, 'the SDK checks the same limit');
  const long = textFrame('x'.repeat(LIMITS.maxWorkerHelloBytes + 1));
  const together = raw();
  together.socket.write(Buffer.concat([Buffer.from(`${HANDSHAKE}\r\n`), long]));
  assert.match(await together.closed, /^HTTP\/1\.1 101 .*\r\n\r\n$/s);
  const unfinished = raw();
  // Its first frame claims to be longer than any message may be.
  unfinished.socket.write(`${HANDSHAKE}\r\n`);
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0]);
  unfinished.socket.write(head);
  const chunk = Buffer.alloc(1_000);
  const writing = setInterval(() => unfinished.socket.write(chunk), 0);
  await unfinished.closed;
  clearInterval(writing);
  assert.ok(unfinished.socket.bytesWritten < 2 * LIMITS.maxWorkerHelloBytes + 200_000);
});

test('closes a connection without a first frame when the time is over', async () => {
  const workers = [await harness.dial(), await harness.dial()];
  const start = harness.clock.now();
  // Both timers are for the same time.
  while (harness.clock.now() <= start + LIMITS.workerHelloTimeoutMs && harness.clock.advance());
  for (const worker of workers) assert.equal((await worker.closed).code, 1006);
});

test('rejects a first message that is not a hello, and frames before the welcome', async () => {
  for (const [text, message] of [
    ['[]', /not an array of frames/],
    ['[{"kind":"pong"}]', /must be one frame "hello"/],
    ['[{"kind":"hello","connection":{"toString":1}}]', /version unknown of worker connections/],
    ['[{"kind":"hello","connection":1,"protocol":9}]', /version 9 of the step protocol/],
  ] as const) {
    const worker = await harness.dial();
    worker.socket.send(text);
    assert.match((await rejectionOf(worker)).message, message);
  }
  const binary = await harness.dial();
  binary.socket.send(Buffer.from(JSON.stringify([harness.hello()])));
  assert.equal((await rejectionOf(binary)).message, 'the first message is not text');
  const early = raw();
  const hello = textFrame(JSON.stringify([harness.hello({ token: 'est_unknown' })]));
  early.socket.write(Buffer.concat([Buffer.from(`${HANDSHAKE}\r\n`), hello, textFrame('[{"kind":"pong"}]')]));
  assert.match(await early.closed, /^HTTP\/1\.1 101 .*\r\n\r\n$/s);
});

test('limits the connections that are not accepted yet by address', async () => {
  const small = await WorkerHarness.open({ trustedProxies: ['127.0.0.1'] });
  const from = (address: string) => ({ headers: { 'x-forwarded-for': `198.51.100.1, ${address}` } });
  const workers: TestWorker[] = [];
  for (let n = 0; n < LIMITS.maxUnacceptedWorkersPerNetwork; n++) workers.push(await small.dial(from('203.0.113.7')));
  await assert.rejects(small.dial(from('203.0.113.7')), /503/);
  const other = await small.dial(from('203.0.113.8'));
  other.send(small.hello());
  await other.frame('welcome');
  // An accepted worker no longer counts.
  workers[0]?.send(small.hello());
  await workers[0]?.frame('welcome');
  workers.push(await small.dial(from('203.0.113.7')));
  for (const { socket } of [...workers, other]) socket.terminate();
  await Promise.all(workers.map(({ closed }) => closed));
  await small.close();
});

test('connected workers leave connections for requests, and a rejected worker can retry', async () => {
  const small = await WorkerHarness.open({ connectionLimits: { served: 5, accepted: 8 } });
  const connected = [await small.connect(), await small.connect(), await small.connect()];
  const rejected = await small.greet();
  assert.deepEqual(await rejectionOf(rejected), {
    code: 'too-many-connections',
    message: 'the server has reached its limit of 3 connected workers; retry later',
    retry: true,
  });
  const [first, ...others] = connected;
  first?.worker.socket.terminate();
  while (small.pools.links.length === 3) await new Promise((resolve) => setImmediate(resolve));
  others.push(await small.connect());
  for (const { worker } of others) worker.socket.terminate();
  await small.close();
});

test('limits the workflows that the workers of a queue instance serve', async () => {
  const small = await WorkerHarness.open();
  const workers: TestWorker[] = [];
  const offer = async (from: number, count: number): Promise<TestWorker> => {
    const workflows = Array.from({ length: count }, (_, n) => `flow-${from + n}`);
    const worker = await small.dial();
    workers.push(worker);
    worker.send(small.hello({ workflows }));
    return worker;
  };
  for (let n = 0; n < LIMITS.maxServedWorkflowsOfInstance; n += 1_000) await (await offer(n, 1_000)).frame('welcome');
  await (await offer(500, 1_000)).frame('welcome');
  assert.deepEqual(await rejectionOf(await offer(LIMITS.maxServedWorkflowsOfInstance, 1)), {
    code: 'too-many-workflows',
    message:
      'the workers of a queue instance that are connected to one node can serve at most 5000 workflows; serve fewer workflows, or disconnect workers of other workflows and retry',
    retry: true,
  });
  for (const { socket } of workers) socket.terminate();
  await Promise.all(workers.map(({ closed }) => closed));
  await small.close();
});

test('ignores cookies, refuses pages of other origins, and requires a Host header', async () => {
  const withCookie = await harness.dial({
    headers: { cookie: 'everstep_session=1', authorization: `Bearer ${harness.api.token}` },
  });
  withCookie.send(harness.hello({ token: '' }));
  assert.equal((await rejectionOf(withCookie)).code, 'unauthorized');
  const foreign: readonly Readonly<Record<string, string>>[] = [
    { origin: 'https://evil.test' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of foreign) await assert.rejects(harness.dial({ headers }), /403/);
  const own = await harness.dial({ origin: `http://127.0.0.1:${harness.port}` });
  own.socket.terminate();
  const hostless = raw();
  hostless.socket.write(`${HANDSHAKE.replace('Host: localhost\r\n', '')}\r\n`);
  assert.match(await hostless.closed, /^HTTP\/1\.1 400 .*bad-request.*"error":"a worker connection requires/s);
});

test('negotiates no compression and no subprotocol, and rejects an invalid handshake with an error', async () => {
  const url = `ws://127.0.0.1:${harness.port}/v2/workers/connect`;
  const offering = new WebSocket(url, { perMessageDeflate: true });
  await once(offering, 'open');
  assert.equal(offering.extensions, '');
  offering.terminate();
  const closeReasons: string[] = [];
  for (const change of [
    (text: string) => text.replace('dGhlIHNhbXBsZSBub25jZQ==', 'short'),
    (text: string) => text.replace('Version: 13', 'Version: 99'),
    (text: string) => text.replace(/Sec-WebSocket-Key.*?\r\n/, ''),
    (text: string) => `${text}Sec-WebSocket-Protocol: a b,,\r\n`,
  ]) {
    const { socket, closed } = raw();
    socket.write(`${change(HANDSHAKE)}\r\n`);
    closeReasons.push(await closed);
  }
  for (const received of closeReasons)
    assert.match(
      received,
      /^HTTP\/1\.1 400 Bad Request\r\n.*svc-error-code: bad-request\r\n.*the WebSocket handshake is invalid/is,
    );
  const { socket, closed } = raw();
  const extensions = 'Sec-WebSocket-Extensions: permessage-deflate; "junk=, x\r\nSec-WebSocket-Protocol: chat\r\n';
  socket.write(Buffer.concat([Buffer.from(`${HANDSHAKE}${extensions}\r\n`), textFrame('[]')]));
  socket.on('data', (chunk) => chunk.includes('rejected') && socket.end());
  const accepted = await closed;
  assert.match(accepted, /^HTTP\/1\.1 101 /);
  assert.doesNotMatch(accepted.split('\r\n\r\n')[0] ?? '', /extensions|protocol:/i);
});

test('logs accepted, rejected and disconnected workers', async () => {
  const own = await WorkerHarness.open();
  const { worker } = await own.connect({ host: 'h1' });
  worker.socket.send('not JSON');
  await worker.closed;
  for (let n = 0; n < 3; n++) await rejectionOf(await own.greet({ token: 'est_x' }));
  const lines = own.api.logged.filter(({ message }) => message.startsWith('worker '));
  const about = { instanceId: 'qi_1', connectionId: lines[0]?.details.connectionId, app: 'shop', workerId: 'w', host: 'h1' };
  const { caller, ...connected } = lines[0]?.details ?? {};
  assert.match(String(caller), /^token /);
  assert.deepEqual(
    lines.map(({ level, message }) => `${level}: ${message}`),
    ['info: worker connected', 'info: worker disconnected', 'warn: worker rejected'],
  );
  assert.deepEqual(connected, { ...about, callerIp: '127.0.0.1' });
  assert.deepEqual(lines[1]?.details, { ...about, reason: 'the message is not JSON', durationMs: 0 });
  assert.deepEqual(lines[2]?.details, { code: 'unauthorized', occurrences: 1 });
  await own.close();
});

test('closes a connection that sends pings in a loop', async () => {
  const { worker } = await harness.connect();
  const isOpen = () => worker.socket.readyState === worker.socket.OPEN;
  for (let n = 0; n < 10 * LIMITS.maxUnexpectedWorkerFrames && isOpen(); n++) {
    worker.socket.ping();
    if (n % 20 === 0) await once(worker.socket, 'pong').catch(() => {});
    if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.notEqual((await worker.closed).code, 1000);
});
