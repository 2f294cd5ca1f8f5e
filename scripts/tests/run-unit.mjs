/** Runs the test files of a unit. */
import { join } from 'node:path';
import { stderr } from 'node:process';
import { run } from 'node:test';
import { Tally } from './tally.mjs';

const TEST_TIMEOUT_MS = 300_000;
const SHARED_PROCESS_FILE = join(import.meta.dirname, 'shared.test-process.mjs');

/**
 * Runs the files of a unit in one process and collects their results.
 *
 * @param {import('./units.mjs').Unit} unit
 * @param {string} root of the repository, absolute
 */
export async function runUnit({ tests }, root) {
  const tally = new Tally(tests, root);
  const files = tests.map(({ file }) => file);
  const runOptions = tests.length === 1 ? { files } : { files: [SHARED_PROCESS_FILE], argv: files };
  const stream = run({ ...runOptions, concurrency: 1, timeout: TEST_TIMEOUT_MS });
  stream.on('test:pass', (event) => tally.add('test:pass', event));
  stream.on('test:fail', (event) => tally.add('test:fail', event));
  stream.on('test:stderr', ({ message }) => stderr.write(message));
  stream.resume();
  await new Promise((resolve) => stream.once('end', resolve));
  return tally;
}
