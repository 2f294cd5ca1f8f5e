import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import type { TriggeredRun } from '../../contract/runs.js';
import { ApiHarness } from '../testing/api-harness.js';

let harness: ApiHarness;
let port: number;
before(async () => {
  harness = await ApiHarness.open();
  ({ port } = await harness.api.listen({ host: '127.0.0.1', port: 0 }));
});
after(() => harness.close());

interface RawResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

function parse(text: string): RawResponse {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  const [line = '', ...lines] = head.split('\r\n');
  const headers = new Map(
    lines.map((each) => [each.split(':', 1)[0]?.toLowerCase() ?? '', each.slice(each.indexOf(':') + 1).trim()]),
  );
  return { status: Number(line.split(' ')[1]), headers, body };
}

/** Sends each text after the response to the previous one, and reads until the server closes the connection. */
async function exchangeText(...texts: readonly string[]): Promise<string> {
  const socket = await open();
  const chunks: Buffer[] = [];
  const rest = [...texts];
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    const next = rest.shift();
    if (next !== undefined) socket.write(next, 'latin1');
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(rest.shift() ?? '', 'latin1');
  await closed;
  return Buffer.concat(chunks).toString('latin1');
}

const exchange = async (text: string): Promise<RawResponse> => parse(await exchangeText(text));

const HOST = 'Host: localhost\r\nConnection: close\r\n';

test('rejects invalid HTTP with the usual error format', async () => {
  const table: readonly (readonly [what: string, text: string, status: number, code: string])[] = [
    ['garbage', 'hello there\r\n\r\n', 400, 'bad-request'],
    ['bytes', '\u0000\u0001\u0002\r\n\r\n', 400, 'bad-request'],
    ['an unknown method', `BREW /v2/keys HTTP/1.1\r\n${HOST}\r\n`, 400, 'bad-request'],
    ['a header without a colon', `GET /v2/keys HTTP/1.1\r\n${HOST}nonsense\r\n\r\n`, 400, 'bad-request'],
    ['no host', 'GET /v2/keys HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'bad-request'],
    ['two lengths', `POST /v2/keys HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 400, 'bad-request'],
    ['a bad chunk', `POST /v2/notify/e HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 401, 'missing-token'],
    ['large headers', `GET /v2/keys HTTP/1.1\r\n${HOST}X: ${'x'.repeat(70_000)}\r\n\r\n`, 431, 'headers-too-large'],
    ['many headers', `GET /v2/keys HTTP/1.1\r\n${HOST}${'X: 1\r\n'.repeat(3_000)}\r\n`, 431, 'headers-too-large'],
  ];
  for (const [what, text, status, code] of table) {
    const response = await exchange(text);
    assert.equal(response.status, status, what);
    assert.equal(response.headers.get('svc-error-code'), code, what);
    assert.deepEqual(Object.keys(JSON.parse(response.body)), ['error'], what);
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/, what);
    assert.equal(Number(response.headers.get('content-length')), response.body.length, what);
  }
});

test('rejects garbage after a complete request separately, and sends nothing for garbage after an unfinished one', async () => {
  const responses = async (...texts: readonly string[]) => (await exchangeText(...texts)).match(/HTTP\/1\.1 \d+/g);
  const kept = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n';
  assert.deepEqual(await responses(kept, 'garbage\r\n\r\n'), ['HTTP/1.1 200', 'HTTP/1.1 400']);
  const unread = 'POST /v2/notify/e HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';
  assert.deepEqual(await responses(unread), ['HTTP/1.1 401']);
  const token = `Authorization: Bearer ${harness.token}\r\n`;
  const broken = `POST /v2/notify/e HTTP/1.1\r\n${HOST}${token}Transfer-Encoding: chunked\r\n\r\nzz\r\n`;
  assert.deepEqual(await responses(broken), ['HTTP/1.1 400']);
});

test('a method that HTTP has and the API does not is 405 or 404', async () => {
  for (const method of ['PROPFIND', 'PURGE', 'LINK', 'TRACE', 'M-SEARCH', 'PUT', 'OPTIONS']) {
    const known = await exchange(`${method} /v2/keys HTTP/1.1\r\n${HOST}\r\n`);
    assert.deepEqual([known.status, known.headers.get('svc-error-code')], [405, 'method-not-allowed'], method);
    assert.equal(known.headers.get('allow'), 'GET, HEAD');
    const unknown = await exchange(`${method} /nothing HTTP/1.1\r\n${HOST}\r\n`);
    assert.deepEqual([unknown.status, unknown.headers.get('svc-error-code')], [404, 'unknown-route'], method);
  }
});

test('rejects a body over the limit before it is sent', async () => {
  const head = `POST /v2/trigger/http://w.test/ok HTTP/1.1\r\n${HOST}Authorization: Bearer ${harness.token}\r\n`;
  const received = await exchange(`${head}Content-Length: 99999999\r\n\r\n`);
  assert.deepEqual([received.status, received.headers.get('svc-error-code')], [413, 'body-too-large']);
});

test('a raw workflow URL with unusual characters reaches its run unchanged', async () => {
  const url = "http://w.test/ok/100%/a//b;c=1?q=%zz&x=[1]&y='";
  const response = await exchange(
    `POST /v2/trigger/${url} HTTP/1.1\r\n${HOST}Authorization: Bearer ${harness.token}\r\nContent-Length: 0\r\n\r\n`,
  );
  assert.equal(response.status, 200, response.body);
  const { workflowRunId }: TriggeredRun = JSON.parse(response.body);
  const run = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId });
  assert.equal(run?.workflowUrl, url);
});

test('stops waiting for a result when the client disconnects', async () => {
  const { workflowRunId } = await harness.trigger('hang');
  const awaited: AbortSignal[] = [];
  const { runs } = harness.runtime;
  const awaitEnd = runs.awaitEnd.bind(runs);
  runs.awaitEnd = (query) => {
    if (query.signal) awaited.push(query.signal);
    return awaitEnd(query);
  };
  const socket = await open();
  socket.write(`GET /v2/workflows/runs/${workflowRunId}/result?timeout=10m&svc_token=${harness.token} HTTP/1.1\r\n${HOST}\r\n`);
  while (awaited.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  const [signal] = awaited;
  assert.ok(signal && !signal.aborted);
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
  socket.destroy();
  await aborted;
  runs.awaitEnd = awaitEnd;
});

test('closing responds to waiting requests and accepts no new ones', async () => {
  const closing = await ApiHarness.open();
  const listening = await closing.api.listen({ host: '127.0.0.1', port: 0 });
  const { workflowRunId } = await closing.trigger('hang');
  const url = `http://127.0.0.1:${listening.port}/v2/workflows/runs/${workflowRunId}/result?timeout=10m`;
  const headers = { authorization: `Bearer ${closing.token}` };
  const awaited = new Promise<void>((resolve) => {
    const { runs } = closing.runtime;
    const awaitEnd = runs.awaitEnd.bind(runs);
    runs.awaitEnd = (query) => {
      resolve();
      return awaitEnd(query);
    };
  });
  const waiting = fetch(url, { headers });
  await awaited;
  await closing.close();
  const response = await waiting;
  assert.equal(response.status, 202);
  await response.arrayBuffer();
  await assert.rejects(fetch(url, { headers }));
});

test('closing does not wait for unused connections', { timeout: 30_000 }, async (t) => {
  const closing = await ApiHarness.open();
  const listening = await closing.api.listen({ host: '127.0.0.1', port: 0 });
  const silent = connect(listening.port, '127.0.0.1');
  const ended = new Promise((resolve) => silent.once('close', resolve));
  silent.on('error', () => {});
  t.after(() => silent.destroy());
  const headers = { authorization: `Bearer ${closing.token}`, connection: 'close' };
  // Its connection is accepted before the next one, which gets a response.
  await new Promise((resolve) => silent.once('connect', resolve));
  assert.equal((await fetch(`http://127.0.0.1:${listening.port}/v2/keys`, { headers })).status, 200);
  await closing.close();
  await ended;
});

test('requests beyond the served connections get 503, connections beyond the accepted ones are closed, and it is logged once', async () => {
  const lines: string[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (_: object, message: string) => lines.push(message) };
  const small = await ApiHarness.open({ connectionLimits: { served: 2, accepted: 3 }, log });
  ({ port } = await small.api.listen({ host: '127.0.0.1', port: 0 }));
  const idle = [await open(), await open()];
  const request = (path: string) => exchangeText(`GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
  const refused = parse(await request('/ready'));
  assert.deepEqual([refused.status, refused.headers.get('retry-after'), refused.headers.get('connection')], [503, '1', 'close']);
  assert.match(refused.body, /too many open connections/);
  assert.equal(parse(await request('/nothing-here')).status, 503);
  assert.equal(parse(await request('/health')).status, 200);
  idle.push(await open());
  assert.equal(await request('/health'), '');
  assert.deepEqual(lines, ['connection limit reached, refusing new connections']);
  for (const socket of idle) socket.destroy();
  await small.close();
});
