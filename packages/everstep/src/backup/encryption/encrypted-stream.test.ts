import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { decryptStream, encryptStream } from './encrypted-stream.js';

const CHUNK = 64 * 1024;
const key = randomBytes(32);

async function* partsOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
async function whole(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

test('a stream of any length decrypts to the original, however it is split', async () => {
  for (const length of [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 7]) {
    const plain = randomBytes(length);
    const sealed = await whole(encryptStream(partsOf(plain, 10_007), key));
    assert.equal(sealed.length, length + 16 * Math.max(1, Math.ceil(length / CHUNK)));
    for (const size of [1_000_003, 4_096]) assert.deepEqual(await whole(decryptStream(partsOf(sealed, size), key)), plain);
  }
});

test('a stream that was truncated, altered, reordered or encrypted under another key is refused', async () => {
  const sealed = await whole(encryptStream(partsOf(randomBytes(3 * CHUNK), CHUNK), key));
  const chunk = CHUNK + 16;
  const [one, two, three] = [0, 1, 2].map((at) => sealed.subarray(at * chunk, (at + 1) * chunk)) as [Buffer, Buffer, Buffer];
  const altered = Buffer.from(sealed);
  altered[chunk + 5] = (altered[chunk + 5] ?? 0) ^ 1;
  for (const bytes of [
    Buffer.concat([one, two]),
    Buffer.concat([two, one, three]),
    Buffer.concat([one, three]),
    Buffer.concat([one, two, three, three]),
    altered,
    sealed.subarray(0, -1),
    Buffer.alloc(0),
  ])
    await assert.rejects(whole(decryptStream(partsOf(bytes, CHUNK), key)));
  await assert.rejects(whole(decryptStream(partsOf(sealed, CHUNK), randomBytes(32))));
});
