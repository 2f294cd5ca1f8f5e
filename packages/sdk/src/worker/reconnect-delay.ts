/** Delay before a worker connects again. */

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;

/**
 * Returns the delay in milliseconds after `failures` failed attempts. The delay is random between half of the longest delay and
 * the longest delay, so that workers that lost the same server do not all return at the same time. `random` is from 0 to 1.
 */
export function reconnectDelayMs(failures: number, random: number): number {
  const longestMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
  return longestMs / 2 + (longestMs / 2) * random;
}
