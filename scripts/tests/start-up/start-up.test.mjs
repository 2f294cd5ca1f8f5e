import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../../setup/index.mjs';
import { bundlePackages } from './bundles.mjs';
import { bundleServer } from './server-bundle.mjs';

const PRELOAD = join(import.meta.dirname, 'preload.cjs');
/** The environment without the preload and without the marker of the outer test runner. */
const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, ...plainEnvironment } = process.env;
const directory = mkdtempSync(join(tmpdir(), 'everstep-start-up-'));
after(() => rmSync(directory, { recursive: true, force: true }));

function runTestFile(source) {
  const file = join(directory, 'sample.test.mjs');
  writeFileSync(file, `import { test } from 'node:test';\n${source}`);
  const args = [`--require=${PRELOAD}`, '--test-reporter=tap', file];
  return spawnSync(process.execPath, args, { env: plainEnvironment, encoding: 'utf8' });
}

describe('a file without promise tracking', () => {
  test('passes when its tests pass', () => {
    const { status, stdout } = runTestFile(`test('waits', async () => { await null; });`);
    assert.equal(status, 0, stdout);
  });

  for (const [when, source] of [
    ['during a test', `test('a', async () => { void Promise.reject(new Error('lost')); await new Promise(setImmediate); });`],
    ['after a test', `test('a', async () => { await null; setTimeout(() => Promise.reject(new Error('lost')), 10); });`],
    [
      'between tests',
      `test('a', async () => { await null; void (async () => { await null; throw new Error('lost'); })(); });
      test('b', () => new Promise((resolve) => setTimeout(resolve, 20)));`,
    ],
  ])
    test(`fails on an unhandled rejection ${when}`, () => {
      const { status, stderr } = runTestFile(source);
      assert.equal(status, 1);
      assert.match(stderr, /^Unhandled rejection in .*sample\.test\.mjs: Error: lost\n {4}at /);
    });
});

test('the server loads each bundled package from one file', async () => {
  await bundlePackages(ROOT);
  const script = `
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    await import(${JSON.stringify(pathToFileURL(join(ROOT, 'packages/everstep/dist/http-api/index.js')).href)});
    process.stdout.write(JSON.stringify(urls));`;
  const args = [`--require=${PRELOAD}`, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { env: plainEnvironment, encoding: 'utf8' });
  assert.equal(stderr, '');
  const urls = JSON.parse(stdout);
  assert.ok(urls.some((url) => url.endsWith('/bundles/typebox.mjs')));
  assert.deepEqual(
    urls.filter((url) => /\/node_modules\/(typebox|fastify|undici|jose|pino)\//.test(url)),
    [],
  );
});

test('a server or command that a test starts loads few files besides the SDK, and finds the files next to the compiled ones', async () => {
  await bundlePackages(ROOT);
  await bundleServer(ROOT, true);
  const counter = join(directory, 'counter.cjs');
  writeFileSync(
    counter,
    `const { registerHooks } = require('node:module');
    let files = 0;
    const counts = (url) => url.startsWith('file:') && !url.includes('/packages/sdk/dist/');
    registerHooks({ load: (url, context, next) => { if (counts(url)) files++; return next(url, context); } });
    process.on('exit', () => process.stderr.write(String(files)));`,
  );
  const command = [join(ROOT, 'packages/everstep/dist/cli/bin.js'), '--version'];
  const { stdout, stderr } = spawnSync(process.execPath, [`--require=${counter}`, `--require=${PRELOAD}`, ...command], {
    env: plainEnvironment,
    encoding: 'utf8',
  });
  assert.equal(stdout.trim(), JSON.parse(readFileSync(join(ROOT, 'packages/everstep/package.json'), 'utf8')).version);
  assert.ok(Number(stderr) < 30, `${stderr} files`);
});
