/** The digest of a journal, which the server and a worker compare. */

/**
 * Digest of an empty journal. A journal digest is one number that depends on every recorded step and on their order. The
 * server and a worker compute it separately and compare the results, to verify that they have the same journal. Each entry
 * extends the digest, at a cost that depends only on that entry. The digest has 53 bits, because JSON represents such integers
 * exactly. It detects mistakes, not forgery.
 */
export const EMPTY_JOURNAL_DIGEST = 0;

const TWO_TO_32 = 2 ** 32;
const HIGH_BITS = 0x1fffff;

/** Spreads each bit of a 32-bit integer over all bits. */
function spread(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return bits ^ (bits >>> 16);
}

/** The part of a journal entry that the digest covers. */
export interface DigestedEntry {
  readonly stepId: number;
  readonly out?: string | undefined;
}

/**
 * Returns the digest of a journal that ends with this entry. `digest` is the digest of the entries before it.
 *
 * The digest covers the position of the step and its result, which are identical on both sides. The result is the UTF-16 code
 * units of the JSON text in `out`, or its absence. Names and types are omitted, because an execution checks them when
 * it applies an entry.
 */
export function extendJournalDigest(digest: number, { stepId, out }: DigestedEntry): number {
  const text = out ?? '';
  const length = out === undefined ? -1 : text.length;
  let low = spread((digest % TWO_TO_32) ^ Math.imul(stepId, 0x9e3779b1));
  let high = spread(Math.floor(digest / TWO_TO_32) ^ Math.imul(length, 0x85ebca6b) ^ low);
  for (let index = 0; index < length; index += 2) {
    // Reads two units at a time. After the last unit, charCodeAt returns NaN, which counts as 0.
    const units = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
    low = Math.imul(low ^ units, 0x01000193);
    high = Math.imul(((high << 5) | (high >>> 27)) ^ units, 0x9e3779b1);
  }
  low = spread(low ^ high);
  high = spread(high ^ low);
  return (high & HIGH_BITS) * TWO_TO_32 + (low >>> 0);
}
