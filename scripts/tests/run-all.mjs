/** Runs every test file once and sums up the results. A failed test fails the run; nothing is retried. */
import { runInLanes } from './lanes.mjs';
import { Tally } from './tally.mjs';

/** @typedef {import('./units.mjs').Unit} Unit */

/**
 * @param {readonly Unit[]} units
 * @param {string} root of the repository, absolute
 * @param {(unit: Unit, root: string) => Promise<Tally>} runUnit
 * @returns {Promise<Tally>}
 */
export async function runAll(units, root, runUnit) {
  const tally = new Tally(
    units.flatMap(({ tests }) => tests),
    root,
  );
  await runInLanes(units, async (unit) => tally.include(await runUnit(unit, root)));
  return tally;
}
