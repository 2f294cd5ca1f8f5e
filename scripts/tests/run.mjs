// Runs the tests and prints one line per file, every failure in full, and the counts as the last line.
// Arguments: the root, failures counted before, and parts of paths to choose among the test files.
import { resolve } from 'node:path';
import { run } from 'node:test';
import { inspect } from 'node:util';
import { findTests } from './files.mjs';
import { openPostgres } from './postgres.mjs';
import { Tally } from './tally.mjs';

/** Some test files start services of their own; with more at once they only slow each other down. */
const CONCURRENCY = 2;
const TEST_TIMEOUT_MS = 300_000;

const [root = '.', failedBefore = '0', ...filters] = process.argv.slice(2);
// Children inherit this: the warning about node:sqlite would drown what matters.
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --disable-warning=ExperimentalWarning`.trim();

const print = (text) => process.stdout.write(`${text}\n`);

async function runTests(tests, directory) {
  const tally = new Tally(tests, directory);
  const stream = run({ files: tests.map(({ file }) => file), concurrency: CONCURRENCY, timeout: TEST_TIMEOUT_MS });
  stream.on('test:pass', (event) => tally.add('test:pass', event));
  stream.on('test:fail', (event) => tally.add('test:fail', event));
  stream.on('test:stderr', ({ message }) => process.stderr.write(message));
  stream.resume();
  await new Promise((done) => stream.once('end', done));
  return tally;
}

function report(tally) {
  const width = Math.max(0, ...[...tally.files.keys()].map((name) => name.length));
  for (const [source, counts] of [...tally.files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    // What only holds suites of other files together has nothing of its own to tell.
    if (counts.passed + counts.failed + counts.skipped === 0) continue;
    const outcomes = [`${counts.passed} passed`];
    if (counts.failed > 0) outcomes.push(`${counts.failed} FAILED`);
    if (counts.skipped > 0) outcomes.push(`${counts.skipped} skipped`);
    const seconds = (counts.durationMs / 1000).toFixed(1).padStart(5);
    print(`${source.padEnd(width)}  ${seconds} s  ${outcomes.join(', ')}`);
  }
  for (const { source, line, name, error } of tally.failures) {
    const cause = error?.cause ?? error;
    const text = typeof cause === 'string' ? cause : inspect(cause, { depth: 6 });
    print(`\n--- ${name}\n    ${source}${line === undefined ? '' : ` (compiled line ${line})`}\n${text.replace(/^/gm, '    ')}`);
  }
  for (const source of tally.silent()) print(`\n--- ${source} contains no test`);
}

let passed = 0;
let failed = Number(failedBefore);
let closePostgres = async () => {};
try {
  const tests = findTests(resolve(root), filters);
  if (tests.length === 0) throw new Error('No test files were found.');
  closePostgres = await openPostgres(resolve(root), tests, print);
  const startedMs = performance.now();
  const tally = await runTests(tests, resolve(root));
  report(tally);
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
