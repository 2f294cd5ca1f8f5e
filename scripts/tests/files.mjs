/** Finds the test files: compiled *.test.ts files of the packages, and the tests of the scripts. */
import { existsSync, readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

function sourcesUnder(root, directory) {
  const start = join(root, directory);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true })
    .filter((name) => /\.test\.(ts|mjs)$/.test(name))
    .map((name) => join(directory, name));
}

/**
 * Tests that run separately: `npm run test:nodes` and `npm run test:failover` start several servers or replace database servers, and
 * `npm run test:firefox` needs an installed Firefox.
 */
const SEPARATE_TESTS = /[\\/]end-to-end[\\/](nodes|patroni|firefox)[\\/]/;

const childrenOf = (root, directory) =>
  existsSync(join(root, directory)) ? readdirSync(join(root, directory)).map((name) => join(directory, name)) : [];

/**
 * @param {string} root of the repository, absolute
 * @param {readonly string[]} filters parts of paths, one of which must match; none selects all tests except those that run separately
 * @returns {{ file: string, source: string }[]} `file` is the absolute path to run; `source` is relative to the root. Compiled
 *   files without a source are ignored. Throws if a source was not compiled.
 */
export function findTests(root, filters = []) {
  const packages = [...childrenOf(root, 'packages'), ...childrenOf(root, 'examples'), 'bench'];
  const sources = [...packages.map((name) => join(name, 'src')), 'scripts'].flatMap((name) => sourcesUnder(root, name));
  return sources
    .filter((source) => (filters.length === 0 ? !SEPARATE_TESTS.test(source) : filters.some((filter) => source.includes(filter))))
    .sort()
    .map((source) => {
      const compiledPath = source.replace(`${sep}src${sep}`, `${sep}dist${sep}`).replace(/\.ts$/, '.js');
      const file = join(root, compiledPath);
      if (!existsSync(file)) throw new Error(`${source} was not compiled to ${relative(root, file)}`);
      return { file, source };
    });
}
