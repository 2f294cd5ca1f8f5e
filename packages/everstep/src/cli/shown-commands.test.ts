/** Whatever people are told to type is something that the program takes, and whatever they are told to set exists. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CLIENT_VARIABLES, SETTINGS } from '../config/settings.js';
import { createProgram } from './program.js';
import { commandsInMarkdown, commandsInSource, problemOf, type ShownCommand, wordsOf } from './shown-commands.fixture.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const program = createProgram({ screen: { write() {} }, complain() {}, env: {}, cwd: '/' } as never, () => {});

function filesBelow(directory: string, ending: RegExp): readonly string[] {
  return readdirSync(join(ROOT, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'dist', 'decisions'].includes(entry.name) ? [] : filesBelow(path, ending);
    return ending.test(entry.name) ? [path] : [];
  });
}
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  ...filesBelow('docs', /\.md$/),
  ...filesBelow('packages', /\.md$/),
  ...filesBelow('examples', /\.md$/),
];
const NO_TESTS = /(?<!\.(test|fixture|bench))\.tsx?$/;
const SOURCES = [...filesBelow('packages/dashboard/src', NO_TESTS), ...filesBelow('packages/everstep/src/cli', NO_TESTS)];

function problems(path: string, commands: readonly ShownCommand[]): readonly string[] {
  return commands.flatMap(({ words, complete, line }) => {
    const problem = problemOf(program, words, { complete });
    return problem === null ? [] : [`${path}:${line}: everstep ${words.join(' ')}: ${problem}`];
  });
}

test('every command in the documentation exists, with its options and arguments', () => {
  const shown = PAGES.map((path) => [path, commandsInMarkdown(read(path))] as const);
  assert.ok(shown.reduce((sum, [, commands]) => sum + commands.length, 0) > 150);
  assert.deepEqual(
    shown.flatMap(([path, commands]) => problems(path, commands)),
    [],
  );
});

test('every command in the dashboard, in help texts and in hints exists, with its options', () => {
  const shown = SOURCES.map((path) => [path, commandsInSource(read(path))] as const);
  assert.ok(shown.reduce((sum, [, commands]) => sum + commands.length, 0) >= 5);
  assert.deepEqual(
    shown.flatMap(([path, commands]) => problems(path, commands)),
    [],
  );
});

/** Variables of the tests and of development; the pages that name them are for people who change the code. */
const FOR_DEVELOPMENT = /^EVERSTEP_(TEST_|CHROMIUM|SCREENSHOTS)/;
const KNOWN = new Set([...Object.values(SETTINGS).map(({ env }) => env), ...CLIENT_VARIABLES]);
const KNOWN_PATTERNS = [/^EVERSTEP_[A-Z0-9_]*_SIGNING_KEY$/, /^EVERSTEP_ADMIN_/];

test('every variable in the documentation and in the dashboard exists', () => {
  const unknown: string[] = [];
  for (const path of [...PAGES, ...SOURCES]) {
    for (const [name] of read(path).matchAll(/\bEVERSTEP_[A-Z0-9_]*[A-Z0-9]\b/g)) {
      if (KNOWN.has(name) || KNOWN_PATTERNS.some((pattern) => pattern.test(name))) continue;
      if (!FOR_DEVELOPMENT.test(name)) unknown.push(`${path}: ${name}`);
    }
  }
  assert.deepEqual(unknown, []);
});

test('every link from one page to another file leads somewhere', () => {
  const broken: string[] = [];
  for (const path of PAGES) {
    for (const [, target = ''] of read(path).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^([a-z]+:|#)/.test(target)) continue;
      const file = join(ROOT, dirname(path), target.split('#')[0] ?? '');
      if (!existsSync(file)) broken.push(`${path}: ${relative(ROOT, file)}`);
    }
  }
  assert.deepEqual(broken, []);
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
  test(`a wrong command is found: ${line}`, () => {
    assert.match(problemOf(program, wordsOf(line), { complete: true }) ?? '', expected);
  });
}

test('commands are found where people read them', () => {
  const words = (commands: readonly ShownCommand[]) => commands.map((each) => [each.words.join(' '), each.complete]);
  const page = [
    'Say `everstep runs get <id>` here.',
    '```sh',
    'A=1 npx everstep trigger http://x \\',
    '  --body \'{"a b":1}\' | jq # and so on',
    '```',
    '```ts',
    'everstep nothing',
    '```',
  ];
  assert.deepEqual(words(commandsInMarkdown(page.join('\n'))), [
    ['runs get <id>', false],
    ['trigger http://x --body {"a b":1}', true],
  ]);
  assert.deepEqual(words(commandsInSource("<code>everstep trigger http://x --body '{'{\"id\":1}'}'</code>. It")), [
    ['trigger http://x --body {"id":1}', false],
  ]);
  assert.deepEqual(words(commandsInSource('Make one with `everstep admin queue create`, or')), [['admin queue create', false]]);
});
