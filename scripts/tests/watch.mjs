// npm run test:watch: rebuilds on every change, and runs the quick tests that the change affects. Arguments: parts of paths that
// select test files; with them, tests run even if they need processes, PostgreSQL or a browser.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runToEnd } from '../setup/child.mjs';
import { main, prepare, ROOT } from '../setup/index.mjs';
import { findTests } from './files.mjs';
import { Imports, importersOf, modulesIn } from './imports.mjs';
import { isQuick } from './needs.mjs';

const BUILD_FINISHED = /Found (\d+) errors?/;

/** Returns the hashes of the compiled files, because a build can write a file without changing it. */
function snapshot(before = new Map()) {
  const after = new Map();
  for (const file of modulesIn(ROOT)) {
    const { mtimeMs } = statSync(file);
    const previous = before.get(file);
    const isSame = previous?.mtimeMs === mtimeMs;
    after.set(file, isSame ? previous : { mtimeMs, hash: createHash('sha256').update(readFileSync(file)).digest('hex') });
  }
  return after;
}

/** @returns {string[]} sources of the tests to run after a build */
function affectedSources(before, after, pathParts) {
  const changedFiles = [...new Set([...before.keys(), ...after.keys()])].filter(
    (file) => before.get(file)?.hash !== after.get(file)?.hash,
  );
  const imports = new Imports();
  const importers = importersOf(ROOT, changedFiles, imports);
  return findTests(ROOT, pathParts)
    .filter((test) => importers.has(test.file) && (pathParts.length > 0 || isQuick(test, imports)))
    .map(({ source }) => source);
}

await main(async () => {
  const { node, env } = await prepare();
  const pathParts = process.argv.slice(2);
  let lastSnapshot = snapshot();
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const compiler = spawn(node, [tsc, '-b', '--watch', '--preserveWatchOutput'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exitCode = new Promise((resolve) => compiler.once('exit', (code) => resolve(code ?? 1)));
  let testRun = Promise.resolve();
  createInterface({ input: compiler.stdout }).on('line', (line) => {
    console.log(line);
    if (BUILD_FINISHED.exec(line)?.[1] !== '0') return;
    testRun = testRun.then(async () => {
      const newSnapshot = snapshot(lastSnapshot);
      const sources = affectedSources(lastSnapshot, newSnapshot, pathParts);
      lastSnapshot = newSnapshot;
      if (sources.length === 0) return;
      await runToEnd(node, [join(ROOT, 'scripts', 'tests', 'run.mjs'), ROOT, '0', ...sources], { cwd: ROOT, env });
    });
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => compiler.kill(signal));
  const code = await exitCode;
  await testRun;
  return code;
});
