import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import type { Message, MessageOutcome } from '../../ports/message-sender.js';
import { endpoint, failureOf, message, sender, useSharedEndpoint } from '../endpoint.fixture.js';

useSharedEndpoint();

const TEXT = Buffer.from('grüße, '.repeat(100));
const MAX_ANSWER_BYTES = 64 * 1024;

async function respondEncoded(
  encoding: string | string[],
  body: Buffer,
  changes: Partial<Message> = {},
): Promise<MessageOutcome> {
  endpoint.respond = (response) => response.setHeader('content-encoding', encoding).setHeader('x-a', 'b').end(body);
  return sender.send(message({ maxResponseBytes: MAX_ANSWER_BYTES, ...changes }), new AbortController().signal);
}

test('an encoded response is decoded, and its encoding headers are dropped', async (t) => {
  const table: readonly (readonly [encoding: string | string[], body: Buffer])[] = [
    ['gzip', zlib.gzipSync(TEXT)],
    ['GZip', zlib.gzipSync(TEXT)],
    ['x-gzip', zlib.gzipSync(TEXT)],
    ['gzip', Buffer.concat([zlib.gzipSync(TEXT.subarray(0, 50)), zlib.gzipSync(TEXT.subarray(50))])],
    ['br', zlib.brotliCompressSync(TEXT)],
    ['deflate', zlib.deflateSync(TEXT)],
    ['deflate', zlib.deflateRawSync(TEXT)],
    ['gzip, br', zlib.brotliCompressSync(zlib.gzipSync(TEXT))],
    ['identity, gzip', zlib.gzipSync(TEXT)],
    [['br', 'gzip'], zlib.gzipSync(zlib.brotliCompressSync(TEXT))],
  ];
  for (const [encoding, body] of table) {
    await t.test(String(encoding), async () => {
      const outcome = await respondEncoded(encoding, body);
      assert.equal(outcome.kind, 'response');
      assert.equal(Buffer.from(outcome.body).equals(TEXT), true);
      assert.equal(outcome.headers['content-encoding'], undefined);
      assert.equal(outcome.headers['content-length'], undefined);
      assert.deepEqual(outcome.headers['x-a'], ['b']);
    });
  }
});

test('a response with an unknown encoding stays encoded and keeps its headers', async () => {
  for (const encoding of ['compress', 'gzip, constructor', 'gzip, gzip, gzip, gzip', 'gzip;q=1']) {
    const body = zlib.gzipSync(TEXT);
    const result = await respondEncoded(encoding, body);
    assert.equal(result.kind, 'response', encoding);
    assert.equal(body.equals(result.body), true);
    assert.deepEqual(result.headers['content-encoding'], [encoding]);
  }
});

test('identity is not an encoding', async () => {
  const received = await respondEncoded('identity', TEXT);
  assert.equal(received.kind, 'response');
  assert.equal(TEXT.equals(received.body), true);
});

test('a response may decode to exactly the limit and not to more', async () => {
  const zeros = Buffer.alloc(MAX_ANSWER_BYTES + 1);
  for (const [encoding, encode] of [
    ['gzip', zlib.gzipSync],
    ['br', zlib.brotliCompressSync],
    ['deflate', zlib.deflateRawSync],
  ] as const) {
    const whole = await respondEncoded(encoding, encode(zeros.subarray(1)));
    assert.equal(whole.kind, 'response', encoding);
    assert.equal(whole.body.byteLength, MAX_ANSWER_BYTES);
    const failure = failureOf(await respondEncoded(encoding, encode(zeros)));
    assert.equal(failure.cause, 'http');
    assert.equal(failure.status, 200);
    assert.match(failure.message, new RegExp(`returned 200 with more than ${MAX_ANSWER_BYTES} bytes \\(maxResponseBytes\\)`));
  }
});

test('a decompression bomb is not unpacked, however it is encoded', async () => {
  const bomb = zlib.gzipSync(zlib.gzipSync(Buffer.alloc(100 * 1024 * 1024)));
  assert.ok(bomb.length < MAX_ANSWER_BYTES);
  const failure = failureOf(await respondEncoded('gzip, gzip', bomb));
  assert.match(failure.message, /more than \d+ bytes/);
});

test('a body with an invalid or truncated encoding is a failure', async () => {
  const gzipped = zlib.gzipSync(TEXT);
  const table: readonly (readonly [encoding: string, body: Buffer])[] = [
    ['gzip', TEXT],
    ['gzip', gzipped.subarray(0, gzipped.length - 9)],
    ['br', TEXT],
    ['deflate', TEXT],
  ];
  for (const [encoding, body] of table) {
    const failure = failureOf(await respondEncoded(encoding, body));
    assert.equal(failure.cause, 'http');
    assert.equal(failure.status, 200);
    assert.match(failure.message, new RegExp(`returned 200 with an invalid ${encoding} body \\(\\w+\\)`));
    assert.deepEqual(failure.retry, { kind: 'backoff' });
    assert.deepEqual(failure.responseHeaders['content-encoding'], [encoding]);
    assert.equal(body.equals(failure.responseBody), true);
  }
});
