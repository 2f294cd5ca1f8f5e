// Runs the tests. Prints a line per file, every failure in full, and the counts in the last line.
// Arguments: root, failures counted before, and parts of paths that select test files.
import { resolve } from 'node:path';
import { run } from 'node:test';
import { findTests } from './files.mjs';
import { openPostgres } from './postgres.mjs';
import { reportOf } from './report.mjs';
import { runAll } from './run-all.mjs';
import { startSooner } from './start-up/index.mjs';
import { Tally } from './tally.mjs';

const TEST_TIMEOUT_MS = 300_000;

const [root = '.', failedBefore = '0', ...filters] = process.argv.slice(2);
// Without it the SDK prints a warning in each file with an endpoint without keys.
process.env.NODE_ENV ??= 'test';
// Inherited by child processes: the warning about node:sqlite would hide relevant output.
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --disable-warning=ExperimentalWarning`.trim();

const print = (text) => process.stdout.write(`${text}\n`);

/** Runs one file in its own process and collects its results. */
async function runFile(test, directory) {
  const tally = new Tally([test], directory);
  const stream = run({ files: [test.file], concurrency: 1, timeout: TEST_TIMEOUT_MS });
  stream.on('test:pass', (event) => tally.add('test:pass', event));
  stream.on('test:fail', (event) => tally.add('test:fail', event));
  stream.on('test:stderr', ({ message }) => process.stderr.write(message));
  stream.resume();
  await new Promise((done) => stream.once('end', done));
  return tally;
}

let passed = 0;
let failed = Number(failedBefore);
let closePostgres = async () => {};
try {
  const tests = findTests(resolve(root), filters);
  if (tests.length === 0) throw new Error('No test files were found.');
  await startSooner(resolve(root));
  closePostgres = await openPostgres(resolve(root), tests, print);
  const startedMs = performance.now();
  const tally = await runAll(tests, resolve(root), runFile);
  for (const line of reportOf(tally)) print(line);
  print(`\n${tests.length} files in ${((performance.now() - startedMs) / 1000).toFixed(1)} s, ${tally.skipped} tests skipped`);
  passed = tally.passed;
  failed += tally.failed + tally.silent().length;
} catch (error) {
  print(error.message);
  failed++;
} finally {
  await closePostgres();
}
print(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
