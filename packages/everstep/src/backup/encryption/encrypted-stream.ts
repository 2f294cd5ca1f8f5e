/**
 * A stream encrypted in chunks with AES-256-GCM. Each chunk is authenticated with its number and with whether it is the last
 * one, so that chunks can be neither left out, moved nor cut off. A key encrypts one stream only, since the nonce is the number.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const CHUNK_BYTES = 64 * 1024;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;

function nonceOf(chunk: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(chunk, NONCE_BYTES - 7, 6);
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0;
  return nonce;
}

interface Piece {
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** Pieces of one size; the last one, which may be empty, is shorter or of that size. */
async function* piecesOf(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Piece> {
  let rest = Buffer.alloc(0);
  for await (const part of source) {
    rest = rest.length === 0 ? Buffer.from(part) : Buffer.concat([rest, part]);
    let at = 0;
    // What may be the last piece waits for the next part.
    for (; rest.length - at > size; at += size) yield { bytes: rest.subarray(at, at + size), isLast: false };
    rest = rest.subarray(at);
  }
  yield { bytes: rest, isLast: true };
}

/** `key`: 32 bytes, for this stream alone. */
export async function* encrypted(source: AsyncIterable<Uint8Array>, key: Uint8Array): AsyncGenerator<Uint8Array> {
  let chunk = 0;
  for await (const { bytes, isLast } of piecesOf(source, CHUNK_BYTES)) {
    const cipher = createCipheriv(ALGORITHM, key, nonceOf(chunk++, isLast), { authTagLength: TAG_BYTES });
    yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }
}

/** Throws an Error where the stream is not what was encrypted; what was given until then is. */
export async function* decrypted(source: AsyncIterable<Uint8Array>, key: Uint8Array): AsyncGenerator<Uint8Array> {
  let chunk = 0;
  for await (const { bytes, isLast } of piecesOf(source, CHUNK_BYTES + TAG_BYTES)) {
    if (bytes.length < TAG_BYTES) throw new Error('the encrypted file is cut off');
    const decipher = createDecipheriv(ALGORITHM, key, nonceOf(chunk++, isLast), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    yield Buffer.concat([decipher.update(bytes.subarray(0, bytes.length - TAG_BYTES)), decipher.final()]);
  }
}
