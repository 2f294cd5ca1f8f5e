import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { LIMITS } from '../config/limits.js';
import type { DeliveryFailure } from '../engine/runs/run.js';
import { createAddressPolicy } from './addresses/address-policy.js';
import {
  caller,
  callerWith,
  callWith,
  endpoint,
  failureOf,
  NOW,
  PROTOCOL_HEADERS,
  REPLY,
  type Respond,
  respondWith,
  stepCall,
  useSharedEndpoint,
} from './endpoint.fixture.js';
import { NameError } from './names/index.js';

useSharedEndpoint();

const STEP = { stepId: 1, name: 'a', type: 'Run' };

test('every other response is a failure with a cause, a retry decision and advice', async (t) => {
  const html = { 'content-type': 'text/html' };
  const inTenSeconds = new Date(Math.floor(NOW / 1000) * 1000 + 10_000).toUTCString();
  const backoff = { kind: 'backoff' };
  const never = { kind: 'never' };
  type Row = readonly [what: string, respond: Respond, cause: DeliveryFailure['cause'], retry: object, message: RegExp];
  const table: readonly Row[] = [
    [
      'a plain 200',
      respondWith(200, html, `<p>\n hello ${'x'.repeat(200)}`),
      'not-protocol',
      never,
      /text\/html.*"<p> hello x{90}".*Serve the workflow/,
    ],
    ['an empty 204', respondWith(204, {}), 'not-protocol', never, /content-type missing and an empty body/],
    [
      'an older version',
      respondWith(200, { 'svc-workflow-protocol': '0' }, '{}'),
      'refused',
      never,
      /version 0 .* version 1: upgrade the SDK/,
    ],
    [
      'a newer version',
      respondWith(400, { 'svc-workflow-protocol': '2' }, '{}'),
      'refused',
      never,
      /version 2 .* version 1: upgrade Everstep/,
    ],
    [
      'an endpoint of the published SDK',
      respondWith(500, { 'upstash-workflow-sdk-version': '1' }, '{"error":"WorkflowError","message":"no signature"}'),
      'refused',
      never,
      /served with @upstash\/workflow, but the run was started with @everstep\/sdk: start it with .*QSTASH_TOKEN/,
    ],
    ['a reply cut short', respondWith(200, PROTOCOL_HEADERS, '{"protocol":1,'), 'not-protocol', never, /the body is not JSON/],
    [
      'a reply with a wrong base',
      respondWith(200, PROTOCOL_HEADERS, JSON.stringify({ ...REPLY, base: 4 })),
      'not-protocol',
      never,
      /base must be.*Check that Everstep supports the SDK version/,
    ],
    [
      'a result over a limit',
      respondWith(200, PROTOCOL_HEADERS, JSON.stringify({ ...REPLY, done: [{ ...STEP, out: '['.repeat(300) }] })),
      'not-protocol',
      never,
      /done\[0\]\.out is JSON text that exceeds a limit: nested deeper than 256 levels \(.*\)$/,
    ],
    [
      'an unreadable reply with 500',
      respondWith(500, PROTOCOL_HEADERS, 'oops'),
      'http',
      backoff,
      /returned 500.*the body is not JSON/,
    ],
    ['404', respondWith(404, html, 'nothing'), 'http', backoff, /404: check the workflow URL .*"nothing"/],
    ['405', respondWith(405, {}), 'http', backoff, /does not accept POST/],
    ['410', respondWith(410, {}), 'http', backoff, /no longer exists/],
    ['418', respondWith(418, {}), 'http', backoff, /returned 418 \(an empty body\)/],
    ['502', respondWith(502, {}), 'http', backoff, /a gateway/],
    [
      'a redirect',
      respondWith(308, { location: 'https://elsewhere.example/w' }),
      'http',
      backoff,
      /redirect \(308\) to https:\/\/elsewhere\.example\/w/,
    ],
    ['489 non-retryable', respondWith(489, { 'svc-nonretryable-error': 'true' }, 'no'), 'http', never, /489/],
    ['489 non-retryable, bare name', respondWith(489, { 'nonretryable-error': 'True' }, 'no'), 'http', never, /489/],
    ['489 alone', respondWith(489, {}), 'http', backoff, /489/],
    [
      '429 after seconds',
      respondWith(429, { 'retry-after': '7' }),
      'http',
      { kind: 'after', delayMs: 7_000 },
      /receives too many requests/,
    ],
    [
      '503 after a date',
      respondWith(503, { 'retry-after': inTenSeconds }),
      'http',
      { kind: 'after', delayMs: Date.parse(inTenSeconds) - NOW },
      /not available/,
    ],
    [
      '429 after an age',
      respondWith(429, { 'retry-after': '99999999999' }),
      'http',
      { kind: 'after', delayMs: LIMITS.maxRetryDelayMs },
      /429/,
    ],
    [
      '503 after the past',
      respondWith(503, { 'retry-after': 'Mon, 01 Jan 2001 00:00:00 GMT' }),
      'http',
      { kind: 'after', delayMs: 0 },
      /503/,
    ],
    ['429 after nonsense', respondWith(429, { 'retry-after': '-5' }), 'http', backoff, /429/],
    ['500 with Retry-After', respondWith(500, { 'retry-after': '7' }), 'http', backoff, /500/],
  ];
  for (const [what, respondWith, cause, retry, message] of table) {
    await t.test(what, async () => {
      const failure = failureOf(await callWith(respondWith));
      assert.equal(failure.cause, cause);
      assert.deepEqual(failure.retry, retry);
      assert.match(failure.message, message);
      assert.equal(typeof failure.status, 'number');
      assert.equal(endpoint.received.length, 1, 'no redirect is followed, and no request is repeated');
    });
  }
});

test('errors of a run with redaction do not quote the response', async () => {
  const wrong = { ...REPLY, planned: [{ stepId: 1, name: 'a', type: 'secret' }] };
  const responders: readonly Respond[] = [
    respondWith(500, {}, 'a secret'),
    respondWith(200, { 'content-type': 'text/secret' }, 'a secret'),
    respondWith(200, PROTOCOL_HEADERS, JSON.stringify(wrong)),
    respondWith(500, PROTOCOL_HEADERS, JSON.stringify(wrong)),
    respondWith(307, { location: 'https://elsewhere.example/secret' }),
  ];
  for (const respond of responders) {
    const { message } = failureOf(await callWith(respond, { hidesData: true }));
    assert.match(message, /the endpoint (returned|responded)/);
    assert.doesNotMatch(message, /secret/);
    assert.match(failureOf(await callWith(respond)).message, /secret/);
  }
});

test('only the beginning of a long response is stored, and repeated headers keep all values', async () => {
  const body = 'y'.repeat(LIMITS.maxKeptResponseBytes + 10);
  const outcome = await callWith((response) => response.writeHead(500, { 'set-cookie': ['a=1', 'b=2'] }).end(body));
  const failure = failureOf(outcome);
  assert.equal(failure.responseBody.byteLength, LIMITS.maxKeptResponseBytes);
  assert.deepEqual(failure.responseHeaders['set-cookie'], ['a=1', 'b=2']);
});

test('a response over the limit is cut off, and the error names the limit', async () => {
  let closed: Promise<void> = Promise.resolve();
  const result = await callWith((response) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    const chunk = Buffer.alloc(1024 * 1024, 'z');
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      response.once('drain', more);
    };
    response.writeHead(200, PROTOCOL_HEADERS);
    more();
  });
  const failure = failureOf(result);
  assert.match(failure.message, /more than \d+ bytes \(maxReplyBytes\)/);
  assert.deepEqual(failure.retry, { kind: 'backoff' });
  assert.equal(failure.responseBody.byteLength, LIMITS.maxKeptResponseBytes);
  await closed;
});

test('a response without the header of the step protocol is received only as far as it is stored', async () => {
  let closed: Promise<void> = Promise.resolve();
  const outcome = await callWith((response) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    // The other bytes never arrive.
    response.writeHead(200, { 'content-type': 'text/html', 'content-length': 30_000_000 });
    response.write('z'.repeat(LIMITS.maxKeptResponseBytes + 1));
  });
  const failure = failureOf(outcome);
  assert.match(failure.message, /returned 200 without the header Svc-Workflow-Protocol/);
  assert.equal(failure.responseBody.byteLength, LIMITS.maxKeptResponseBytes);
  await closed;
});

test('an endpoint that does not respond in time is a timeout that states the limit', async () => {
  for (const stall of [() => {}, (response: ServerResponse) => response.writeHead(200, PROTOCOL_HEADERS).write('{')]) {
    const failure = failureOf(await callWith(stall, { timeoutMs: 60 }));
    assert.equal(failure.cause, 'timeout');
    assert.match(failure.message, /within 60 ms/);
    assert.deepEqual(failure.retry, { kind: 'backoff' });
  }
});

test('a canceled call ends immediately and closes its connection', async () => {
  const control = new AbortController();
  endpoint.received = [];
  const closed = new Promise<void>((resolve) => {
    endpoint.respond = (response) => {
      response.once('close', resolve);
      control.abort();
    };
  });
  const failure = failureOf(await caller.call(stepCall(), control.signal));
  assert.equal(failure.cause, 'network');
  assert.equal(failure.message, 'the request was aborted');
  await closed;
  assert.equal(failureOf(await caller.call(stepCall(), control.signal)).message, 'the request was aborted');
  assert.equal(endpoint.received.length, 1, 'a call canceled before it starts sends nothing');
});

test('network errors are described with a message and a code', async (t) => {
  const closedPort = await new Promise<number>((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address() as AddressInfo;
      probe.close(() => resolve(free));
    });
  });
  const garbage = net.createServer((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')));
  const hangUp = net.createServer((socket) => socket.once('data', () => socket.destroy()));
  for (const server of [garbage, hangUp]) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    garbage.close();
    hangUp.close();
  });
  const at = (server: net.Server): string => `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const table: readonly (readonly [url: string, message: RegExp])[] = [
    [`http://127.0.0.1:${closedPort}/`, /127\.0\.0\.1:\d+: connection refused, nothing listens on this address \(ECONNREFUSED\)/],
    ['http://unknown.example/', /unknown\.example: the host name does not exist \(ENOTFOUND\)/],
    [`http://${at(garbage)}/`, /not valid HTTP\/1\.1 \(/],
    [`http://${at(hangUp)}/`, /connection was (closed|reset).*\((UND_ERR_SOCKET|ECONNRESET)\)/],
    [`https://127.0.0.1:${endpoint.port}/`, /does not use TLS/],
  ];
  const names = { find: (name: string) => ({ kind: 'failed', error: new NameError(name, 'ENOTFOUND') }) as const };
  const policy = createAddressPolicy({ allowLoopback: true, allow: [], names });
  const offline = callerWith({ addressPolicyOf: () => policy });
  t.after(() => offline.close());
  for (const [workflowUrl, message] of table) {
    const failure = failureOf(await offline.call(stepCall({ workflowUrl }), new AbortController().signal));
    assert.equal(failure.cause, 'network', workflowUrl);
    assert.match(failure.message, message);
    assert.equal(failure.status, null);
    assert.deepEqual(failure.retry, { kind: 'backoff' });
  }
});

test('blocked addresses are refused permanently, both in the URL and after name resolution', async (t) => {
  const strict = callerWith({ addressPolicyOf: () => createAddressPolicy({ allowLoopback: false, allow: [] }) });
  t.after(() => strict.close());
  endpoint.received = [];
  const table: readonly (readonly [url: string, message: RegExp])[] = [
    [`${endpoint.origin}/w`, /127\.0\.0\.1 is a loopback address/],
    [`http://localhost:${endpoint.port}/w`, /name of this machine/],
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
  // Only resolving the name reveals its loopback address.
  const loopback = createAddressPolicy({ allowLoopback: false, allow: [] });
  const unseen = callerWith({
    addressPolicyOf: () => ({ ...loopback, check: () => ({ ok: true }) }),
  });
  t.after(() => unseen.close());
  for (const workflowUrl of [`http://localhost:${endpoint.port}/w`, `${endpoint.origin}/w`]) {
    const failure = failureOf(await unseen.call(stepCall({ workflowUrl }), new AbortController().signal));
    assert.equal(failure.cause, 'blocked-address', workflowUrl);
    assert.match(failure.message, /loopback|^Everstep does not call the address localhost$/);
  }
  assert.equal(endpoint.received.length, 0);
});

test('a call that cannot be created is a failure, and its URL is not logged', async (t) => {
  const lines: unknown[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (fields: unknown) => void lines.push(fields) };
  const keyless = callerWith({
    log,
    signingKeys: () => {
      throw new Error('no such instance');
    },
  });
  t.after(() => keyless.close());
  const secret = `${endpoint.origin}/w?key=hush`;
  const failure = failureOf(await keyless.call(stepCall({ workflowUrl: secret }), new AbortController().signal));
  assert.match(failure.message, /the call could not be sent: no such instance/);
  assert.deepEqual(lines, [{ instanceId: 'qi_1', runKey: 'k', error: 'no such instance' }]);
});
