/** The contents of the published packages. `npm run packages` installs and runs them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './index.mjs';

const packageOf = (name) => JSON.parse(readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8'));

function packed(name) {
  const cwd = join(ROOT, 'packages', name);
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  assert.equal(status, 0, stderr);
  return new Set(JSON.parse(stdout)[0].files.map(({ path }) => path));
}

for (const [name, needed] of [
  ['sdk', []],
  ['everstep', ['bin/everstep.js', 'bin/node-version.js', 'dist/cli/bin.js', 'static/index.html', 'static/favicon.svg']],
]) {
  test(`package ${name} contains everything it needs and no tests`, () => {
    const files = packed(name);
    const exported = Object.values(packageOf(name).exports ?? {}).flatMap((each) => Object.values(each));
    const wanted = ['package.json', 'LICENSE', 'README.md', ...needed, ...exported.map((path) => path.replace('./', ''))];
    assert.deepEqual(
      wanted.filter((path) => !files.has(path)),
      [],
    );
    assert.deepEqual(
      [...files].filter((path) => /\.(test|fixture|bench)\.|conformance|\.built-from|\.tsbuildinfo$/.test(path)),
      [],
    );
    const license = (directory) => readFileSync(join(ROOT, directory, 'LICENSE'), 'utf8');
    assert.equal(license(`packages/${name}`), license('.'));
  });
}

test('the packages require the same minimum Node and the current SDK version', () => {
  const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const service = packageOf('everstep');
  assert.equal(service.engines.node, root.engines.node);
  assert.equal(service.dependencies['@everstep/sdk'], packageOf('sdk').version);
});
