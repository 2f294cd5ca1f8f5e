/** Delay before a worker connects again. */

const FIRST_MS = 250;
const LONGEST_MS = 30_000;

/**
 * Returns the delay in milliseconds after `failures` attempts without a connection. Workers that lost the same service
 * must not all return at the same time, so the delay is spread over its second half. `random` is from 0 to 1.
 */
export function reconnectDelayMs(failures: number, random: number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** failures);
  return longest / 2 + (longest / 2) * random;
}
