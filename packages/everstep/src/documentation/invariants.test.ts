/** Compares the invariants in ARCHITECTURE.md with the files that name them in the comment at their head. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesBelow, read } from './pages.fixture.js';

interface Invariant {
  readonly number: number;
  /** The files and folders (with a `/` at the end) that are listed for the invariant, relative to the root. */
  readonly paths: readonly string[];
}

/** Returns the paths that a reference means. A star means one path in each store. */
function pathsOf(reference: string): readonly string[] {
  const path = reference.startsWith('sdk/') ? `packages/${reference}` : `packages/everstep/src/${reference}`;
  return path.includes('*') ? ['sqlite', 'postgres'].map((store) => path.replace('*', store)) : [path];
}

function invariantsOf(architecture: string): readonly Invariant[] {
  const section = architecture.split('\n## ').find((part) => part.startsWith('Invariants\n')) ?? '';
  return section
    .split(/^(?=\d+\. )/m)
    .slice(1)
    .map((text) => ({
      number: Number.parseInt(text, 10),
      paths: [...text.matchAll(/`((?!docs\/)[\w*/.-]+(?:\.ts|\/))`/g)].flatMap(([, reference = '']) => pathsOf(reference)),
    }));
}

/** Returns the invariants that the comment at the head of a source names. */
function namedIn(text: string): readonly number[] {
  const head = text.startsWith('/**') ? text.slice(0, text.indexOf('*/')) : '';
  const names = /Keeps invariants? ([\d,\sand*]+)/.exec(head)?.[1] ?? '';
  return [...names.matchAll(/\d+/g)].map(Number);
}

const covers = (listed: string, file: string): boolean => (listed.endsWith('/') ? file.startsWith(listed) : file === listed);

/** Returns the differences between the list and the sources, by path. */
function differences(invariants: readonly Invariant[], sources: ReadonlyMap<string, string>): readonly string[] {
  const named = [...sources].flatMap(([path, text]) => namedIn(text).map((number) => ({ number, path })));
  const missing = invariants.flatMap(({ number, paths }) =>
    paths.length === 0
      ? [`invariant ${number} lists no file`]
      : paths
          .filter((path) => !named.some((one) => one.number === number && covers(path, one.path)))
          .map((path) => `${path} does not name invariant ${number}`),
  );
  const unlisted = named
    .filter(
      ({ number, path }) => !invariants.some((one) => one.number === number && one.paths.some((listed) => covers(listed, path))),
    )
    .map(({ number, path }) => `${path} names invariant ${number}, which does not list it`);
  return [...missing, ...unlisted];
}

test('the files that ARCHITECTURE.md lists for an invariant name it, and only those', () => {
  const invariants = invariantsOf(read('ARCHITECTURE.md'));
  assert.ok(invariants.length >= 47, `${invariants.length} invariants were found`);
  assert.deepEqual(
    invariants.map(({ number }) => number),
    invariants.map((_, index) => index + 1),
    'the invariants are numbered without gaps',
  );
  const sources = ['packages/everstep/src', 'packages/sdk/src'].flatMap((folder) => filesBelow(folder, /\.ts$/));
  assert.deepEqual(differences(invariants, new Map(sources.map((path) => [path, read(path)]))), []);
});

test('a difference between the list and the sources is detected', () => {
  const page =
    '# Page\n\n## Invariants\n\nA\n1. One. `a.ts`, `b/`, `CachedRun.durable`\n2. Two. `stores/*/c.ts`\n\nB\n3. Three.\n';
  const here = 'packages/everstep/src';
  const sources = new Map([
    [`${here}/a.ts`, '/** A. Keeps invariants 1 and 2. */\n'],
    [`${here}/b/x.ts`, "import 'a';\n/** Keeps invariant 1. */\n"],
    [`${here}/stores/sqlite/c.ts`, '/**\n * C.\n * Keeps invariant 2.\n */\n'],
  ]);
  assert.deepEqual(differences(invariantsOf(page), sources), [
    `${here}/b/ does not name invariant 1`,
    `${here}/stores/postgres/c.ts does not name invariant 2`,
    'invariant 3 lists no file',
    `${here}/a.ts names invariant 2, which does not list it`,
  ]);
});
