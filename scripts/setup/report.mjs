/** What the scripts say while they prepare: one line for each thing done, and how long it took. */

/** A failure that is told in its own words, without a stack. */
export class SetupError extends Error {}

/** The user ended the script while it was preparing. */
export class Interrupted extends Error {}

const seconds = (sinceMs) => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;

/**
 * @template Result
 * @param {string} doing what is being done, in words
 * @param {() => Promise<Result>} step
 * @returns {Promise<Result>}
 */
export async function timed(doing, step) {
  const startedMs = performance.now();
  const live = process.stderr.isTTY;
  if (live) process.stderr.write(`${doing} ...`);
  try {
    const result = await step();
    process.stderr.write(live ? `\r${doing}: ${seconds(startedMs)}\n` : `${doing}: ${seconds(startedMs)}\n`);
    return result;
  } catch (error) {
    if (live) process.stderr.write('\n');
    throw error;
  }
}

/** The last lines of what a failed command printed, for the message about it. */
export const tail = (output, lines = 40) => output.trimEnd().split('\n').slice(-lines).join('\n');
