import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { LIMITS } from '../../config/limits.js';
import { ApiHarness } from '../testing/api-harness.js';
import { Compression } from './compression.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
  await harness.call('POST', '/v2/trigger/http://w.test/steps', {
    headers: { 'svc-workflow-runid': 'large', 'svc-wait-for-result': 'true' },
    body: JSON.stringify('x'.repeat(2 * LIMITS.partBytes)),
  });
});
after(() => harness.close());

const get = (url: string, accepted?: string) =>
  harness.api.inject({
    method: 'GET',
    url,
    headers: { authorization: `Bearer ${harness.token}`, ...(accepted === undefined ? {} : { 'accept-encoding': accepted }) },
  });
const encodingOf = async (url: string, accepted: string) => (await get(url, accepted)).headers['content-encoding'];
const ATTEMPTS_URL = '/v2/workflows/runs/large/attempts';
/** Its response is sent in parts, because the payload is long. */
const JOURNAL_URL = '/v2/workflows/runs/large';

test('a client gets the encoding that it accepts, with the same content', async () => {
  for (const url of [ATTEMPTS_URL, JOURNAL_URL]) {
    const plain = await get(url);
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(plain.headers.vary, 'accept-encoding', 'caches keep one response for each encoding');
    const brotli = await get(url, 'gzip, deflate, br');
    assert.equal(brotli.headers['content-encoding'], 'br');
    assert.equal(String(brotliDecompressSync(brotli.rawPayload)), plain.payload);
    const gzip = await get(url, 'br;q=0, gzip');
    assert.equal(gzip.headers['content-encoding'], 'gzip');
    assert.equal(String(gunzipSync(gzip.rawPayload)), plain.payload);
    assert.ok(gzip.rawPayload.length < plain.rawPayload.length / 2);
    assert.equal(await encodingOf(url, 'identity'), undefined);
  }
});

test('short responses, event streams and responses with secrets are not compressed', async () => {
  assert.equal(await encodingOf('/v2/workflows/runs/large/result', 'gzip'), undefined);
  for (const url of ['/v2/keys', '/v2/nodes']) assert.equal(await encodingOf(url, 'gzip'), undefined);
  const live = await harness.api.inject({
    method: 'GET',
    url: '/v2/live',
    headers: { authorization: `Bearer ${harness.token}`, 'accept-encoding': 'gzip' },
    payloadAsStream: true,
  });
  assert.equal(live.headers['content-encoding'], undefined);
  live.stream().destroy();
});

test('a limited number of responses is compressed at the same time', async () => {
  const compression = new Compression();
  const text = 'x'.repeat(LIMITS.minCompressedBytes);
  const all = await Promise.all(Array.from({ length: LIMITS.maxCompressions + 1 }, () => compression.text(text, 'gzip')));
  assert.equal(all.filter(({ encoding }) => encoding === 'gzip').length, LIMITS.maxCompressions);
  assert.equal((await compression.text(text, 'gzip')).encoding, 'gzip', 'the others have ended');
});

test('a response that ends early frees its slot', async () => {
  const compression = new Compression();
  for (let n = 0; n < 2 * LIMITS.maxCompressions; n++) {
    const broken = new Readable({ read() {} });
    const { content, encoding } = compression.stream(broken, 'br');
    assert.equal(encoding, 'br');
    broken.destroy(new Error('the store is gone'));
    await assert.rejects(buffer(content as Readable));
  }
});
