/** Builds a long request body from pieces of text, in slices, so that it does not keep the process busy. */
import { createHash } from 'node:crypto';
import { LONG_BYTES } from '../../fairness/work-slices.js';
import type { BodyParts } from './exchange.js';

/** Resolves with the encoded text and its digest. Each call of `inSlice` does work of a few milliseconds. */
export async function buildLongBody(
  texts: Iterable<string>,
  inSlice: (work: () => Promise<boolean>) => Promise<boolean>,
): Promise<BodyParts> {
  const hash = createHash('sha256');
  const parts: Buffer[] = [];
  const rest = texts[Symbol.iterator]();
  let byteLength = 0;
  /** Resolves with false after the last piece. */
  const encodeSome = async (): Promise<boolean> => {
    const end = byteLength + LONG_BYTES;
    while (byteLength < end) {
      const { done, value } = rest.next();
      if (done) return false;
      const part = Buffer.from(value);
      hash.update(part);
      parts.push(part);
      byteLength += part.byteLength;
    }
    return true;
  };
  while (await inSlice(encodeSome));
  return { parts, byteLength, digest: hash.digest('base64url') };
}
