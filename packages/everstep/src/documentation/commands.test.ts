/** Every command, option and variable in user-facing text exists in the program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgram } from '../cli/program.js';
import { SECRET_FILE_VARIABLES } from '../config/secret-files.js';
import { CLIENT_VARIABLES, SETTINGS } from '../config/settings.js';
import {
  commandsInMarkdown,
  commandsInSource,
  optionNames,
  optionsIn,
  problemOf,
  type ShownCommand,
  wordsOf,
} from './commands.fixture.js';
import { PAGES, pageOf, read, SOURCES, sourceLines } from './pages.fixture.js';

const program = createProgram({ screen: { write() {} }, printError() {}, env: {}, cwd: '/' } as never, () => {});

function problems(path: string, commands: readonly ShownCommand[]): readonly string[] {
  return commands.flatMap(({ words, isComplete, line }) => {
    const problem = problemOf(program, words, { isComplete });
    return problem === null ? [] : [`${path}:${line}: everstep ${words.join(' ')}: ${problem}`];
  });
}

test('every command in the documentation exists, with its options and arguments', () => {
  const shown = PAGES.map((path) => [path, commandsInMarkdown(pageOf(read(path)))] as const);
  assert.ok(shown.reduce((sum, [, commands]) => sum + commands.length, 0) > 150);
  assert.deepEqual(
    shown.flatMap(([path, commands]) => problems(path, commands)),
    [],
  );
});

test('every command in the dashboard, help texts and hints exists with its options', () => {
  const shown = SOURCES.map((path) => [path, commandsInSource(read(path))] as const);
  assert.ok(shown.reduce((sum, [, commands]) => sum + commands.length, 0) >= 5);
  assert.deepEqual(
    shown.flatMap(([path, commands]) => problems(path, commands)),
    [],
  );
});

/** Matches variables of tests and development, which are named only in pages for contributors. */
const FOR_DEVELOPMENT = /^EVERSTEP_(TEST_|BENCH_|SOAK|CHROMIUM|SCREENSHOTS)/;
const KNOWN = new Set([...Object.values(SETTINGS).map(({ env }) => env), ...CLIENT_VARIABLES, ...SECRET_FILE_VARIABLES]);
const KNOWN_PATTERNS = [/^EVERSTEP_[A-Z0-9_]*_SIGNING_KEY$/, /^EVERSTEP_ADMIN_/];

test('every variable in the documentation and in the dashboard exists', () => {
  const unknown: string[] = [];
  for (const path of [...PAGES, ...SOURCES]) {
    for (const [name] of read(path).matchAll(/(?<!code = ')\bEVERSTEP_[A-Z0-9_]*[A-Z0-9]\b/g)) {
      if (KNOWN.has(name) || KNOWN_PATTERNS.some((pattern) => pattern.test(name))) continue;
      if (!FOR_DEVELOPMENT.test(name)) unknown.push(`${path}: ${name}`);
    }
  }
  assert.deepEqual(unknown, []);
});

interface DocumentedOption {
  readonly path: string;
  readonly line: number;
  readonly option: string;
}

/** Options of other programs, by the file that mentions them. */
const OF_OTHERS: Readonly<Record<string, readonly (readonly [program: string, ...options: string[]])[]>> = {
  'bench/README.md': [['npm', '--only', '--runs', '--per-second', '--assert']],
  'docs/operations/fair-shares.md': [['npm', '--assert']],
  'CONTRIBUTING.md': [['npm', '--requests', '--heap']],
  'bench/src/engine.ts': [['node', '--disable-warning', '--cpu-prof', '--cpu-prof-dir']],
  'bench/src/neighbors/main.ts': [['npm', '--only', '--runs', '--per-second', '--assert']],
  'docs/operations/backup.md': [
    ['pg_dump', '--schema'],
    ['pg_restore', '--clean', '--if-exists'],
  ],
  'packages/everstep/src/bootstrap/idle-memory.ts': [['node', '--expose-gc']],
  'packages/dashboard/src/pages/quickstart/snippets.ts': [['node', '--env-file']],
  'packages/everstep/src/cli/doctor/machine-checks.ts': [['node', '--max-old-space-size']],
  'packages/everstep/src/http-api/dashboard/file-response.ts': [['npm', '--workspace']],
  'packages/sdk/src/testing/service-process.ts': [['npm', '--save-dev']],
  'docs/benchmarks.md': [['npm', '--warmup']],
  'scripts/soak.mjs': [['npm', '--via']],
  'scripts/fuzz.mjs': [['npm', '--requests', '--seed', '--heap', '--from']],
  'scripts/fuzz/server.mjs': [['node', '--max-old-space-size']],
  'scripts/tests/run.mjs': [['node', '--disable-warning']],
  'scripts/tests/start-up/index.mjs': [['node', '--require']],
};
/** Matches inline code that starts with another program. */
const OTHER_PROGRAM = /^(npx (?!everstep)|npm |docker |kubectl |node )/;
const KNOWN_OPTIONS = new Set([...optionNames(program), '--help', '--version']);
const OF_THE_BENCHMARK = new Set(optionsIn(read('bench/src/options.ts')));

const isOfOther = ({ path, option }: DocumentedOption): boolean =>
  OF_OTHERS[path]?.some(([, ...options]) => options.includes(option)) ?? false;
const exists = ({ path, option }: DocumentedOption): boolean =>
  (path.startsWith('bench/') ? OF_THE_BENCHMARK : KNOWN_OPTIONS).has(option);

const inSentences: readonly DocumentedOption[] = PAGES.flatMap((path) =>
  pageOf(read(path)).inline.flatMap(({ code, line }) =>
    OTHER_PROGRAM.test(code) ? [] : optionsIn(code).map((option) => ({ path, line, option })),
  ),
);
const inSources: readonly DocumentedOption[] = SOURCES.flatMap((path) =>
  sourceLines(read(path)).flatMap(({ text, line }) => {
    // Scripts pass options to other programs as separate strings.
    const texts = path.startsWith('scripts/') ? text.replace(/'--[\w=-]+'/g, '') : text;
    return optionsIn(texts).map((option) => ({ path, line, option }));
  }),
);

for (const [where, named] of [
  ['a sentence of the documentation', inSentences],
  ['the dashboard, in errors, hints and output of scripts', inSources],
] as const) {
  test(`every option in ${where} exists`, () => {
    assert.ok(named.length > 100, `${named.length} options`);
    assert.deepEqual(
      named.filter((each) => !isOfOther(each) && !exists(each)),
      [],
    );
  });
}

test('every listed option of another program is mentioned', () => {
  const unused = Object.entries(OF_OTHERS).flatMap(([path, programs]) =>
    programs.flatMap(([, ...options]) =>
      options.filter((option) => ![...inSentences, ...inSources].some((each) => each.path === path && each.option === option)),
    ),
  );
  assert.deepEqual(unused, []);
});

const WRONG: readonly (readonly [string, RegExp])[] = [
  ['admin queue create', /admin has no command queue/],
  ['trigger http://x --parallelism 5', /trigger has no option --parallelism/],
  ['trigger', /trigger needs 1 argument/],
  ['runs get one two', /get takes no argument two/],
  ['bogus', /everstep has no command bogus/],
  ['dev --port', /--port needs a value/],
];
for (const [line, expected] of WRONG) {
  test(`a wrong command is detected: ${line}`, () => {
    assert.match(problemOf(program, wordsOf(line), { isComplete: true }) ?? '', expected);
  });
}

test('commands are found in pages and sources', () => {
  const words = (commands: readonly ShownCommand[]) => commands.map((each) => [each.words.join(' '), each.isComplete]);
  const page = [
    'Say `everstep runs get <id>` here.',
    '```sh',
    'A=1 npx everstep trigger http://x \\',
    '  --body \'{"a b":1}\' | jq # and so on',
    '```',
    '```ts',
    'everstep ignored',
    '```',
  ];
  assert.deepEqual(words(commandsInMarkdown(pageOf(page.join('\n')))), [
    ['trigger http://x --body {"a b":1}', true],
    ['runs get <id>', false],
  ]);
  assert.deepEqual(words(commandsInSource("<code>everstep trigger http://x --body '{'{\"id\":1}'}'</code>. It")), [
    ['trigger http://x --body {"id":1}', false],
  ]);
  assert.deepEqual(words(commandsInSource('Make one with `everstep admin queue create`, or')), [['admin queue create', false]]);
  assert.deepEqual(words(commandsInSource("fail('print it with everstep env, or')")), [['env', false]]);
  assert.deepEqual(words(commandsInMarkdown(pageOf('```\n15 3 * * * root everstep backup --to /a && find\n```'))), [
    ['backup --to /a', true],
  ]);
});

test('options are found in texts', () => {
  assert.deepEqual(optionsIn("give --port or '--no-demo', else var(--space) and a--b"), ['--port', '--no-demo']);
});
