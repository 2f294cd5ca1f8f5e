/**
 * Checks rules that no linter has: the names and sizes of files, and which code may use what. Biome checks other rules, such as
 * the length of functions.
 * Keeps invariants 31 and 33.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBelow, isTest, moduleOf, readSources, type Source, sleepsOf, textsOf, usesOf } from './source.fixture.js';
import { TIME_AND_RANDOMNESS, unneededExceptions } from './time-and-randomness.fixture.js';

const MAX_LINES = 450;
const BANNED_NAMES = ['utils', 'util', 'common', 'manager', 'helper', 'helpers'];

/** Names that code in an area must not use, with advice on what to do instead. The pattern matches a whole name. */
interface UseRule {
  readonly applies: (path: string) => boolean;
  readonly names: RegExp;
  readonly advice: string;
}

/** Matches the words that rules look for. A source without any of them is not parsed. */
const RELEVANT_WORDS = /as unknown as|Date|performance|hrtime|set(Timeout|Interval|Immediate)|random|Random|svc[-_]/i;
const isEngineSource = (path: string): boolean => path.startsWith('everstep/src/engine/') && !isTest(path);
const USE_RULES: readonly UseRule[] = [
  { applies: () => true, names: /^as unknown as$/, advice: 'no cast through unknown: check the value' },
  { applies: isEngineSource, names: /^(Date\.now|new Date\(\)|performance)$/, advice: 'pass in the time' },
  { applies: isEngineSource, names: /^(Math\.random|crypto)$/, advice: 'pass in randomness' },
  {
    applies: isEngineSource,
    names: /^(set(Timeout|Interval|Immediate)|queueMicrotask)$/,
    advice: 'the engine plans, the runtime waits',
  },
  { applies: isEngineSource, names: /^(fetch|process)$/, advice: 'the engine has no side effects' },
  { applies: isEngineSource, names: /^(async|await|new Promise)$/, advice: 'the engine is synchronous' },
  ...TIME_AND_RANDOMNESS,
];

/** Tests that may sleep for a fixed time, with the reason. */
const SLEEPS: readonly (readonly [path: string, reason: string])[] = [
  ['everstep/src/end-to-end/nodes', 'nodes, their database and their network fail at random times, and for a while'],
  ['everstep/src/end-to-end/patroni', 'the primary is paused for a while, and Patroni is asked a few times a second'],
  [
    'everstep/src/end-to-end/nodes-consistency.test.ts',
    'events must arrive around the time of a timeout, and steps that share a limit must take a while',
  ],
  ['everstep/src/end-to-end/durability/crash.fixture.ts', 'a process is killed at a random time of its start'],
  [
    'everstep/src/end-to-end/durability/crash-worker.fixture.ts',
    'steps of different length are in progress when a process is killed',
  ],
  ['everstep/src/end-to-end/durability/full-disk.test.ts', 'nothing must be executed for a while'],
  ['everstep/src/stores/sqlite/connection/torn-log.test.ts', 'a process is stopped and killed at random times'],
  ['everstep/src/stores/postgres/cluster/claims.test.ts', 'a lease by the clock of the database passes several times'],
  ['everstep/src/step-calls/exchanges/reply-budget.test.ts', 'a response must not arrive over a real connection for a while'],
  ['everstep/src/step-calls/addresses/lookups.test.ts', 'hundreds of real requests must be waiting for their name servers'],
  ['everstep/src/http-api/operations/runs/runs.test.ts', 'the result of a call is written a few milliseconds after the call'],
  ['sdk/src/executor/executor.test.ts', 'the code of a workflow awaits something that is not a step'],
];

const knowsHeaders = (path: string): boolean =>
  ['dialects', 'http-api/upstash', 'cli', 'simulation'].some((area) => path.startsWith(`everstep/src/${area}/`));

function nameAndSizeProblems({ path, text }: Source): readonly string[] {
  const lines = text.split('\n').length - 1;
  const names = moduleOf(path)
    .split(/[/.-]/)
    .filter((part) => BANNED_NAMES.includes(part.toLowerCase()));
  const todoMarks = [...text.matchAll(/\b(?:TO[D]O|FIX[M]E|XX[X])\b/g)];
  return [
    ...(lines > MAX_LINES ? [`${path}: ${lines} lines; split it by topic, the maximum is ${MAX_LINES}`] : []),
    ...names.map((part) => `${path}: "${part}" is not descriptive; name it after what it does`),
    ...todoMarks.map(([mark]) => `${path}: ${mark}: do it, or open an issue`),
  ];
}

function codeProblems(source: Source): readonly string[] {
  const { path, text } = source;
  if (!isEngineSource(path) && !RELEVANT_WORDS.test(text)) return [];
  const rules = USE_RULES.filter(({ applies }) => applies(path));
  const lineOf = (start: number): number => text.slice(0, start).split('\n').length;
  const uses = usesOf(source).flatMap(({ name, start }) =>
    rules.filter(({ names }) => names.test(name)).map(({ advice }) => `${path}:${lineOf(start)}: "${name}": ${advice}`),
  );
  if (isTest(path)) {
    const sleeps = SLEEPS.some(([exceptedPath]) => isBelow(path, exceptedPath))
      ? []
      : sleepsOf(source).map((start) => `${path}:${lineOf(start)}: sleeps; wait for a condition, or simulate the time`);
    return [...uses, ...sleeps];
  }
  if (!path.startsWith('everstep/') || knowsHeaders(path) || !/svc[-_]/i.test(text)) return uses;
  const headerTexts = textsOf(source).filter((headerText) => /\bsvc[-_]/i.test(headerText));
  return [...uses, ...headerTexts.map((headerText) => `${path}: '${headerText}': only a dialect knows the spelling of a header`)];
}

const problemsOf = (source: Source): readonly string[] => [...nameAndSizeProblems(source), ...codeProblems(source)];

test('the sources follow the rules for code', () => {
  const sources = readSources(/\.tsx?$/);
  assert.ok(sources.length > 50, 'the sources were not found');
  assert.deepEqual(sources.flatMap(problemsOf), []);
});

test('every exception for time and randomness is needed', () => {
  assert.deepEqual(unneededExceptions(readSources(/\.tsx?$/)), []);
});

test('every exception for a sleep is needed', () => {
  const sleeping = readSources(/\.(?:test|fixture)\.ts$/).filter((source) => sleepsOf(source).length > 0);
  const unneeded = SLEEPS.filter(([exceptedPath]) => !sleeping.some(({ path }) => isBelow(path, exceptedPath)));
  assert.deepEqual(unneeded, []);
});

test('the style sheets follow the rules for names and sizes', () => {
  const sheets = readSources(/\.css$/);
  assert.ok(sheets.length > 5, 'the style sheets were not found');
  assert.deepEqual(sheets.flatMap(nameAndSizeProblems), []);
});

test('code that violates a rule is detected', async (t) => {
  const engine = 'everstep/src/engine/x.ts';
  const table: readonly (readonly [path: string, text: string, problem: RegExp | null])[] = [
    ['everstep/src/clock/time-utils.ts', '', /"utils" is not descriptive/],
    ['everstep/src/clock/x.ts', '\n'.repeat(451), /451 lines/],
    ['everstep/src/clock/x.ts', `// ${'TO'}DO later`, /do it, or open an issue/],
    ['everstep/src/clock/x.ts', 'const a = b as unknown as string;', /no cast/],
    ['everstep/src/http-api/x.ts', "reply.header('Svc-Error-Code', code);", /'Svc-Error-Code': only a dialect knows/],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a template
    ['everstep/src/http-api/x.ts', 'const name = `the svc-${x}`;', /only a dialect knows/],
    ['everstep/src/http-api/x.ts', "// 'Svc-Delay'\nconst a = b.spell('Delay');", null],
    ['everstep/src/http-api/x.test.ts', "const a = 'Svc-Delay';", null],
    [engine, 'const now = Date.now();', /:1: "Date.now": pass in the time/],
    [engine, '\n// Date.now\nconst at = new Date();', /:3: "new Date\(\)"/],
    [engine, 'const a = new Date(ms);', null],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a template
    [engine, 'const a = `${Math.random()}`;', /pass in randomness/],
    [engine, 'setTimeout(() => {}, 1);', /the runtime waits/],
    [engine, "void fetch('x');", /the engine has no side effects/],
    [engine, 'async function f() {}', /synchronous/],
    ['everstep/src/engine/x.test.ts', 'const now = Date.now();', null],
    ['everstep/src/http-api/x.ts', 'setTimeout(() => {}, 1);', /:1: "setTimeout": pass in/],
    ['everstep/src/http-api/x.ts', "import { setTimeout as pause } from 'node:timers/promises';", /"setTimeout"/],
    ['everstep/src/http-api/x.ts', 'const now = globalThis.performance.now();', /"performance": pass in/],
    ['everstep/src/http-api/x.ts', "import { randomBytes } from 'node:crypto';", /"randomBytes": pass in/],
    ['everstep/src/http-api/x.ts', 'const id = crypto.randomUUID();', /"crypto.randomUUID": pass in/],
    ['everstep/src/http-api/x.ts', 'let a: ReturnType<typeof setTimeout>;\nclock.setTimeout(a);', null],
    ['everstep/src/clock/x.ts', 'setTimeout(() => {}, Date.now());', null],
    ['everstep/src/http-api/x.test.ts', 'const at = Date.now();', null],
    ['everstep/src/http-api/x.test.ts', 'await new Promise((resolve) => setTimeout(resolve, 50));', /wait for a condition/],
    ['everstep/src/http-api/x.test.ts', 'while (!ready()) await new Promise((resolve) => setTimeout(resolve, 2));', null],
    ['everstep/src/http-api/x.test.ts', 'setTimeout(() => reject(new Error()), 50);', null],
    [
      'everstep/src/http-api/x.test.ts',
      "import { setTimeout as pause } from 'node:timers/promises';\nfor (let i = 0; i < 5; i++) await pause(2);",
      /:2: sleeps/,
    ],
  ];
  for (const [path, text, problem] of table) {
    await t.test(`${path}: ${text.trim().slice(0, 60)}`, () => {
      const problems = problemsOf({ path, text });
      if (problem === null) assert.deepEqual(problems, []);
      else assert.match(problems.join('\n'), problem);
    });
  }
});
