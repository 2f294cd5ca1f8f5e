/** Checks that no folder of the sources becomes a long flat list. */
import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { test } from 'node:test';
import { filesBelow } from './pages.fixture.js';

const MAX_FILES = 25;
/** Folders that can have more files, with the reason. */
const LARGE_FOLDERS: Readonly<Record<string, string>> = {
  'packages/everstep/src/stores/sqlite/migrations': 'one file for each version of the schema, in order',
  'packages/everstep/src/stores/postgres/migrations': 'one file for each version of the schema, in order',
};

/** Returns the folders with too many files, and the exceptions that are not necessary. */
function folderProblems(paths: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  const crowded = [...counts].filter(([, count]) => count > MAX_FILES);
  return [
    ...crowded
      .filter(([folder]) => !(folder in LARGE_FOLDERS))
      .map(([folder, count]) => `${folder}: ${count} files; group them by topic, the maximum is ${MAX_FILES}`),
    ...Object.keys(LARGE_FOLDERS)
      .filter((folder) => !crowded.some(([name]) => name === folder))
      .map((folder) => `${folder}: the exception is not necessary`),
  ];
}

const sources = (): readonly string[] =>
  filesBelow('packages', /\.(tsx?|css)$/).filter((path) => /^packages\/\w+\/src\//.test(path));

test('no folder of the sources has more than 25 files, except those with a reason', () => {
  assert.ok(sources().length > 1_000, `${sources().length} sources were found`);
  assert.deepEqual(folderProblems(sources()), []);
});

test('a folder with too many files and an unnecessary exception are detected', () => {
  const many = [...Object.keys(LARGE_FOLDERS), 'x'].flatMap((folder) =>
    Array.from({ length: MAX_FILES + 1 }, (_, n) => `${folder}/${n}.ts`),
  );
  assert.deepEqual(folderProblems(many), ['x: 26 files; group them by topic, the maximum is 25']);
  assert.match(folderProblems([])[0] ?? '', /the exception is not necessary/);
});
