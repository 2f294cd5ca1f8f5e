import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { StepRequest } from '@everstep/sdk/protocol';
import { jwtVerify } from 'jose';
import { LIMITS } from '../config/limits.js';
import type { DeliveryFailure } from '../engine/run.js';
import type { Log } from '../ports/log.js';
import type { StepAnswer, StepCall } from '../ports/step-caller.js';
import { SeededRandom } from '../simulation/seeded-random.js';
import { createAddressPolicy } from './address-policy.js';
import { createHttpStepCaller } from './http-step-caller.js';

const NOW = Date.now();
const KEYS = { current: 'sig_current', next: 'sig_next' };
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

const callerWith = (allowLoopback: boolean) =>
  createHttpStepCaller({
    signingKeys: () => KEYS,
    addressPolicy: createAddressPolicy({ allowLoopback, allow: [] }),
    regionOf: () => 'eu-central-1',
    now: () => NOW,
    random: new SeededRandom(1),
    log: silent,
  });
const caller = callerWith(true);

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
type Respond = (response: ServerResponse, received: Received) => void;

let respond: Respond = (response) => response.end();
let received: Received[] = [];
const sockets = new Set<net.Socket>();
const server = createServer((request: IncomingMessage, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method = '', url = '', headers } = request;
    const arrived = { method, url, headers, body: Buffer.concat(chunks) };
    received.push(arrived);
    respond(response, arrived);
  });
});
server.on('connection', (socket) => sockets.add(socket));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const origin = `http://127.0.0.1:${port}`;

after(async () => {
  await caller.close();
  server.closeAllConnections();
  server.close();
});

const REQUEST: StepRequest = {
  protocol: 1,
  run: { key: 'k', id: 'order-7', createdAt: NOW - 5, workflowUrl: `${origin}/w?x=1`, labels: ['a'] },
  messageId: 'msg_1',
  retried: 2,
  maxRetries: 3,
  target: null,
  known: 1,
  journal: { from: 0, length: 0, entries: [] },
  input: { body: { encoding: 'utf8', data: 'grüße' }, headers: {} },
};
const REPLY = {
  protocol: 1,
  kind: 'progress',
  base: 0,
  done: [],
  advanced: false,
  planned: [{ stepId: 1, name: 'a', type: 'Run' }],
};
const SPOKEN = { 'svc-workflow-protocol': '1', 'content-type': 'application/json' };

function stepCall(changes: Partial<StepCall> = {}): StepCall {
  return {
    instanceId: 'qi_1',
    dialect: 'native',
    workflowUrl: `${origin}/w?x=1`,
    request: REQUEST,
    forwardHeaders: {},
    timeoutMs: 5_000,
    ...changes,
  };
}

async function callWith(answer: Respond, changes: Partial<StepCall> = {}): Promise<StepAnswer> {
  respond = answer;
  received = [];
  return caller.call(stepCall(changes), new AbortController().signal);
}

function failureOf(answer: StepAnswer): DeliveryFailure {
  assert.equal(answer.kind, 'failure');
  return answer.failure;
}

const answering =
  (status: number, headers: Record<string, string>, body = ''): Respond =>
  (response) =>
    response.writeHead(status, headers).end(body);

test('a step is asked for with one signed POST that carries the run in its headers', async () => {
  const answer = await callWith(answering(200, SPOKEN, JSON.stringify(REPLY)), {
    forwardHeaders: { authorization: 'Bearer x', 'x-many': 'a, b' },
  });
  assert.equal(answer.kind, 'reply');
  assert.deepEqual(answer.reply, REPLY);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.responseHeaders['content-type'], ['application/json']);
  assert.equal(Buffer.from(answer.responseBody).toString(), JSON.stringify(REPLY));

  assert.equal(received.length, 1);
  const [request] = received;
  assert.ok(request);
  assert.equal(request.method, 'POST');
  assert.equal(request.url, '/w?x=1');
  assert.deepEqual(JSON.parse(request.body.toString()), REQUEST);
  const { headers } = request;
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['svc-workflow-protocol'], '1');
  assert.equal(headers['svc-workflow-runid'], 'order-7');
  assert.equal(headers['svc-workflow-created-at'], String(NOW - 5));
  assert.equal(headers['svc-workflow-url'], `${origin}/w?x=1`);
  assert.equal(headers['svc-message-id'], 'msg_1');
  assert.equal(headers['svc-retried'], '2');
  assert.equal(headers['svc-region'], 'eu-central-1');
  assert.match(headers['user-agent'] ?? '', /^Everstep\/\d+\.\d+\.\d+/);
  assert.equal(headers.authorization, 'Bearer x');
  assert.equal(headers['x-many'], 'a, b');
});

test('the signature is a JWT over the body that an ordinary JWT library accepts', async () => {
  await callWith(answering(200, SPOKEN, JSON.stringify(REPLY)));
  await callWith(answering(200, SPOKEN, JSON.stringify(REPLY)));
  const [request] = received;
  assert.ok(request);
  const token = String(request.headers['svc-signature']);
  const { payload, protectedHeader } = await jwtVerify(token, new TextEncoder().encode(KEYS.current), {
    issuer: 'Everstep',
    subject: `${origin}/w?x=1`,
    currentDate: new Date(NOW),
  });
  assert.deepEqual(protectedHeader, { alg: 'HS256', typ: 'JWT' });
  assert.equal(payload.body, createHash('sha256').update(request.body).digest('base64url'));
  assert.equal(payload.iat, Math.floor(NOW / 1000));
  assert.equal(payload.nbf, payload.iat);
  assert.equal(payload.exp, Math.floor(NOW / 1000) + 300);
  assert.match(payload.jti ?? '', /^[\w-]{22}$/);
  await assert.rejects(jwtVerify(token, new TextEncoder().encode(KEYS.next)));
});

test('forwarded headers never override those of the exchange, and what no header can carry is left out', async () => {
  await callWith(answering(200, SPOKEN, JSON.stringify(REPLY)), {
    forwardHeaders: {
      host: 'evil.example',
      'content-length': '1',
      'content-type': 'text/plain',
      'transfer-encoding': 'chunked',
      connection: 'close',
      te: 'trailers',
      upgrade: 'h2c',
      expect: '100-continue',
      'accept-encoding': 'gzip',
      'user-agent': 'curl',
      'svc-signature': 'forged',
      'Svc-Workflow-RunId': 'forged',
      'bad name': 'x',
      'x-split': 'a\r\nsvc-retried: 9',
      'x-wide': '日本',
      'x-latin': 'café',
      'x-ok': 'yes',
    },
  });
  const headers = received[0]?.headers ?? {};
  assert.equal(headers.host, `127.0.0.1:${port}`);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['content-length'], String(received[0]?.body.length));
  assert.equal(headers['accept-encoding'], 'identity');
  assert.match(headers['user-agent'] ?? '', /^Everstep/);
  assert.equal(headers['svc-workflow-runid'], 'order-7');
  assert.equal(headers['svc-retried'], '2');
  assert.match(String(headers['svc-signature']), /^[\w-]+\.[\w-]+\.[\w-]+$/);
  for (const name of ['transfer-encoding', 'te', 'upgrade', 'expect', 'bad name', 'x-split', 'x-wide'])
    assert.equal(headers[name], undefined, name);
  assert.equal(headers['x-latin'], 'café');
  assert.equal(headers['x-ok'], 'yes');
});

test('a run id that no header can carry is sent percent-encoded', async () => {
  await callWith(answering(200, SPOKEN, JSON.stringify(REPLY)), {
    request: { ...REQUEST, run: { ...REQUEST.run, id: '注文\ud800' } },
  });
  assert.equal(received[0]?.headers['svc-workflow-runid'], encodeURIComponent('注文\ufffd'));
});

test('connections are kept alive', async () => {
  await callWith(answering(200, SPOKEN, JSON.stringify(REPLY)));
  const before = sockets.size;
  for (let i = 0; i < 5; i++) await callWith(answering(200, SPOKEN, JSON.stringify(REPLY)));
  assert.equal(sockets.size, before);
});

test('a failed reply is a reply, whatever its status', async () => {
  const frame = {
    protocol: 1,
    kind: 'failed',
    base: 0,
    done: [],
    error: { name: 'Error', message: 'no' },
    retry: { kind: 'backoff' },
  };
  for (const status of [500, 429, 489, 401]) {
    const answer = await callWith(answering(status, SPOKEN, JSON.stringify(frame)));
    assert.equal(answer.kind, 'reply', `${status}`);
    assert.deepEqual(answer.reply, frame);
    assert.equal(answer.status, status);
  }
});

test('every other answer is a failure with its cause, whether to retry, and what to do', async (t) => {
  const html = { 'content-type': 'text/html' };
  const inTenSeconds = new Date(Math.floor(NOW / 1000) * 1000 + 10_000).toUTCString();
  const backoff = { kind: 'backoff' };
  const never = { kind: 'never' };
  type Row = readonly [what: string, respond: Respond, cause: DeliveryFailure['cause'], retry: object, message: RegExp];
  const table: readonly Row[] = [
    [
      'a plain 200',
      answering(200, html, `<p>\n hello ${'x'.repeat(200)}`),
      'not-protocol',
      never,
      /text\/html.*"<p> hello x{90}".*serve the workflow/,
    ],
    ['an empty 204', answering(204, {}), 'not-protocol', never, /content-type missing and an empty body/],
    [
      'an older version',
      answering(200, { 'svc-workflow-protocol': '0' }, '{}'),
      'refused',
      never,
      /version 0 .* version 1: upgrade the SDK/,
    ],
    [
      'a newer version',
      answering(400, { 'svc-workflow-protocol': '2' }, '{}'),
      'refused',
      never,
      /version 2 .* version 1: upgrade the service/,
    ],
    ['a reply cut short', answering(200, SPOKEN, '{"protocol":1,'), 'not-protocol', never, /the body is no JSON/],
    [
      'a reply with a wrong base',
      answering(200, SPOKEN, JSON.stringify({ ...REPLY, base: 4 })),
      'not-protocol',
      never,
      /base must be/,
    ],
    ['an unreadable reply with 500', answering(500, SPOKEN, 'oops'), 'http', backoff, /answered 500.*the body is no JSON/],
    ['404', answering(404, html, 'nothing'), 'http', backoff, /404: is the workflow URL right\? .*"nothing"/],
    ['405', answering(405, {}), 'http', backoff, /does not take POST/],
    ['410', answering(410, {}), 'http', backoff, /gone/],
    ['418', answering(418, {}), 'http', backoff, /answered 418 \(an empty body\)/],
    ['502', answering(502, {}), 'http', backoff, /a gateway/],
    [
      'a redirect',
      answering(308, { location: 'https://elsewhere.example/w' }),
      'http',
      backoff,
      /redirect \(308\) to https:\/\/elsewhere\.example\/w/,
    ],
    ['489 non-retryable', answering(489, { 'svc-nonretryable-error': 'true' }, 'no'), 'http', never, /489/],
    ['489 non-retryable, bare name', answering(489, { 'nonretryable-error': 'True' }, 'no'), 'http', never, /489/],
    ['489 alone', answering(489, {}), 'http', backoff, /489/],
    ['429 after seconds', answering(429, { 'retry-after': '7' }), 'http', { kind: 'after', delayMs: 7_000 }, /asked too often/],
    [
      '503 after a date',
      answering(503, { 'retry-after': inTenSeconds }),
      'http',
      { kind: 'after', delayMs: Date.parse(inTenSeconds) - NOW },
      /not available/,
    ],
    [
      '429 after an age',
      answering(429, { 'retry-after': '99999999999' }),
      'http',
      { kind: 'after', delayMs: LIMITS.maxRetryDelayMs },
      /429/,
    ],
    [
      '503 after the past',
      answering(503, { 'retry-after': 'Mon, 01 Jan 2001 00:00:00 GMT' }),
      'http',
      { kind: 'after', delayMs: 0 },
      /503/,
    ],
    ['429 after nonsense', answering(429, { 'retry-after': '-5' }), 'http', backoff, /429/],
    ['500 with Retry-After', answering(500, { 'retry-after': '7' }), 'http', backoff, /500/],
  ];
  for (const [what, respondWith, cause, retry, message] of table) {
    await t.test(what, async () => {
      const failure = failureOf(await callWith(respondWith));
      assert.equal(failure.cause, cause);
      assert.deepEqual(failure.retry, retry);
      assert.match(failure.message, message);
      assert.equal(typeof failure.status, 'number');
      assert.equal(received.length, 1, 'nothing is followed or repeated');
    });
  }
});

test('of a long answer only the beginning is kept, and headers that repeat keep all values', async () => {
  const body = 'y'.repeat(LIMITS.maxKeptResponseBytes + 10);
  const answer = await callWith((response) => response.writeHead(500, { 'set-cookie': ['a=1', 'b=2'] }).end(body));
  const failure = failureOf(answer);
  assert.equal(failure.responseBody.byteLength, LIMITS.maxKeptResponseBytes);
  assert.deepEqual(failure.responseHeaders['set-cookie'], ['a=1', 'b=2']);
});

test('an answer over the limit is cut off and the limit named', async () => {
  let closed: Promise<void> = Promise.resolve();
  const answer = await callWith((response) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    const chunk = Buffer.alloc(1024 * 1024, 'z');
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      response.once('drain', more);
    };
    response.writeHead(200, SPOKEN);
    more();
  });
  const failure = failureOf(answer);
  assert.match(failure.message, /more than \d+ bytes \(maxReplyBytes\)/);
  assert.deepEqual(failure.retry, { kind: 'backoff' });
  assert.equal(failure.responseBody.byteLength, LIMITS.maxKeptResponseBytes);
  await closed;
});

test('an endpoint that does not answer in time is a timeout that names the time, before and within the answer', async () => {
  for (const stall of [() => {}, (response: ServerResponse) => response.writeHead(200, SPOKEN).write('{')]) {
    const failure = failureOf(await callWith(stall, { timeoutMs: 60 }));
    assert.equal(failure.cause, 'timeout');
    assert.match(failure.message, /within 60 ms/);
    assert.deepEqual(failure.retry, { kind: 'backoff' });
  }
});

test('a call that is given up ends at once, and its connection with it', async () => {
  const control = new AbortController();
  received = [];
  const closed = new Promise<void>((resolve) => {
    respond = (response) => {
      response.once('close', resolve);
      control.abort();
    };
  });
  const failure = failureOf(await caller.call(stepCall(), control.signal));
  assert.equal(failure.cause, 'network');
  assert.equal(failure.message, 'given up');
  await closed;
  assert.equal(failureOf(await caller.call(stepCall(), control.signal)).message, 'given up');
  assert.equal(received.length, 1, 'a call given up before it began sends nothing');
});

test('what goes wrong on the way is said in words with its code', async (t) => {
  const closedPort = await new Promise<number>((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address() as AddressInfo;
      probe.close(() => resolve(free));
    });
  });
  const garbage = net.createServer((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')));
  const hangUp = net.createServer((socket) => socket.once('data', () => socket.destroy()));
  for (const each of [garbage, hangUp]) await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    garbage.close();
    hangUp.close();
  });
  const at = (each: net.Server): string => `127.0.0.1:${(each.address() as AddressInfo).port}`;
  const table: readonly (readonly [url: string, message: RegExp])[] = [
    [`http://127.0.0.1:${closedPort}/`, /127\.0\.0\.1:\d+: nothing listens there \(ECONNREFUSED\)/],
    ['http://no-such-host.invalid/', /no-such-host\.invalid: .*\((ENOTFOUND|EAI_AGAIN)\)/],
    [`http://${at(garbage)}/`, /no HTTP\/1\.1 \(/],
    [`http://${at(hangUp)}/`, /connection was (closed|reset).*\((UND_ERR_SOCKET|ECONNRESET)\)/],
    [`https://127.0.0.1:${port}/`, /does not speak TLS/],
  ];
  for (const [workflowUrl, message] of table) {
    const failure = failureOf(await caller.call(stepCall({ workflowUrl }), new AbortController().signal));
    assert.equal(failure.cause, 'network', workflowUrl);
    assert.match(failure.message, message);
    assert.equal(failure.status, null);
    assert.deepEqual(failure.retry, { kind: 'backoff' });
  }
});

test('addresses that may not be called are refused for good, seen in the URL or found by resolving', async (t) => {
  const strict = callerWith(false);
  t.after(() => strict.close());
  received = [];
  const table: readonly (readonly [url: string, message: RegExp])[] = [
    [`${origin}/w`, /127\.0\.0\.1 is a loopback address/],
    [`http://localhost:${port}/w`, /name of this machine/],
    ['http://169.254.169.254/latest/', /metadata/],
    ['ftp://example.org/', /only http and https/],
    ['nonsense', /not an absolute URL/],
  ];
  for (const [workflowUrl, message] of table) {
    const failure = failureOf(await strict.call(stepCall({ workflowUrl }), new AbortController().signal));
    assert.equal(failure.cause, 'blocked-address', workflowUrl);
    assert.deepEqual(failure.retry, { kind: 'never' });
    assert.match(failure.message, message);
  }
  // A name that the URL does not betray: only resolving it does.
  const loopback = createAddressPolicy({ allowLoopback: false, allow: [] });
  const unseen = createHttpStepCaller({
    signingKeys: () => KEYS,
    addressPolicy: { ...loopback, check: () => ({ ok: true }) },
    now: () => NOW,
    random: new SeededRandom(1),
    log: silent,
  });
  t.after(() => unseen.close());
  for (const workflowUrl of [`http://localhost:${port}/w`, `${origin}/w`]) {
    const failure = failureOf(await unseen.call(stepCall({ workflowUrl }), new AbortController().signal));
    assert.equal(failure.cause, 'blocked-address', workflowUrl);
    assert.match(failure.message, /loopback/);
  }
  assert.equal(received.length, 0);
});

test('no more connections to one host than the limit, and the others wait their turn', async () => {
  let open = 0;
  let most = 0;
  const answer: Respond = (response) => {
    open++;
    most = Math.max(most, open);
    setTimeout(() => {
      open--;
      response.writeHead(200, SPOKEN).end(JSON.stringify(REPLY));
    }, 20);
  };
  const answers = await Promise.all(Array.from({ length: LIMITS.maxConnectionsPerHost + 40 }, () => callWith(answer)));
  assert.ok(answers.every(({ kind }) => kind === 'reply'));
  assert.ok(most <= LIMITS.maxConnectionsPerHost, `${most} at once`);
  assert.ok(most > 1);
});

test('a caller without a signing key sends nothing', async (t) => {
  const keyless = createHttpStepCaller({
    signingKeys: (instanceId) => {
      throw new Error(`no signing keys for ${instanceId}`);
    },
    addressPolicy: createAddressPolicy({ allowLoopback: true, allow: [] }),
    now: () => NOW,
    random: new SeededRandom(1),
    log: silent,
  });
  t.after(() => keyless.close());
  received = [];
  const failure = failureOf(await keyless.call(stepCall(), new AbortController().signal));
  assert.match(failure.message, /no signing keys for qi_1/);
  assert.equal(received.length, 0);
});

test('after close every call fails, also those under way', async () => {
  const closing = callerWith(true);
  respond = () => void closing.close();
  assert.match(failureOf(await closing.call(stepCall(), new AbortController().signal)).message, /stopping|closed/);
  assert.match(failureOf(await closing.call(stepCall(), new AbortController().signal)).message, /stopping/);
});
