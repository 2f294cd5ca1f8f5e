/**
 * The digest of a journal: one number that depends on every recorded step and on their order. The service and a worker
 * compute it separately, and compare it to find out whether they mean the same journal. It is extended by one entry at a
 * time, so its cost per step is that of the entry alone.
 *
 * It is a check against mistakes, not against forgery: it has 53 bits, so that it is an integer in JSON everywhere.
 */

/** Digest of a journal without entries. */
export const EMPTY_JOURNAL_DIGEST = 0;

const LANE = 2 ** 32;
const HIGH_BITS = 0x1fffff;

/** Spreads each bit of a 32-bit integer over all of them. */
function spread(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return bits ^ (bits >>> 16);
}

export type DigestedEntry = { readonly stepId: number; readonly out?: string | undefined };

/**
 * Returns the digest of a journal whose entries before this one have `digest`.
 *
 * It covers the position of the step and its result, which both sides have exactly alike: the result as UTF-16 code units
 * of the JSON text in `out`, or its absence. Names and types are left out: an execution checks them where it applies an entry.
 */
export function extendJournalDigest(digest: number, { stepId, out }: DigestedEntry): number {
  const text = out ?? '';
  const length = out === undefined ? -1 : text.length;
  let low = spread((digest % LANE) ^ Math.imul(stepId, 0x9e3779b1));
  let high = spread(Math.floor(digest / LANE) ^ Math.imul(length, 0x85ebca6b) ^ low);
  for (let index = 0; index < length; index += 2) {
    // Two units at a time; behind the last one there is NaN, which counts as 0.
    const units = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16);
    low = Math.imul(low ^ units, 0x01000193);
    high = Math.imul(((high << 5) | (high >>> 27)) ^ units, 0x9e3779b1);
  }
  low = spread(low ^ high);
  high = spread(high ^ low);
  return (high & HIGH_BITS) * LANE + (low >>> 0);
}
