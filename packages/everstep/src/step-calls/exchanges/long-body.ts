/** Encodes a long request body in slices, so that it does not keep the process busy. */
import { createHash } from 'node:crypto';
import { processInSlices } from '../../fairness/process-in-slices.js';
import type { BodyParts } from './exchange.js';

/** Resolves with the encoded text and its digest. */
export async function buildLongBody(
  texts: Iterable<string>,
  inSlice: (work: () => Promise<boolean>) => Promise<boolean>,
): Promise<BodyParts> {
  const hash = createHash('sha256');
  const parts: Buffer[] = [];
  let byteLength = 0;
  const encode = (text: string): number => {
    const part = Buffer.from(text);
    hash.update(part);
    parts.push(part);
    byteLength += part.byteLength;
    return part.byteLength;
  };
  await processInSlices(texts, encode, inSlice);
  return { parts, byteLength, digest: hash.digest('base64url') };
}
