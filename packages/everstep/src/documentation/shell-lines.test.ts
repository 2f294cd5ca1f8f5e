/** Every command line in the documentation is checked: as an everstep command, or by the programs listed here. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { commandsInMarkdown, wordsOf } from './commands.fixture.js';
import { ALL_PAGES, filesBelow, PAGES, pageOf, ROOT, read, SOURCES, shellLinesOf, sourceLines } from './pages.fixture.js';
import { requestsIn } from './requests.fixture.js';

/** Other programs, by the first word of the line, and how the line is checked. */
const OTHER_PROGRAMS: Readonly<Record<string, string>> = {
  createdb: 'end-to-end/durability/postgres-backup.test.ts restores a dump into a new database',
  docker: 'scripts/deploy/ checks the image and the compose file',
  kubectl: 'scripts/deploy/manifests.test.mjs checks the manifests',
  pg_basebackup: 'end-to-end/durability/postgres-point-in-time.test.ts recovers from a base backup',
  pg_dump: 'end-to-end/durability/postgres-backup.test.ts dumps a database',
  pg_restore: 'end-to-end/durability/postgres-backup.test.ts restores a dump',
};
/** Files that readers write themselves, and how a line that runs one is checked. */
const FILES_OF_READERS: Readonly<Record<string, string>> = {
  'order.mjs': 'first-workflow.test.ts runs it',
  'app.js': 'represents the app of the reader',
};
const BUILT_IN: ReadonlySet<string> = new Set(['cd', 'export', 'set', 'source', '.']);

/** Returns the folder in which the commands of a page are typed: that of a starter for its page, and otherwise the root, ''. */
const starterOf = (path: string): string => /^examples\/starters\/[^/]+(?=\/)/.exec(path)?.[0] ?? '';

interface Manifest {
  readonly name: string;
  readonly scripts?: Readonly<Record<string, string>>;
}
const MANIFESTS: ReadonlyMap<string, Manifest> = new Map(
  filesBelow('', /^package\.json$/).map((path) => [path.replace(/\/?package\.json$/, ''), JSON.parse(read(path))]),
);
const manifestOf = (nameOrFolder: string): Manifest | undefined =>
  MANIFESTS.get(nameOrFolder) ?? [...MANIFESTS.values()].find(({ name }) => name === nameOrFolder);

/** Returns the reason why npm would refuse its arguments; null if it would accept them. */
function npmProblem(words: readonly string[], directory: string): string | null {
  const [command = '', ...args] = words;
  if (command === 'pack') return null;
  if (command === 'install') {
    const nameOrFolder = args.find((word) => !word.startsWith('-'))?.replace('<this directory>/', '');
    return nameOrFolder === undefined || manifestOf(nameOrFolder) ? null : `there is no package ${nameOrFolder}`;
  }
  const index = words.findIndex((word) => word === '-w' || word === '--workspace');
  const manifest = index === -1 ? MANIFESTS.get(directory) : manifestOf(words[index + 1] ?? '');
  if (!manifest) return `there is no workspace ${words[index + 1]}`;
  const script = command === 'run' ? (args[0] ?? '') : command;
  return manifest.scripts?.[script] === undefined ? `${manifest.name} has no script ${script}` : null;
}

/** Returns the reason why node would not find its file; null if it would. Compiled files are checked by their sources. */
function nodeProblem(words: readonly string[]): string | null {
  const file = words.find((word) => !word.startsWith('-')) ?? '';
  if (file in FILES_OF_READERS) return null;
  const source = file.replace('/dist/', '/src/').replace(/(?<=\/src\/.*)\.js$/, '.ts');
  const [directory = '', pattern = ''] = source.split(/\/(?=[^/]*$)/);
  if (!existsSync(`${ROOT}/${directory}`)) return `there is no ${directory}`;
  const name = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
  return filesBelow(directory, name).length > 0 ? null : `there is no ${file}`;
}

/** Returns why a command line is wrong; null if it is correct, undefined if its program is unknown. */
function problemOf(text: string, path = ''): string | null | undefined {
  const words = wordsOf(text.replace(/^(?:[A-Z_]+=(?:\$\([^)]*\)|\S*) +)+/, ''));
  const [first = '', second = ''] = words;
  // The files are Dockerfiles, compose files and manifests.
  const missing = words.find((word, at) => /^-[fk]$/.test(words[at - 1] ?? '') && !existsSync(`${ROOT}/${word}`));
  if (missing !== undefined) return `there is no ${missing}`;
  if (first === 'npm') return npmProblem(words.slice(1), starterOf(path));
  if (first === 'node') return nodeProblem(words.slice(1));
  if (first === 'npx') return second === 'everstep' || existsSync(`${ROOT}/node_modules/.bin/${second}`) ? null : `no ${second}`;
  if (first === 'curl') return requestsIn(text).length > 0 ? null : 'requests nothing from the server';
  return BUILT_IN.has(first) || first in OTHER_PROGRAMS ? null : undefined;
}

test('every line of a shell block is a checked command', () => {
  const lines = PAGES.flatMap((path) => {
    const page = pageOf(read(path));
    const ours = new Set(commandsInMarkdown(page).flatMap(({ line, isComplete }) => (isComplete ? [line] : [])));
    return shellLinesOf(page).flatMap(({ text, line }) => (ours.has(line) ? [] : [{ path, line, text }]));
  });
  assert.ok(lines.length > 50, `${lines.length} lines`);
  assert.deepEqual(
    lines.flatMap(({ path, line, text }) => {
      const problem = problemOf(text, path);
      return problem === null ? [] : [`${path}:${line}: ${text}: ${problem ?? 'no test knows this program'}`];
    }),
    [],
  );
  const typed = PAGES.flatMap((path) => shellLinesOf(pageOf(read(path)))).map(({ text }) => text);
  const mentioned = PAGES.flatMap((path) => pageOf(read(path)).inline).map(({ code }) => code);
  const unused = [
    ...Object.keys(OTHER_PROGRAMS).filter(
      (name) => !typed.some((text) => wordsOf(text.replace(/^\w+=\S+ (.*\) )?/, ''))[0] === name),
    ),
    ...Object.keys(FILES_OF_READERS).filter((name) => ![...typed, ...mentioned].some((text) => text.endsWith(` ${name}`))),
  ];
  assert.deepEqual(unused, [], 'no page shows these lines');
});

const OURS = /^(npm|npx|node) /;

test('every npm, npx and node command in a sentence or program text exists', () => {
  const mentioned = ALL_PAGES.flatMap((path) =>
    pageOf(read(path)).inline.flatMap(({ code, line }) => (OURS.test(code) ? [{ path, line, text: code }] : [])),
  );
  const inSources = SOURCES.flatMap((path) =>
    sourceLines(read(path)).flatMap(({ text, line }) =>
      [...text.matchAll(/\bnpm (?:(?:run|install|start|test)(?: -{0,2}[\w@/][\w@/:-]*)*)/g)].map(([command]) => ({
        path,
        line,
        text: command,
      })),
    ),
  );
  assert.ok(mentioned.length > 15, `${mentioned.length} commands`);
  assert.deepEqual(
    [...mentioned, ...inSources].flatMap(({ path, line, text }) => {
      const problem = problemOf(text, path);
      return problem ? [`${path}:${line}: ${text}: ${problem}`] : [];
    }),
    [],
  );
});

const WRONG: readonly (readonly [string, RegExp | undefined])[] = [
  ['npm run no-script', /everstep-workspace has no script no-script/],
  ['npm run lint -w packages/no', /no workspace packages\/no/],
  ['npm run lint --workspace @everstep/dashboard', /@everstep\/dashboard has no script lint/],
  ['npm install @everstep/no', /no package @everstep\/no/],
  ['node scripts/no.mjs', /no scripts\/no.mjs/],
  ['node --test packages/everstep/dist/engine/*.tost.js', /no packages/],
  ['A=1 npx no-program', /no no-program/],
  ['curl http://example.com', /requests nothing/],
  ['A=1 docker build -f deploy/no.Dockerfile .', /no deploy\/no.Dockerfile/],
  ['A=$(b c) no-program', undefined],
];
for (const [text, expected] of WRONG) {
  test(`a wrong line is detected: ${text}`, () => {
    const problem = problemOf(text);
    if (expected) assert.match(problem ?? '', expected);
    else assert.equal(problem, undefined);
  });
}
