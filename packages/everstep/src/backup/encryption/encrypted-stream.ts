/**
 * Encrypts a stream in chunks with AES-256-GCM. Each chunk is authenticated with its number and whether it is the
 * last one, so that chunks cannot be dropped, moved or truncated. A key encrypts only one stream, because the nonce
 * is the chunk number.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const CHUNK_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;

function nonceOf(chunkNumber: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(chunkNumber, NONCE_BYTES - 7, 6);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

interface Chunk {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** Splits a stream into chunks of equal size. The last chunk may be shorter or empty. */
async function* chunksOf(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Chunk> {
  let pendingBytes = Buffer.alloc(0);
  for await (const input of source) {
    pendingBytes = pendingBytes.length === 0 ? Buffer.from(input) : Buffer.concat([pendingBytes, input]);
    let offset = 0;
    // The bytes at the end may be the last chunk, so they are kept until more data arrives.
    for (; pendingBytes.length - offset > size; offset += size)
      yield { bytes: pendingBytes.subarray(offset, offset + size), isLast: false };
    pendingBytes = pendingBytes.subarray(offset);
  }
  yield { bytes: pendingBytes, isLast: true };
}

/** Encrypts a stream. `key` has 32 bytes and must be used for this stream only. */
export async function* encryptStream(source: AsyncIterable<Uint8Array>, key: Uint8Array): AsyncGenerator<Uint8Array> {
  let chunkNumber = 0;
  for await (const { bytes, isLast } of chunksOf(source, CHUNK_BYTES)) {
    const cipher = createCipheriv(ALGORITHM, key, nonceOf(chunkNumber++, isLast), { authTagLength: TAG_BYTES });
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }
}

/** Decrypts a stream. Throws if it was altered. Chunks that were already yielded are authentic. */
export async function* decryptStream(source: AsyncIterable<Uint8Array>, key: Uint8Array): AsyncGenerator<Uint8Array> {
  let chunkNumber = 0;
  for await (const { bytes, isLast } of chunksOf(source, CHUNK_BYTES + TAG_BYTES)) {
    if (bytes.length < TAG_BYTES) throw new Error('the encrypted file is truncated');
    const decipher = createDecipheriv(ALGORITHM, key, nonceOf(chunkNumber++, isLast), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    yield Buffer.concat([decipher.update(bytes.subarray(0, bytes.length - TAG_BYTES)), decipher.final()]);
  }
}
