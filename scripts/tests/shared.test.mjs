/** Test files that share a process. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const PRELOAD = join(import.meta.dirname, 'start-up', 'preload.cjs');
const RUN_UNIT = pathToFileURL(join(import.meta.dirname, 'run-unit.mjs')).href;
const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, ...plainEnvironment } = process.env;
const directory = mkdtempSync(join(tmpdir(), 'everstep-shared-'));
after(() => rmSync(directory, { recursive: true, force: true }));

/** Runs files with these sources in one process. */
function runTogether(sources) {
  const tests = Object.entries(sources).map(([name, text]) => {
    const source = `${name}.test.mjs`;
    const file = join(directory, source);
    writeFileSync(file, `import { after, before, beforeEach, describe, test } from 'node:test';\n${text}`);
    return { file, source };
  });
  const script = `
    const { runUnit } = await import(${JSON.stringify(RUN_UNIT)});
    const tally = await runUnit({ tests: ${JSON.stringify(tests)} }, ${JSON.stringify(directory)});
    const { passed, failed, failures, files } = tally;
    console.log(JSON.stringify({ passed, failed, filesWithoutResults: tally.filesWithoutResults(), files: Object.fromEntries(files),
      failures: failures.map(({ source, name, error }) => ({ source, name, message: String((error.cause ?? error).message) })) }));`;
  // A script in a file: `--eval` would be passed on to the processes of tests.
  const runner = join(directory, 'runner.mjs');
  writeFileSync(runner, script);
  const env = { ...plainEnvironment, NODE_OPTIONS: `--require=${JSON.stringify(PRELOAD)}` };
  const { stdout, stderr } = spawnSync(process.execPath, [runner], { env, encoding: 'utf8' });
  return { ...JSON.parse(stdout), stderr };
}

test('hooks apply to the tests of their file, and results are counted under this file', () => {
  const { passed, failed, files } = runTogether({
    one: `let calls = 0; beforeEach(() => { calls++; }); test('a', () => {}); after(() => { if (calls !== 1) throw new Error(String(calls)); });`,
    two: `test('b', () => {}); describe('c', () => test('d', () => {}));`,
  });
  assert.deepEqual([passed, failed], [3, 0]);
  assert.deepEqual([files['one.test.mjs'].passed, files['two.test.mjs'].passed], [1, 2]);
});

test('a failed test, and a failed hook, fail the run under their file', () => {
  const { passed, failures } = runTogether({
    fails: `test('a', () => { throw new Error('no'); });`,
    hook: `before(() => { throw new Error('no server'); }); test('b', () => {});`,
    passes: `test('c', () => {});`,
  });
  assert.equal(passed, 1);
  const messages = (file) => failures.flatMap(({ source, message }) => (source === `${file}.test.mjs` ? [message] : []));
  assert.deepEqual(messages('fails'), ['no']);
  assert.ok(messages('hook').includes('no server'));
});

test('a file that cannot be loaded fails, and a file without tests is reported; the others run', () => {
  const { passed, failures, filesWithoutResults } = runTogether({
    broken: `throw new Error('boom');`,
    waits: `await null;`,
    empty: '',
    passes: `test('c', () => {});`,
  });
  assert.equal(passed, 1);
  assert.deepEqual(
    failures.map(({ source }) => source),
    ['broken.test.mjs', 'waits.test.mjs'],
  );
  assert.match(failures[0].message, /boom/);
  assert.deepEqual(filesWithoutResults, ['empty.test.mjs']);
});

test('an unhandled rejection fails the run and prints its stack', () => {
  const { failed, stderr } = runTogether({
    lost: `test('a', async () => { void Promise.reject(new Error('lost')); await new Promise(setImmediate); });`,
    other: `test('b', () => {});`,
  });
  assert.ok(failed > 0);
  assert.match(stderr, /Unhandled rejection in .*: Error: lost\n {4}at .*lost\.test\.mjs/);
});
