/** Runs all test files; those that work with real processes and failed get a second chance, which is told. */
import { isEndToEnd, runInLanes } from './lanes.mjs';
import { Tally } from './tally.mjs';

/**
 * @typedef {{ readonly file: string, readonly source: string }} Test
 * @typedef {{ readonly source: string, readonly failures: Tally['failures'] }} Unsteady what failed at first in a file that
 *   then passed
 */

/**
 * A file of `end-to-end/` that failed runs once more after all others, alone. If nothing fails in it then, it has passed, and
 * is among the unsteady ones; else what counts is what came of it at first.
 *
 * @param {readonly Test[]} tests
 * @param {string} root of the repository, absolute
 * @param {(test: Test, root: string) => Promise<Tally>} runFile
 * @returns {Promise<{ tally: Tally, unsteady: Unsteady[] }>}
 */
export async function runAll(tests, root, runFile) {
  const tally = new Tally(tests, root);
  /** @type {{ test: Test, first: Tally }[]} */
  const again = [];
  await runInLanes(tests, async (test) => {
    const first = await runFile(test, root);
    if (isEndToEnd(test.source) && first.failed > 0) again.push({ test, first });
    else tally.include(first);
  });
  /** @type {Unsteady[]} */
  const unsteady = [];
  for (const { test, first } of again) {
    const second = await runFile(test, root);
    // What is skipped, or not reported at all, has not passed.
    const isMended = second.failed === 0 && second.skipped <= first.skipped && second.passed > first.passed;
    tally.include(isMended ? second : first);
    if (isMended) unsteady.push({ source: test.source, failures: first.failures });
  }
  return { tally, unsteady };
}
