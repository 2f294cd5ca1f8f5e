/** Progress output of the scripts: one line per step with its duration. */

/** A failure that is printed without a stack trace. */
export class SetupError extends Error {}

/** Reports that the user interrupted the preparation. */
export class Interrupted extends Error {}

const secondsSince = (sinceMs) => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;

/**
 * Runs a step and prints its title and its duration.
 *
 * @template Result
 * @param {string} title of the step
 * @param {() => Promise<Result>} step
 * @returns {Promise<Result>}
 */
export async function runStep(title, step) {
  const startedMs = performance.now();
  const isTerminal = process.stderr.isTTY;
  if (isTerminal) process.stderr.write(`${title} ...`);
  try {
    const result = await step();
    process.stderr.write(isTerminal ? `\r${title}: ${secondsSince(startedMs)}\n` : `${title}: ${secondsSince(startedMs)}\n`);
    return result;
  } catch (error) {
    if (isTerminal) process.stderr.write('\n');
    throw error;
  }
}

/** Returns the last lines of the output of a failed command, for its error message. */
export const tail = (output, lines = 40) => output.trimEnd().split('\n').slice(-lines).join('\n');
