/** Groups test files into units that run in one process each, because starting Node and loading the server is slow. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Imports } from './imports.mjs';
import { needsOf } from './needs.mjs';

/** @typedef {{ readonly file: string, readonly source: string }} Test */
/**
 * @typedef {object} Unit
 * @property {readonly Test[]} tests files to run in one process
 * @property {string} source of the first file, relative to the root
 * @property {number} seconds recorded duration; see `durations.json`
 */

/**
 * A process of shared files runs at most about this long, so that the last processes end at almost the same time. Each process
 * loads and compiles the server again, which takes about 2 s of a processor.
 */
const UNIT_SECONDS = 16;
/** Duration that is assumed for a file without a recorded one. */
const DEFAULT_SECONDS = 0.1;

const slashes = (source) => source.replaceAll('\\', '/');

const DURATIONS = join(import.meta.dirname, 'durations.json');

/**
 * Records the files that took a second or longer.
 *
 * @param {Pick<import('./tally.mjs').Tally, 'files'>} tally
 */
export function recordDurations({ files }, path = DURATIONS) {
  const entries = [...files].map(([source, { durationMs }]) => [slashes(source), Math.round(durationMs / 100) / 10]);
  const longFiles = entries.filter(([, seconds]) => seconds >= 1).sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(longFiles), null, 2)}\n`);
}

/** @returns {(source: string) => number} recorded seconds of a file, by its source */
export function recordedDurations(path = DURATIONS) {
  const recordedSeconds = JSON.parse(readFileSync(path, 'utf8'));
  return (source) => recordedSeconds[slashes(source)] ?? DEFAULT_SECONDS;
}

/**
 * @param {readonly Test[]} tests in the order of their paths: neighbors share a process, because they load the same modules
 * @param {{ secondsOf?: (source: string) => number, needsOwnProcess?: (test: Test) => boolean }} [options]
 * @returns {Unit[]}
 */
export function unitsOf(tests, options = {}) {
  const { secondsOf = recordedDurations(), needsOwnProcess = createProcessCheck() } = options;
  const units = [];
  let sharedUnit = null;
  for (const test of tests) {
    const seconds = secondsOf(test.source);
    const isSeparate = needsOwnProcess(test);
    if (!isSeparate && sharedUnit !== null && sharedUnit.seconds + seconds <= UNIT_SECONDS) {
      sharedUnit.tests.push(test);
      sharedUnit.seconds += seconds;
      continue;
    }
    const unit = { tests: [test], source: test.source, seconds };
    units.push(unit);
    if (!isSeparate) sharedUnit = unit;
  }
  return units;
}

function createProcessCheck() {
  const imports = new Imports();
  return ({ file }) => needsOf(file, imports).ownProcess;
}
