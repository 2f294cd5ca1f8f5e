import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { LIMITS } from '../config/limits.js';
import type { DeliveryFailure } from '../engine/runs/run.js';
import type { Message } from '../ports/message-sender.js';
import { createAddressPolicy } from './addresses/address-policy.js';
import {
  endpoint,
  failureOf,
  message,
  type Respond,
  respondWith,
  sender,
  senderWith,
  useSharedEndpoint,
} from './endpoint.fixture.js';

useSharedEndpoint();

const BACKOFF = { kind: 'backoff' };
const NEVER = { kind: 'never' };
const unaborted = (): AbortSignal => new AbortController().signal;

async function failureWith(respond: Respond, changes: Partial<Message> = {}): Promise<DeliveryFailure> {
  endpoint.respond = respond;
  endpoint.received = [];
  return failureOf(await sender.send(message(changes), unaborted()));
}

test('a response of exactly the limit is accepted; one more byte is a failure that names the limit', async () => {
  const maxResponseBytes = LIMITS.maxKeptResponseBytes * 2;
  const body = 'z'.repeat(maxResponseBytes + 1);
  endpoint.respond = respondWith(200, {}, body.slice(1));
  const whole = await sender.send(message({ maxResponseBytes }), unaborted());
  assert.equal(whole.kind, 'response');
  assert.equal(whole.body.byteLength, maxResponseBytes);

  const failure = await failureWith((response) => response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'] }).end(body), {
    maxResponseBytes,
  });
  assert.equal(failure.cause, 'http');
  assert.equal(failure.status, 201);
  assert.match(failure.message, new RegExp(`returned 201 with more than ${maxResponseBytes} bytes \\(maxResponseBytes\\)`));
  assert.deepEqual(failure.retry, BACKOFF);
  assert.equal(failure.responseBody.byteLength, LIMITS.maxKeptResponseBytes);
  assert.equal(
    failure.responseBody.buffer.byteLength,
    LIMITS.maxKeptResponseBytes,
    'the stored part does not keep the rest of the answer in memory',
  );
  assert.deepEqual(failure.responseHeaders['set-cookie'], ['a=1', 'b=2']);
});

test('if only the status matters, a long response is truncated and an encoded one stays encoded', async () => {
  const maxResponseBytes = 1000;
  const accepted = async (respond: Respond) => {
    endpoint.respond = respond;
    const outcome = await sender.send(message({ maxResponseBytes, anyBody: true }), unaborted());
    assert.equal(outcome.kind, 'response');
    return outcome;
  };
  const long = await accepted(respondWith(201, { 'x-a': 'b' }, 'z'.repeat(maxResponseBytes + 1)));
  assert.deepEqual([long.status, long.headers['x-a'], long.body.byteLength], [201, ['b'], maxResponseBytes]);
  const broken = await accepted(respondWith(200, { 'content-encoding': 'gzip' }, 'not gzip'));
  assert.deepEqual([broken.status, broken.headers['content-encoding']], [200, ['gzip']]);
  assert.equal(Buffer.from(broken.body).toString(), 'not gzip');
});

test('an endless response is cut off at the limit, and its connection is closed', async () => {
  let closed: Promise<void> = Promise.resolve();
  const failure = await failureWith((response) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    const chunk = Buffer.alloc(64 * 1024, 'z');
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      response.once('drain', more);
    };
    more();
  });
  assert.match(failure.message, /more than \d+ bytes/);
  await closed;
});

test('a message without a complete response in time is a timeout that states the limit', async () => {
  for (const stall of [() => {}, (response: ServerResponse) => response.writeHead(200).write('{')]) {
    const failure = await failureWith(stall, { timeoutMs: 60 });
    assert.equal(failure.cause, 'timeout');
    assert.match(failure.message, /within 60 ms/);
    assert.deepEqual(failure.retry, BACKOFF);
    assert.equal(failure.status, null);
  }
});

test('a canceled message ends immediately and closes its connection', async () => {
  const control = new AbortController();
  endpoint.received = [];
  const closed = new Promise<void>((resolve) => {
    endpoint.respond = (response) => {
      response.once('close', resolve);
      control.abort();
    };
  });
  const failure = failureOf(await sender.send(message(), control.signal));
  assert.equal(failure.cause, 'network');
  assert.equal(failure.message, 'the request was aborted');
  await closed;
  assert.equal(failureOf(await sender.send(message(), control.signal)).message, 'the request was aborted');
  assert.equal(endpoint.received.length, 1, 'a message canceled before it starts is not sent');
});

test('a connection closed before or within the response is a failure, never a shorter response', async (t) => {
  const partialResponses = [
    '',
    'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n',
  ];
  for (const part of partialResponses) {
    const cutting = net.createServer((socket) => socket.once('data', () => socket.end(part)));
    await new Promise<void>((resolve) => cutting.listen(0, '127.0.0.1', resolve));
    t.after(() => cutting.close());
    const url = `http://127.0.0.1:${(cutting.address() as AddressInfo).port}/`;
    const failure = failureOf(await sender.send(message({ url }), unaborted()));
    assert.equal(failure.cause, 'network');
    assert.match(failure.message, /could not reach 127\.0\.0\.1:\d+: .* \([A-Z_]+\)/);
    assert.deepEqual(failure.retry, BACKOFF);
  }
});

test('an invalid request is refused permanently, and header values are not shown', async (t) => {
  const table: readonly (readonly [changes: Partial<Message>, words: RegExp])[] = [
    [{ headers: { 'bad name': 'x' } }, /the header "bad name" cannot be sent: it is not a valid header name/],
    [{ headers: { '': 'x' } }, /the header "" cannot be sent: it is not a valid header name/],
    [{ headers: { 'x-split': 'topsecret\r\nx-more: 1' } }, /the header "x-split" cannot be sent: it has a value/],
    [{ headers: { 'x-wide': 'topsecret日本' } }, /the header "x-wide" cannot be sent: it has a value/],
    [{ method: 'CONNECT' }, /must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS, but is "CONNECT"/],
    [{ method: 'GET / HTTP/1.1\r\n' }, /but is "GET \/ HTTP\/1\.1\\r\\n"/],
    [{ method: '' }, /but is ""/],
  ];
  for (const [changes, words] of table) {
    await t.test(JSON.stringify(changes), async () => {
      const failure = await failureWith(respondWith(200, {}), changes);
      assert.equal(failure.cause, 'refused');
      assert.match(failure.message, words);
      assert.doesNotMatch(failure.message, /topsecret/);
      assert.deepEqual(failure.retry, NEVER);
      assert.equal(endpoint.received.length, 0);
    });
  }
});

test('blocked addresses are refused permanently, both in the URL and after name resolution', async (t) => {
  const policy = createAddressPolicy({ allowLoopback: false, allow: [] });
  const strict = senderWith({ addressPolicyOf: () => policy });
  // The policy skips the check of the URL, so that only the connection is checked.
  const uncheckedUrls = senderWith({ addressPolicyOf: () => ({ ...policy, check: () => ({ ok: true }) }) });
  t.after(() => Promise.all([strict.close(), uncheckedUrls.close()]));
  endpoint.received = [];
  const table: readonly (readonly [from: typeof strict, url: string, words: RegExp])[] = [
    [strict, `${endpoint.origin}/`, /127\.0\.0\.1 is a loopback address/],
    [strict, 'http://169.254.169.254/latest/', /metadata/],
    [strict, 'file:///etc/passwd', /only http and https/],
    [strict, 'nonsense', /not an absolute URL/],
    [strict, 'http://user:pass@example.org/', /send credentials in a header/],
    [uncheckedUrls, `${endpoint.origin}/`, /loopback/],
    [uncheckedUrls, `http://localhost:${endpoint.port}/`, /^Everstep does not call the address localhost$/],
    [uncheckedUrls, 'nonsense', /URL is invalid/],
  ];
  for (const [from, url, words] of table) {
    for (const method of ['GET', 'POST']) {
      const failure = failureOf(await from.send(message({ url, method }), unaborted()));
      assert.equal(failure.cause, 'blocked-address', url);
      assert.match(failure.message, words);
      assert.deepEqual(failure.retry, NEVER);
    }
  }
  assert.equal(endpoint.received.length, 0);
});

test('a message that cannot be created is a failure, and its URL is not logged', async (t) => {
  const logged: unknown[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (fields: unknown) => void logged.push(fields) };
  const keyless = senderWith({
    log,
    signingKeys: () => {
      throw new Error('no such instance');
    },
  });
  t.after(() => keyless.close());
  const failure = failureOf(await keyless.send(message({ signed: { kind: 'message', isOwn: false } }), unaborted()));
  assert.match(failure.message, /request could not be sent: no such instance/);
  assert.deepEqual(failure.retry, BACKOFF);
  assert.deepEqual(logged, [{ instanceId: 'qi_1', error: 'no such instance' }]);
});

test('closing a sender aborts messages in progress and prevents new ones', async () => {
  const closing = senderWith();
  endpoint.received = [];
  const arrived = new Promise<void>((resolve) => {
    endpoint.respond = () => resolve();
  });
  const under = closing.send(message(), unaborted());
  await arrived;
  await closing.close();
  assert.match(failureOf(await under).message, /server is stopping/);
  assert.match(failureOf(await closing.send(message(), unaborted())).message, /server is stopping/);
  assert.equal(endpoint.received.length, 1);
});
