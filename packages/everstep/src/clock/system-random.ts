/**
 * Cryptographically secure random bytes, drawn in large portions, because ids are generated thousands of times a
 * second.
 */
import { randomBytes } from 'node:crypto';
import type { Random } from '../ports/random.js';

const PORTION_BYTES = 4096;

export function createSystemRandom(): Random {
  let portion = new Uint8Array();
  let usedBytes = 0;
  return {
    bytes(count) {
      if (count > PORTION_BYTES) return randomBytes(count);
      if (usedBytes + count > portion.length) {
        portion = randomBytes(PORTION_BYTES);
        usedBytes = 0;
      }
      usedBytes += count;
      return portion.subarray(usedBytes - count, usedBytes);
    },
  };
}
