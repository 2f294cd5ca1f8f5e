/** The linked `everstep` command on a Node that is too old: it prints an error, or in a clone uses the Node of npm start. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ROOT } from './index.mjs';

const printer = (name) => `process.stdout.write(['${name}', ...process.argv.slice(2)].join(' '));\n`;

describe('the everstep command', () => {
  const roots = [];
  let root;
  let command;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'everstep-command-'));
    roots.push(root);
    const everstep = join(root, 'packages', 'everstep');
    for (const directory of ['bin', 'dist/cli']) mkdirSync(join(everstep, directory), { recursive: true });
    command = join(everstep, 'bin', 'everstep.js');
    for (const file of ['package.json', 'bin/everstep.js', 'bin/node-version.js'])
      copyFileSync(join(ROOT, 'packages', 'everstep', file), join(everstep, file));
    writeFileSync(join(everstep, 'dist', 'cli', 'bin.js'), printer('program'));
  });
  after(() => {
    for (const each of roots) rmSync(each, { recursive: true, force: true });
  });

  function inClone() {
    mkdirSync(join(root, 'scripts'));
    writeFileSync(join(root, 'scripts', 'command.mjs'), printer('script of the clone'));
  }

  function run(version) {
    const asIf = join(root, 'as-if.mjs');
    writeFileSync(asIf, `Object.defineProperty(process.versions, 'node', { value: '${version}' });\n`);
    return spawnSync(process.execPath, ['--import', pathToFileURL(asIf).href, command, 'runs', 'list'], { encoding: 'utf8' });
  }

  for (const version of ['22.16.0', '22.20.1', '23.0.0', '24.0.0']) {
    test(`runs the program on Node ${version}, in a clone too`, () => {
      inClone();
      assert.equal(run(version).stdout, 'program runs list');
    });
  }

  for (const version of ['20.20.2', '22.13.0', '22.15.9']) {
    test(`uses the Node of the clone on Node ${version}`, () => {
      inClone();
      assert.equal(run(version).stdout, 'script of the clone runs list');
    });

    test(`prints the required version on Node ${version} outside of a clone`, () => {
      const { status, stdout, stderr } = run(version);
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr, /^Everstep requires Node 22\.16\.0 or later\. The current version is /);
    });
  }
});
