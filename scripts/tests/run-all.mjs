/** Runs every test file once and sums up the results. A failed test fails the run; nothing is retried. */
import { runInLanes } from './lanes.mjs';
import { Tally } from './tally.mjs';

/** @typedef {{ readonly file: string, readonly source: string }} Test */

/**
 * @param {readonly Test[]} tests
 * @param {string} root of the repository, absolute
 * @param {(test: Test, root: string) => Promise<Tally>} runFile
 * @returns {Promise<Tally>}
 */
export async function runAll(tests, root, runFile) {
  const tally = new Tally(tests, root);
  await runInLanes(tests, async (test) => tally.include(await runFile(test, root)));
  return tally;
}
