import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import net, { type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { jwtVerify } from 'jose';
import type { Message, MessageOutcome } from '../ports/message-sender.js';
import { endpoint, KEYS, message, NOW, type Respond, respondWith, sender, useSharedEndpoint } from './endpoint.fixture.js';

useSharedEndpoint();

type RespondedOutcome = Extract<MessageOutcome, { readonly kind: 'response' }>;

async function sendTo(respond: Respond, changes: Partial<Message> = {}): Promise<RespondedOutcome> {
  endpoint.respond = respond;
  endpoint.received = [];
  const outcome = await sender.send(message(changes), new AbortController().signal);
  assert.equal(outcome.kind, 'response', outcome.kind === 'failure' ? outcome.failure.message : '');
  return outcome;
}

const textOf = (received: RespondedOutcome): string => Buffer.from(received.body).toString();

/** Returns bytes that contain every value, repeatedly. */
function anyBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index++) bytes[index] = (index * 7 + (index >> 8)) & 0xff;
  return bytes;
}

/** Starts a server that sends these bytes on every connection after it receives a request. */
async function rawServer(parts: readonly string[]): Promise<string> {
  const server = net.createServer((socket) => {
    socket.once('data', () => {
      for (const part of parts) socket.write(part, 'latin1');
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('a message is sent with its method, URL and body, and every status counts as a response', async () => {
  const bodies: readonly (readonly [method: string, sent: string | null])[] = [
    ['GET', null],
    ['POST', 'a=1'],
    ['PUT', '{}'],
    ['PATCH', 'x'],
    ['DELETE', null],
    ['DELETE', 'which'],
    ['OPTIONS', null],
    ['GET', 'a body with GET'],
    ['post', ''],
  ];
  let status = 200;
  for (const [method, sent] of bodies) {
    status += 33;
    const body = sent === null ? null : Buffer.from(sent);
    const result = await sendTo(respondWith(status, { 'x-a': 'b' }, 'fine'), { method, body });
    assert.equal(result.status, status);
    assert.deepEqual(result.headers['x-a'], ['b']);
    assert.equal(textOf(result), 'fine');
    assert.equal(endpoint.received.length, 1);
    assert.equal(endpoint.received[0]?.method, method.toUpperCase());
    assert.equal(endpoint.received[0]?.url, '/hook?x=1');
    assert.equal(endpoint.received[0]?.body.toString(), sent ?? '');
  }
});

test('a response to HEAD has headers and no body, even if it claims to be encoded', async () => {
  const headers = { 'content-length': '1234', 'content-encoding': 'gzip', etag: '"1"' };
  const outcome = await sendTo(respondWith(200, headers), { method: 'HEAD' });
  assert.equal(endpoint.received[0]?.method, 'HEAD');
  assert.equal(outcome.body.byteLength, 0);
  assert.deepEqual(outcome.headers['content-length'], ['1234']);
  assert.deepEqual(outcome.headers['content-encoding'], ['gzip']);
  assert.deepEqual(outcome.headers.etag, ['"1"']);
});

test('responses with 204 or 304 have no body', async () => {
  for (const status of [204, 304]) {
    const outcome = await sendTo(respondWith(status, {}));
    assert.equal(outcome.status, status);
    assert.equal(outcome.body.byteLength, 0);
  }
});

test('a redirect is a response and is not followed', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const outcome = await sendTo(respondWith(status, { location: `${endpoint.origin}/elsewhere` }));
    assert.equal(outcome.status, status);
    assert.deepEqual(outcome.headers.location, [`${endpoint.origin}/elsewhere`]);
    assert.equal(endpoint.received.length, 1);
  }
});

test('response headers have lower-case names and all their values', async () => {
  const outcome = await sendTo((response) => {
    response.writeHead(200, { 'X-Mixed-Case': 'Yes', 'Set-Cookie': ['a=1; Path=/', 'b=2'] }).end();
  });
  assert.deepEqual(outcome.headers['x-mixed-case'], ['Yes']);
  assert.deepEqual(outcome.headers['set-cookie'], ['a=1; Path=/', 'b=2']);
});

test('a header named like a built-in object property is handled like any other, except __proto__, which is dropped', async () => {
  const url = await rawServer(['HTTP/1.1 200 OK\r\n__proto__: x\r\nconstructor: y\r\nx-a: z\r\ncontent-length: 2\r\n\r\nok']);
  const { headers } = await sendTo(respondWith(200, {}), { url });
  assert.deepEqual(Object.entries(headers), [
    ['constructor', ['y']],
    ['x-a', ['z']],
    ['content-length', ['2']],
  ]);
  assert.equal(Object.getPrototypeOf(headers), Object.prototype);
});

test('headers of the message are sent, except connection and framing headers', async () => {
  await sendTo(respondWith(200, {}), {
    body: Buffer.from('hello'),
    headers: {
      Host: 'evil.example',
      'Content-Length': '1',
      'Transfer-Encoding': 'chunked',
      Connection: 'close',
      'Keep-Alive': 'timeout=1',
      'Proxy-Authorization': 'Basic x',
      'Proxy-Connection': 'close',
      TE: 'trailers',
      Trailer: 'x-t',
      Upgrade: 'h2c',
      Expect: '100-continue',
      'Content-Type': 'text/csv',
      'content-encoding': 'aws-chunked',
      Authorization: 'Bearer x',
      'X-Latin': 'café',
      'Svc-Retries': '3',
      cookie: 'a=1; b=2',
      'x-empty': '',
    },
  });
  const [request] = endpoint.received;
  const headers = request?.headers ?? {};
  assert.equal(request?.body.toString(), 'hello');
  assert.equal(headers.host, `127.0.0.1:${endpoint.port}`);
  assert.equal(headers['content-length'], '5');
  assert.notEqual(headers.connection, 'close');
  const omittedNames = [
    'transfer-encoding',
    'keep-alive',
    'proxy-authorization',
    'proxy-connection',
    'te',
    'trailer',
    'upgrade',
    'expect',
  ];
  for (const name of omittedNames) assert.equal(headers[name], undefined, name);
  assert.equal(headers['content-type'], 'text/csv');
  assert.equal(headers['content-encoding'], 'aws-chunked');
  assert.equal(headers.authorization, 'Bearer x');
  assert.equal(headers['x-latin'], 'café');
  assert.equal(headers['svc-retries'], '3');
  assert.equal(headers.cookie, 'a=1; b=2');
  assert.equal(headers['x-empty'], '');
});

test("the server's user agent and accept-encoding: identity are sent, unless headers of the message override them", async () => {
  await sendTo(respondWith(200, {}));
  const defaultHeaders = endpoint.received[0]?.headers ?? {};
  assert.match(defaultHeaders['user-agent'] ?? '', /^Everstep\/\d+\.\d+\.\d+/);
  assert.equal(defaultHeaders['accept-encoding'], 'identity');
  assert.equal(defaultHeaders['content-type'], undefined);
  await sendTo(respondWith(200, {}), { headers: { 'User-Agent': 'mine/1', 'Accept-Encoding': 'gzip' } });
  const customHeaders = endpoint.received[0]?.headers ?? {};
  assert.equal(customHeaders['user-agent'], 'mine/1');
  assert.equal(customHeaders['accept-encoding'], 'gzip');
});

test('the later of two headers whose names differ only in case is sent', async () => {
  await sendTo(respondWith(200, {}), { headers: { 'X-Key': 'first', 'x-key': 'second' } });
  assert.equal(endpoint.received[0]?.headers['x-key'], 'second');
});

test('a message is signed only on request, over its body, and its own headers cannot replace the signature', async () => {
  await sendTo(respondWith(200, {}), { body: Buffer.from('secret') });
  assert.equal(endpoint.received[0]?.headers['svc-signature'], undefined);

  for (const body of [Buffer.from([0, 255, 1]), null]) {
    await sendTo(respondWith(200, {}), {
      body,
      signed: { kind: 'message', isOwn: false },
      headers: { 'svc-signature': 'forged' },
    });
    const [request] = endpoint.received;
    const token = String(request?.headers['svc-signature']);
    const { payload } = await jwtVerify(token, new TextEncoder().encode(KEYS.current), {
      issuer: 'Everstep',
      subject: `${endpoint.origin}/hook?x=1`,
      currentDate: new Date(NOW),
    });
    assert.equal(
      payload.body,
      createHash('sha256')
        .update(body ?? '')
        .digest('base64url'),
    );
  }
});

test("service headers have the dialect's prefix, override those of the message, and can contain any text", async () => {
  await sendTo(respondWith(200, {}), {
    headers: { 'svc-retried': '9', 'x-a': 'b' },
    serviceHeaders: { Retried: '2', 'Workflow-RunId': '注文\ud800', 'Workflow-Url': 'http://example.org/注文' },
  });
  const headers = endpoint.received[0]?.headers ?? {};
  assert.equal(headers['svc-retried'], '2');
  assert.equal(headers['svc-workflow-runid'], encodeURIComponent('注文\ufffd'));
  assert.equal(headers['svc-workflow-url'], `http://example.org/${encodeURIComponent('注文')}`);
  assert.equal(headers['x-a'], 'b');
});

test('a message has the headers of its trace context, unless its own headers contain one', async () => {
  const context = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'a=1' };
  for (const headerMode of ['exact', 'forwarded'] as const) {
    await sendTo(respondWith(200, {}), { headerMode, trace: { context }, headers: {} });
    assert.equal(endpoint.received[0]?.headers.traceparent, context.traceparent);
    assert.equal(endpoint.received[0]?.headers.tracestate, context.tracestate);
    await sendTo(respondWith(200, {}), { headerMode, trace: { context }, headers: { Traceparent: 'mine' } });
    assert.equal(endpoint.received[0]?.headers.traceparent, 'mine');
    assert.equal(endpoint.received[0]?.headers.tracestate, undefined);
  }
});

test('a message with forwarded headers sends those that a step call would send, and the content type of its body', async () => {
  await sendTo(respondWith(200, {}), {
    signed: { kind: 'message', isOwn: false },
    headerMode: 'forwarded',
    serviceHeaders: { Retried: '2' },
    headers: {
      authorization: 'Bearer x',
      'content-type': 'application/json',
      'user-agent': 'mine/1',
      'content-encoding': 'gzip',
      'accept-encoding': 'gzip',
      'content-length': '1',
      'svc-workflow-runid': 'forged',
      'x-wide': '日本',
      'bad name': 'x',
    },
    body: Buffer.from('{}'),
  });
  const headers = endpoint.received[0]?.headers ?? {};
  assert.equal(headers.authorization, 'Bearer x');
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['user-agent'], 'mine/1');
  assert.equal(headers['accept-encoding'], 'identity');
  assert.equal(headers['content-length'], '2');
  assert.equal(headers['svc-retried'], '2');
  for (const name of ['content-encoding', 'svc-workflow-runid', 'x-wide', 'bad name'])
    assert.equal(headers[name], undefined, name);
});

test('ten megabytes of arbitrary bytes are sent and received unchanged', async () => {
  const bytes = anyBytes(10 * 1024 * 1024);
  const outcome = await sendTo((response) => response.end(bytes), { body: bytes, maxResponseBytes: bytes.length });
  assert.equal(endpoint.received[0]?.body.equals(bytes), true);
  assert.equal(bytes.equals(outcome.body), true);
});

test('a view of a larger buffer is sent without the rest of the buffer', async () => {
  await sendTo(respondWith(200, {}), { body: new Uint8Array(Buffer.from('before[part]after')).subarray(6, 12) });
  assert.equal(endpoint.received[0]?.body.toString(), '[part]');
});

test('a chunked response is assembled, and its trailers are dropped', async () => {
  const url = await rawServer([
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-late\r\n\r\n',
    '3\r\nabc\r\n',
    '2\r\nde\r\n0\r\nx-late: 1\r\n\r\n',
  ]);
  const outcome = await sendTo(respondWith(200, {}), { url });
  assert.equal(textOf(outcome), 'abcde');
  assert.equal(outcome.headers['x-late'], undefined);
});

test('a response without a length is complete when its connection ends', async () => {
  const outcome = await sendTo((response) => {
    response.socket?.end('HTTP/1.0 200 OK\r\nx-a: b\r\n\r\nto the end');
  });
  assert.equal(textOf(outcome), 'to the end');
});

test('informational responses are skipped', async () => {
  const url = await rawServer([
    'HTTP/1.1 102 Processing\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n',
    'HTTP/1.1 201 Created\r\ncontent-length: 4\r\n\r\nmade',
  ]);
  const outcome = await sendTo(respondWith(200, {}), { url });
  assert.equal(outcome.status, 201);
  assert.equal(outcome.headers.link, undefined);
  assert.equal(textOf(outcome), 'made');
});

test('a server that offers a protocol upgrade is handled like any other', async () => {
  const offer = { connection: 'Upgrade', upgrade: 'h2c' };
  assert.equal(textOf(await sendTo(respondWith(200, offer, 'as ever'))), 'as ever');
});

test('a response that arrives slowly within the timeout is received completely', async () => {
  const outcome = await sendTo((response) => {
    response.writeHead(200);
    let left = 5;
    const drip = (): void => {
      response.write('.');
      if (--left === 0) response.end();
      else setImmediate(drip);
    };
    drip();
  });
  assert.equal(textOf(outcome), '.....');
});

test('an empty response is accepted', async () => {
  const outcome = await sendTo(respondWith(200, { 'content-length': '0', 'content-encoding': 'gzip' }));
  assert.equal(outcome.body.byteLength, 0);
});
