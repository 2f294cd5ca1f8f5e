/** Finds the test files that a change affects. */
import { spawnSync } from 'node:child_process';
import { basename, join, sep } from 'node:path';
import { Imports, importersOf } from './imports.mjs';

/** @typedef {{ readonly file: string, readonly source: string }} Test */

const MAIN = 'main';

/** Matches the paths whose changes can affect every test. */
const AFFECTS_ALL_TESTS = /^(package(-lock)?\.json|tsconfig.*\.json|scripts\/(tests|setup)\/.*(?<!\.test\.mjs))$/;

/** Dependencies that are not imports: patterns of changed files, and of the tests that read or build these files. */
const READERS = [
  [/\.md$/, /\/documentation\/|^scripts\/site\//],
  [/^packages\/dashboard\/(?!.*\.test\.)/, /\/end-to-end\/dashboard\//],
  [/^deploy\//, /^scripts\/deploy\//],
  [/^examples\//, /\/(documentation|end-to-end\/guides)\/|^scripts\/starters\//],
  [/\.tsx?$/, /\/architecture\.test\.ts$/],
];

function git(root, ...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr.trim()}`);
  return stdout.trim();
}

const nonEmptyLines = (text) => text.split('\n').filter((line) => line !== '');

/**
 * Returns the paths that have changed since `base`, committed or not. Without a base, these are the differences of a branch from
 * main. On main, these are the uncommitted changes, or those of the last commit if there are none.
 *
 * @param {string} root of the repository, absolute
 * @param {string} [base]
 * @returns {{ base: string, paths: string[] }} paths relative to the root, with slashes
 */
export function changedPaths(root, base) {
  const changedSince = (commit) => [
    ...nonEmptyLines(git(root, 'diff', '--name-only', '--no-renames', commit)),
    ...nonEmptyLines(git(root, 'ls-files', '--others', '--exclude-standard')),
  ];
  if (base !== undefined) return { base, paths: changedSince(base) };
  const branch = git(root, 'rev-parse', '--abbrev-ref', 'HEAD');
  if (branch !== MAIN) {
    const forkPoint = git(root, 'merge-base', 'HEAD', MAIN);
    return { base: MAIN, paths: changedSince(forkPoint) };
  }
  const paths = changedSince('HEAD');
  return paths.length > 0 ? { base: 'HEAD', paths } : { base: 'HEAD~1', paths: changedSince('HEAD~1') };
}

const compiledOf = (root, path) =>
  join(root, path.replace(/^((?:packages|examples)\/[^/]+|bench)\/src\//, '$1/dist/').replace(/\.tsx?$/, '.js'));

/**
 * Returns the tests that import a changed file, directly or not, start it as a process, read it, or name it.
 *
 * @param {string} root of the repository, absolute
 * @param {readonly Test[]} tests
 * @param {readonly string[]} paths changed files, relative to the root
 */
export function affectedTests(root, tests, paths) {
  if (paths.some((path) => AFFECTS_ALL_TESTS.test(path))) return [...tests];
  const imports = new Imports();
  const changedModules = paths.filter((path) => /\.([cm]?js|tsx?)$/.test(path)).map((path) => compiledOf(root, path));
  const importers = importersOf(root, changedModules, imports);
  const names = paths.filter((path) => !/\.(tsx?|md)$/.test(path)).map((path) => basename(path));
  const readers = READERS.flatMap(([changed, reader]) => (paths.some((path) => changed.test(path)) ? [reader] : []));
  return tests.filter(({ file, source }) => {
    const path = source.split(sep).join('/');
    if (importers.has(file) || readers.some((reader) => reader.test(path))) return true;
    return names.some((name) => imports.textOf(file).includes(name));
  });
}
