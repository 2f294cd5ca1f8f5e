/** The grouping of test files into processes, and the choice of those that a change affects. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { affectedTests, changedPaths } from './changed.mjs';
import { isQuick, needsOf } from './needs.mjs';
import { recordDurations, recordedDurations, unitsOf } from './units.mjs';

const roots = [];
after(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

function rootWith(files) {
  const root = mkdtempSync(join(tmpdir(), 'everstep-units-'));
  roots.push(root);
  for (const directory of ['examples', 'scripts', 'packages/a/dist']) mkdirSync(join(root, directory), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const DIST = 'packages/a/dist';
const testsIn = (root, names) =>
  names.map((name) => ({ file: join(root, DIST, `${name}.test.js`), source: `packages/a/src/${name}.test.ts` }));

test('neighbors share a process until it would run too long; some files have their own', () => {
  const seconds = { a: 6, b: 6, own: 2, c: 2, d: 8 };
  const tests = Object.keys(seconds).map((source) => ({ source, file: source }));
  const units = unitsOf(tests, { secondsOf: (source) => seconds[source], needsOwnProcess: ({ source }) => source === 'own' });
  assert.deepEqual(
    units.map(({ tests, seconds }) => [tests.map(({ source }) => source), seconds]),
    [
      [['a', 'b', 'c'], 14],
      [['own'], 2],
      [['d'], 8],
    ],
  );
});

test('a run reads the durations that the previous run recorded', () => {
  const path = join(rootWith({}), 'durations.json');
  recordDurations(
    {
      files: new Map([
        ['a/long.test.ts', { durationMs: 2_340 }],
        ['a/short.test.ts', { durationMs: 940 }],
      ]),
    },
    path,
  );
  const secondsOf = recordedDurations(path);
  assert.deepEqual([secondsOf('a/long.test.ts'), secondsOf('a/short.test.ts')], [2.3, 0.1]);
});

test('a file has its own process if it or its support starts processes, waits while it is loaded, or changes the process', () => {
  const root = rootWith({
    [`${DIST}/plain.test.js`]: `import { x } from './store.js';\nconst f = async () => await x();`,
    [`${DIST}/store.js`]: `import pg from 'pg';`,
    [`${DIST}/server.fixture.js`]: `import { spawn } from 'node:child_process';`,
    [`${DIST}/spawns.test.js`]: `import { start } from './server.fixture.js';`,
    [`${DIST}/database.test.js`]: `import pg from 'pg';`,
    [`${DIST}/page.test.js`]: `import { chromium } from 'playwright-core';`,
    [`${DIST}/listening.fixture.js`]: `await new Promise((resolve) => server.listen(resolve));`,
    [`${DIST}/waits.test.js`]: `const service = await start();`,
    [`${DIST}/listens.test.js`]: `import './listening.fixture.js';`,
    [`${DIST}/environment.test.js`]: `test('a', () => {\n  process.env.TZ = 'UTC';\n});`,
    [`${DIST}/reads.test.js`]: `if (process.env.TZ === 'UTC') test();`,
    [`${DIST}/global.test.js`]: `globalThis.fetch = () => {};`,
    [`${DIST}/texts.test.js`]: `for (const text of ['process.exit()', 'globalThis']) rejects(text);`,
  });
  const needed = (name) => {
    const needs = needsOf(join(root, DIST, `${name}.test.js`));
    return Object.keys(needs).filter((need) => needs[need]);
  };
  assert.deepEqual(needed('plain'), []);
  assert.deepEqual(needed('spawns'), ['processes', 'ownProcess']);
  assert.deepEqual(needed('database'), ['postgres', 'ownProcess']);
  assert.deepEqual(needed('page'), ['browser', 'ownProcess']);
  for (const name of ['waits', 'listens']) assert.deepEqual(needed(name), ['ownProcess'], name);
  assert.deepEqual(needed('environment'), ['ownProcess']);
  assert.deepEqual(needed('global'), ['ownProcess']);
  for (const name of ['reads', 'texts']) assert.deepEqual(needed(name), [], name);
  const quick = testsIn(root, ['plain', 'spawns', 'database', 'page', 'waits', 'environment']).filter((each) => isQuick(each));
  assert.deepEqual(
    quick.map(({ source }) => source),
    ['plain', 'waits', 'environment'].map((name) => `packages/a/src/${name}.test.ts`),
  );
});

test('a change affects the tests that import the file, start it as a process, or name it', () => {
  const root = rootWith({
    [`${DIST}/deep.js`]: '',
    [`${DIST}/middle.js`]: `export { d } from './deep.js';`,
    [`${DIST}/server.js`]: `import './middle.js';`,
    [`${DIST}/server.fixture.js`]: `const BIN = new URL('./server.js', import.meta.url);`,
    [`${DIST}/imports.test.js`]: `const m = await import('./middle.js');`,
    [`${DIST}/starts.test.js`]: `import './server.fixture.js';`,
    [`${DIST}/reads.test.js`]: `readFileSync('sample.json');`,
    [`${DIST}/other.test.js`]: '',
  });
  const tests = testsIn(root, ['imports', 'starts', 'reads', 'other']);
  const affected = (...paths) => affectedTests(root, tests, paths).map(({ source }) => /(\w+)\.test/.exec(source)?.[1]);
  assert.deepEqual(affected('packages/a/src/deep.ts'), ['imports', 'starts']);
  assert.deepEqual(affected('packages/a/src/server.ts'), ['starts']);
  assert.deepEqual(affected('packages/a/src/other.test.ts'), ['other']);
  assert.deepEqual(affected('packages/a/sample.json'), ['reads']);
  assert.deepEqual(affected('package-lock.json'), ['imports', 'starts', 'reads', 'other']);
  assert.deepEqual(affected(), []);
});

test('changes are those since main on a branch; on main those not committed, or else the last commit', () => {
  const root = rootWith({ a: '1' });
  const git = (...args) => {
    const { status, stderr } = spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
  };
  const commit = () => {
    git('add', '-A');
    git('commit', '-q', '-m', 'Change');
  };
  git('init', '-q', '-b', 'main');
  commit();
  writeFileSync(join(root, 'b'), '1');
  commit();
  assert.deepEqual(changedPaths(root), { base: 'HEAD~1', paths: ['b'] });
  writeFileSync(join(root, 'c'), '1');
  assert.deepEqual(changedPaths(root), { base: 'HEAD', paths: ['c'] });
  git('checkout', '-q', '-b', 'topic');
  commit();
  writeFileSync(join(root, 'a'), '2');
  assert.deepEqual(changedPaths(root), { base: 'main', paths: ['a', 'c'] });
  assert.deepEqual(changedPaths(root, 'main~1').paths, ['a', 'b', 'c']);
});
