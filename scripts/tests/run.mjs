// Runs the tests. Prints a line per file, every failure in full, and the counts in the last line.
// Arguments: root, number of earlier failures, and parts of paths that select test files. `--quick` selects those without
// processes, PostgreSQL or browsers; `--changed` those that a change affects, since the revision after `--since`. `--record` writes
// how long each file took into durations.json: use it for a whole run on a machine that does nothing else.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { affectedTests, changedPaths } from './changed.mjs';
import { findTests } from './files.mjs';
import { Imports } from './imports.mjs';
import { isQuick, needsOf } from './needs.mjs';
import { openPostgres } from './postgres.mjs';
import { reportOf } from './report.mjs';
import { runAll } from './run-all.mjs';
import { runUnit } from './run-unit.mjs';
import { speedUpStarts } from './start-up/index.mjs';
import { recordDurations, unitsOf } from './units.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, changed: { type: 'boolean' }, since: { type: 'string' }, record: { type: 'boolean' } },
});
const [root = '.', failedBefore = '0', ...filters] = positionals;
// Without NODE_ENV, the SDK prints a warning in each file that has an endpoint without keys.
process.env.NODE_ENV ??= 'test';
// Number of simulations of each kind, less than half of that of a whole run.
if (options.quick) process.env.SIMULATION_SEEDS ??= '4';
// Child processes inherit this option. The warning about node:sqlite would hide relevant output.
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --disable-warning=ExperimentalWarning`.trim();

const print = (text) => process.stdout.write(`${text}\n`);

/** @returns {import('./units.mjs').Test[]} the test files that the arguments select */
function selectTests(directory) {
  let tests = findTests(directory, filters);
  if (tests.length === 0) throw new Error('No test files were found.');
  if (options.quick) {
    const imports = new Imports();
    tests = tests.filter((test) => isQuick(test, imports));
  }
  if (options.changed) {
    const { base, paths } = changedPaths(directory, options.since);
    tests = affectedTests(directory, tests, paths);
    print(`${tests.length} test files are affected by ${paths.length} changed files since ${base}`);
  }
  return tests;
}

let passed = 0;
let failed = Number(failedBefore);
let closePostgres = async () => {};
try {
  const tests = selectTests(resolve(root));
  const imports = new Imports();
  const needs = tests.map(({ file }) => needsOf(file, imports));
  await speedUpStarts(
    resolve(root),
    needs.some(({ processes }) => processes),
  );
  if (needs.some(({ postgres }) => postgres)) closePostgres = await openPostgres(resolve(root), print);
  const startedMs = performance.now();
  const tally = await runAll(unitsOf(tests), resolve(root), runUnit);
  for (const line of reportOf(tally)) print(line);
  print(`\n${tests.length} files in ${((performance.now() - startedMs) / 1000).toFixed(1)} s, ${tally.skipped} tests skipped`);
  if (options.record) recordDurations(tally);
  passed = tally.passed;
  failed += tally.failed + tally.filesWithoutResults().length;
} catch (error) {
  print(error.message);
  failed++;
} finally {
  await closePostgres();
}
print(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || (passed === 0 && !options.changed) ? 1 : 0;
