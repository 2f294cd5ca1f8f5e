import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { LIMITS } from '../config/limits.js';
import type { DeliveryFailure } from '../engine/run.js';
import type { Message } from '../ports/message-sender.js';
import { createAddressPolicy } from './address-policy.js';
import { answering, endpoint, failureOf, message, type Respond, sender, senderWith } from './endpoint.fixture.js';

const BACKOFF = { kind: 'backoff' };
const NEVER = { kind: 'never' };
const unaborted = (): AbortSignal => new AbortController().signal;

async function failureWith(respond: Respond, changes: Partial<Message> = {}): Promise<DeliveryFailure> {
  endpoint.respond = respond;
  endpoint.received = [];
  return failureOf(await sender.send(message(changes), unaborted()));
}

test('an answer of as many bytes as the limit is taken; with one more it is a failure that names the limit', async () => {
  const maxAnswerBytes = LIMITS.maxKeptResponseBytes * 2;
  const body = 'z'.repeat(maxAnswerBytes + 1);
  endpoint.respond = answering(200, {}, body.slice(1));
  const whole = await sender.send(message({ maxAnswerBytes }), unaborted());
  assert.equal(whole.kind, 'answered');
  assert.equal(whole.body.byteLength, maxAnswerBytes);

  const failure = await failureWith((response) => response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'] }).end(body), {
    maxAnswerBytes,
  });
  assert.equal(failure.cause, 'http');
  assert.equal(failure.status, 201);
  assert.match(failure.message, new RegExp(`answered 201 with more than ${maxAnswerBytes} bytes \\(maxAnswerBytes\\)`));
  assert.deepEqual(failure.retry, BACKOFF);
  assert.equal(failure.responseBody.byteLength, LIMITS.maxKeptResponseBytes);
  assert.equal(failure.responseBody.buffer.byteLength, LIMITS.maxKeptResponseBytes, 'what is kept keeps nothing else alive');
  assert.deepEqual(failure.responseHeaders['set-cookie'], ['a=1', 'b=2']);
});

test('where the status alone counts, of a longer answer the beginning is taken, and an encoded one as it came', async () => {
  const maxAnswerBytes = 1000;
  const taken = async (respond: Respond) => {
    endpoint.respond = respond;
    const answer = await sender.send(message({ maxAnswerBytes, anyBody: true }), unaborted());
    assert.equal(answer.kind, 'answered');
    return answer;
  };
  const long = await taken(answering(201, { 'x-a': 'b' }, 'z'.repeat(maxAnswerBytes + 1)));
  assert.deepEqual([long.status, long.headers['x-a'], long.body.byteLength], [201, ['b'], maxAnswerBytes]);
  const broken = await taken(answering(200, { 'content-encoding': 'gzip' }, 'no gzip'));
  assert.deepEqual([broken.status, broken.headers['content-encoding']], [200, ['gzip']]);
  assert.equal(Buffer.from(broken.body).toString(), 'no gzip');
});

test('an answer without an end is cut off at the limit, and its connection with it', async () => {
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

test('a message that is not answered in time is a timeout that names the time, before and within the answer', async () => {
  for (const stall of [() => {}, (response: ServerResponse) => response.writeHead(200).write('{')]) {
    const failure = await failureWith(stall, { timeoutMs: 60 });
    assert.equal(failure.cause, 'timeout');
    assert.match(failure.message, /within 60 ms/);
    assert.deepEqual(failure.retry, BACKOFF);
    assert.equal(failure.status, null);
  }
});

test('a message that is given up ends at once, and its connection with it', async () => {
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
  assert.equal(failure.message, 'given up');
  await closed;
  assert.equal(failureOf(await sender.send(message(), control.signal)).message, 'given up');
  assert.equal(endpoint.received.length, 1, 'a message given up before it began is not sent');
});

test('a connection that is cut, before or within the answer, is a failure and never a shorter answer', async (t) => {
  const begun = [
    '',
    'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n',
  ];
  for (const part of begun) {
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

test('what no request can carry is refused for good, and the value of a header is not shown', async (t) => {
  const table: readonly (readonly [changes: Partial<Message>, words: RegExp])[] = [
    [{ headers: { 'bad name': 'x' } }, /the header "bad name" cannot be sent: that is no name/],
    [{ headers: { '': 'x' } }, /the header "" cannot be sent: that is no name/],
    [{ headers: { 'x-split': 'topsecret\r\nx-more: 1' } }, /the header "x-split" cannot be sent: its value/],
    [{ headers: { 'x-wide': 'topsecret日本' } }, /the header "x-wide" cannot be sent: its value/],
    [{ method: 'CONNECT' }, /GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, not with "CONNECT"/],
    [{ method: 'GET / HTTP/1.1\r\n' }, /not with "GET \/ HTTP\/1\.1\\r\\n"/],
    [{ method: '' }, /not with ""/],
  ];
  for (const [changes, words] of table) {
    await t.test(JSON.stringify(changes), async () => {
      const failure = await failureWith(answering(200, {}), changes);
      assert.equal(failure.cause, 'refused');
      assert.match(failure.message, words);
      assert.doesNotMatch(failure.message, /topsecret/);
      assert.deepEqual(failure.retry, NEVER);
      assert.equal(endpoint.received.length, 0);
    });
  }
});

test('addresses that may not be called are refused for good, seen in the URL or found by resolving', async (t) => {
  const policy = createAddressPolicy({ allowLoopback: false, allow: [] });
  const strict = senderWith({ addressPolicyOf: () => policy });
  // It does not see what the URL shows, so that only the connection tells.
  const unseeing = senderWith({ addressPolicyOf: () => ({ ...policy, check: () => ({ ok: true }) }) });
  t.after(() => Promise.all([strict.close(), unseeing.close()]));
  endpoint.received = [];
  const table: readonly (readonly [from: typeof strict, url: string, words: RegExp])[] = [
    [strict, `${endpoint.origin}/`, /127\.0\.0\.1 is a loopback address/],
    [strict, 'http://169.254.169.254/latest/', /metadata/],
    [strict, 'file:///etc/passwd', /only http and https/],
    [strict, 'nonsense', /not an absolute URL/],
    [strict, 'http://user:pass@example.org/', /send credentials in a header/],
    [unseeing, `${endpoint.origin}/`, /loopback/],
    [unseeing, `http://localhost:${endpoint.port}/`, /^localhost is not an address that this service calls$/],
    [unseeing, 'nonsense', /cannot be read/],
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

test('a message that cannot even be made is a failure, and its URL is not logged', async (t) => {
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
  assert.match(failure.message, /could not be made: no such instance/);
  assert.deepEqual(failure.retry, BACKOFF);
  assert.deepEqual(logged, [{ instanceId: 'qi_1', error: 'no such instance' }]);
});

test('a sender that is closed ends what is under way and sends nothing more', async () => {
  const closing = senderWith();
  endpoint.received = [];
  const arrived = new Promise<void>((resolve) => {
    endpoint.respond = () => resolve();
  });
  const under = closing.send(message(), unaborted());
  await arrived;
  await closing.close();
  assert.match(failureOf(await under).message, /service is stopping/);
  assert.match(failureOf(await closing.send(message(), unaborted())).message, /service is stopping/);
  assert.equal(endpoint.received.length, 1);
});
