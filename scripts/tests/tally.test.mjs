import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findTests } from './files.mjs';
import { Tally } from './tally.mjs';

const FILE = '/r/packages/a/dist/x.test.js';
const SOURCE = 'packages/a/src/x.test.ts';
const event = (name, rest = {}) => ({ name, file: FILE, nesting: 0, ...rest, details: { duration_ms: 1, ...rest.details } });
const tally = () => new Tally([{ file: FILE, source: SOURCE }], '/r');

test('a failed test counts once, regardless of the suites around it', () => {
  const counts = tally();
  counts.add('test:fail', event('inner', { nesting: 2, details: { error: new Error('no') } }));
  counts.add('test:fail', event('outer', { nesting: 1, details: { error: { failureType: 'subtestsFailed' } } }));
  counts.add('test:fail', event('suite', { details: { type: 'suite', error: { failureType: 'subtestsFailed' } } }));
  assert.deepEqual([counts.passed, counts.failed], [0, 1]);
});

test('a suite counts only when a hook fails', () => {
  const counts = tally();
  counts.add('test:pass', event('suite', { details: { type: 'suite' } }));
  counts.add('test:fail', event('suite', { details: { type: 'suite', error: { failureType: 'hookFailed' } } }));
  assert.deepEqual([counts.passed, counts.failed], [0, 1]);
});

test('a skipped test is neither passed nor failed', () => {
  const counts = tally();
  counts.add('test:pass', event('later', { skip: true }));
  counts.add('test:pass', event('now'));
  assert.deepEqual([counts.passed, counts.failed, counts.skipped], [1, 0, 1]);
});

test('a file without tests fails', () => {
  const counts = tally();
  counts.add('test:pass', event(FILE));
  assert.deepEqual([counts.passed, counts.filesWithoutResults()], [0, [SOURCE]]);
});

test('a file that throws before its first test fails', () => {
  const counts = tally();
  counts.add('test:fail', event(FILE, { details: { error: new Error('boom') } }));
  assert.deepEqual([counts.failed, counts.filesWithoutResults()], [1, []]);
});

test('tests of a shared suite count under its file', () => {
  const counts = tally();
  counts.add('test:pass', event('shared', { file: '/r/packages/a/dist/suites/shared.js' }));
  assert.deepEqual([...counts.files.keys()], [join('packages', 'a', 'src', 'suites', 'shared.ts')]);
});

test('only files with a source run, and a source that was not compiled is an error', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'everstep-tests-'));
  t.after(() => rm(root, { recursive: true }));
  for (const directory of ['src', 'dist']) await mkdir(join(root, 'packages', 'a', directory), { recursive: true });
  await writeFile(join(root, 'packages/a/src/kept.test.ts'), '');
  await writeFile(join(root, 'packages/a/dist/kept.test.js'), '');
  await writeFile(join(root, 'packages/a/dist/deleted.test.js'), '');
  assert.deepEqual(
    findTests(root).map(({ source }) => source),
    [join('packages', 'a', 'src', 'kept.test.ts')],
  );
  await writeFile(join(root, 'packages/a/src/fresh.test.ts'), '');
  assert.throws(() => findTests(root), /fresh\.test\.ts was not compiled/);
});
