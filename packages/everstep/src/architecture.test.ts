/**
 * Rules of this repository that a compiler does not check, as tests over the TypeScript sources: allowed imports, and
 * code that is not allowed.
 * Keeps invariants 31 and 33.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { codeOf } from './architecture.fixture.js';

interface Source {
  /** Relative to `packages/`, for example `everstep/src/engine/runs/run.ts`. */
  readonly path: string;
  readonly text: string;
}

interface DirectionRule {
  /** Sources below this path. The longest matching path applies. */
  readonly area: string;
  /** Additional allowed imports: paths (with `types ` in front: only types) and packages. */
  readonly may: readonly string[];
  readonly because: string;
}

const NODE = 'node:*';
const PROTOCOL = '@everstep/sdk/protocol';
const LIMITS_FILE = 'everstep/src/config/limits';
const ENGINE = 'everstep/src/engine';
const PORTS = 'everstep/src/ports';
const [ANSWERS, FAIRNESS, AUDIT] = ['everstep/src/answers', 'everstep/src/fairness', 'everstep/src/audit'];
const inEverstep = (...areas: string[]): string[] => areas.map((area) => `everstep/src/${area}`);

const STORED_RECORDS = 'everstep/src/stores/records';
const SHARED_SQL = 'everstep/src/stores/shared';
const STORE_MAY = [
  `types ${ENGINE}`,
  ...[
    'writes',
    'runs/run',
    'runs/positions',
    'limits/pinned-limits',
    'dead-letters/repair',
    'dead-letters/dead-letter-groups',
  ].map((module) => `${ENGINE}/${module}`),
  ...[PORTS, `${AUDIT}/chain`, LIMITS_FILE, PROTOCOL],
];

const DIRECTIONS: readonly DirectionRule[] = [
  { area: ENGINE, may: [LIMITS_FILE, PROTOCOL, 'jsep', 'croner'], because: 'decisions are a pure function of their inputs' },
  {
    area: PORTS,
    may: [`types ${ENGINE}`, `${ENGINE}/writes/stored-size`, PROTOCOL],
    because: 'a port describes a need in terms of the engine',
  },
  {
    area: 'everstep/src/runtime',
    may: [ENGINE, PORTS, ANSWERS, FAIRNESS, AUDIT, LIMITS_FILE, PROTOCOL],
    because: 'the runtime works with any store and any transport of steps',
  },
  {
    area: ANSWERS,
    may: [`types ${ENGINE}`, LIMITS_FILE, PROTOCOL],
    because: 'an HTTP response is interpreted in the same way for every sender',
  },
  {
    area: AUDIT,
    may: [`types ${ENGINE}`, `${ENGINE}/ids`, PORTS, LIMITS_FILE, NODE],
    because: 'all requests are recorded in the same way',
  },
  { area: FAIRNESS, may: [`types ${PORTS}`], because: 'the rule of shares does not depend on the shared resource' },
  {
    area: 'everstep/src/stores/sqlite',
    may: [...STORE_MAY, STORED_RECORDS, SHARED_SQL, NODE],
    because: 'a store does not depend on its users or on other stores',
  },
  {
    area: 'everstep/src/stores/postgres',
    may: [...STORE_MAY, STORED_RECORDS, SHARED_SQL, 'pg', NODE],
    because: 'a store does not depend on its users or on other stores',
  },
  {
    area: SHARED_SQL,
    may: [...STORE_MAY, STORED_RECORDS],
    because: 'both stores execute the same SQL, so it depends on neither',
  },
  { area: STORED_RECORDS, may: STORE_MAY, because: 'columns are read and written in the same way in every store' },
  {
    area: 'everstep/src/stores/conformance',
    may: [ENGINE, PORTS, `${AUDIT}/chain`, LIMITS_FILE, PROTOCOL, NODE],
    because: 'the suite is the same for every store and depends on none',
  },
  {
    area: 'everstep/src/step-calls',
    may: [
      `types ${ENGINE}`,
      PORTS,
      ANSWERS,
      FAIRNESS,
      LIMITS_FILE,
      ...inEverstep('config/destination-rules', 'dialects'),
      PROTOCOL,
      'undici',
      NODE,
    ],
    because: 'a transport of steps is replaceable, so it depends only on its port; the content of a call belongs to a dialect',
  },
  {
    area: 'everstep/src/http-api',
    may: [
      ...inEverstep(
        'runtime/services/workflow-service',
        'contract',
        'dialects',
        'accounts',
        'search',
        'engine',
        'ports',
        'config',
      ),
      ...inEverstep('answers/header-names', 'fairness', 'secrets/key-ring', 'sign-in', 'audit'),
      ...['@everstep/sdk/protocol', 'fastify', 'typebox', 'pino', 'jose', 'ajv', NODE],
    ],
    because: 'the API uses the service through its interface, whatever runtime or store is behind it',
  },
  {
    area: 'everstep/src/contract',
    may: [LIMITS_FILE, `types ${ENGINE}`, `types ${PORTS}/stores/filters`, 'typebox', PROTOCOL],
    because: 'every side relies on the contract, so it depends on none of them',
  },
  {
    area: 'everstep/src/dialects',
    may: [`types ${ENGINE}`, `types ${PORTS}`, ANSWERS, LIMITS_FILE, PROTOCOL],
    because: 'a dialect defines how data is written and what responses mean, for every sender',
  },
  {
    area: 'everstep/src/accounts',
    may: [PORTS, ENGINE, AUDIT, LIMITS_FILE, PROTOCOL, ...inEverstep('contract', 'dialects', 'config', 'secrets'), 'jose', NODE],
    because: 'tokens and keys do not depend on the caller',
  },
  {
    area: 'everstep/src/search',
    may: [PORTS, LIMITS_FILE, ...inEverstep('accounts'), NODE],
    because: 'permissions of an index follow from its account; a port hides how documents are stored',
  },
  {
    area: 'everstep/src/rotation',
    may: [PORTS, ...inEverstep('backup', 'bootstrap', 'config', 'search', 'secrets', 'stores'), NODE],
    because: 'secrets are replaced in any store, while a service runs or not',
  },
  {
    area: 'everstep/src/sign-in',
    may: [PORTS, ...inEverstep('config', 'accounts', 'contract', 'secrets/key-ring'), 'openid-client', 'oidc-provider', NODE],
    because: 'only this area knows how to use an identity provider; accounts decide which user it identifies',
  },
  { area: 'everstep/src/secrets', may: [PORTS, PROTOCOL, NODE], because: 'secrets are encrypted in the same way in every store' },
  { area: 'everstep/src/config', may: [NODE], because: 'settings are read before anything else exists' },
  { area: 'everstep/src/clock', may: [PORTS, NODE], because: 'the real clock and randomness implement ports' },
  {
    area: 'everstep/src/bootstrap',
    may: [PORTS, ENGINE, PROTOCOL, ...inEverstep('accounts', 'config', 'clock', 'dialects', 'secrets'), 'pino', NODE],
    because: 'the first start prepares what the service needs, and serves no requests',
  },
  {
    area: 'everstep/src/backup',
    may: [PROTOCOL, `types ${PORTS}`, ...inEverstep('bootstrap', 'secrets', 'config/secret-keys', 'stores/sqlite'), NODE],
    because: 'a backup is of the embedded store, whichever side requests it',
  },
  {
    area: 'everstep/src/store-copy',
    may: [...inEverstep('backup', 'stores/sqlite', 'stores/postgres'), NODE],
    because: 'only code that copies one store to another knows both',
  },
  {
    area: 'everstep/src/simulation',
    may: [PORTS, ENGINE, LIMITS_FILE, ...inEverstep('runtime', 'stores'), '@everstep/sdk', PROTOCOL, NODE],
    because: 'the simulated world runs the real runtime without a network',
  },
  {
    area: 'everstep/src/cli',
    may: [...inEverstep('config', 'bootstrap', 'contract', 'step-calls/version'), '@everstep/sdk', 'commander', 'pino', NODE],
    because: 'the command line is a client of the API like any other',
  },
  {
    area: 'everstep/src/cli/commands/installation/service',
    may: [...inEverstep('main', 'cli', 'config', 'bootstrap'), '@everstep/sdk', 'commander', 'pino', NODE],
    because: 'dev and serve start the service, which only main assembles',
  },
  {
    area: 'everstep/src/cli/commands/installation/backup',
    may: [...inEverstep('backup', 'cli', 'config', 'step-calls/version'), 'commander', NODE],
    because: 'a backup is made where the store is, even if no service runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/rotate-secrets',
    may: [...inEverstep('rotation', 'bootstrap', 'cli', 'config'), 'commander', NODE],
    because: 'secrets are replaced where the store is, even if no service runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/copy-store',
    may: [...inEverstep('store-copy', 'cli', 'config'), 'commander', NODE],
    because: 'a store is copied while no service uses it',
  },
  {
    area: 'everstep/src/end-to-end',
    may: ['@everstep/sdk', '@everstep/example-guides', 'undici', 'playwright-core', 'axe-core', NODE],
    because: 'end-to-end tests work from outside; the examples of the guides are apps like those of users',
  },
  {
    area: 'everstep/src/documentation',
    may: [...inEverstep('cli', 'architecture.fixture'), 'commander', NODE],
    because: 'the documentation is compared with the program; this area contains only tests',
  },
  {
    area: 'everstep/src/open-store',
    may: ['everstep/src', 'pino', NODE],
    because: 'only one file decides which store is used',
  },
  {
    area: 'everstep/src/main',
    may: ['everstep/src', 'pino', PROTOCOL, NODE],
    because: 'main is the only file that wires the parts together',
  },
  { area: 'sdk/src', may: [NODE], because: "the SDK adds no dependency to the user's app" },
  {
    area: 'sdk/src/protocol',
    may: ['sdk/src/bounded-json', 'sdk/src/journal-digest'],
    because: 'the protocol does not depend on either side',
  },
  { area: 'sdk/src/journal-digest', may: [], because: 'both sides of the protocol compute it' },
  { area: 'sdk/src/bounded-json', may: [], because: 'both sides of the protocol parse with it' },
  {
    area: 'dashboard/src',
    may: [
      'types everstep/src/contract',
      'everstep/dist/contract/filters/dead-letter-filters',
      'react',
      'react-dom',
      '@base-ui/react',
      '@tanstack',
      'croner',
    ],
    because: 'the pages depend only on the contract of the service, and everything they import is sent over the network',
  },
];

/** Additional imports of tests: worlds to run in, and libraries to check against. */
const TESTS_MAY = [
  ...inEverstep('answers', 'simulation', 'stores', 'ports', 'engine', 'config', 'clock', 'step-calls', 'accounts', 'runtime'),
  ...inEverstep('http-api', 'contract', 'search', 'main', 'bootstrap', 'dialects', 'audit'),
  // Shared by tests on both sides, and not exported by a package.
  'sdk/dist/testing/step-history.fixture',
  '@everstep/sdk',
  'jose',
  'pg',
  'ajv',
  'ajv-formats',
  'fast-check',
  'express',
  'fastify',
  'hono',
  '@upstash/search',
  '@upstash/workflow',
  '@upstash/qstash',
  'zod',
  '@hono/node-server',
  'undici',
  NODE,
];

const MAX_LINES = 450;
const BANNED_NAMES = ['utils', 'util', 'common', 'manager', 'helper', 'helpers'];
/** Patterns that are not allowed in code, with what to do instead. Words that would match this file are split. */
const BANNED_CODE: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/[:<]\s*any\b|\bas any\b|\bany\[\]|[,|]\s*any\s*[>,|;)]/, 'no any: use the actual type, or unknown'],
  [/\bas unknown as\b/, 'no cast through unknown: check the value'],
  [/\b(test|it|describe|suite)\.(only|skip)\b/, 'every test must run'],
];
const BANNED_IN_ENGINE: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bDate\.now\b|\bnew Date\(\)|\bperformance\b/, 'pass in the time'],
  [/\bMath\.random\b|\bcrypto\b/, 'pass in randomness'],
  [/\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/, 'the engine plans, the runtime waits'],
  [/\bfetch\(|\bprocess\./, 'the engine has no side effects'],
  [/\basync\b|\bawait\b|\bnew Promise\b/, 'the engine is synchronous'],
];

const moduleOf = (path: string): string => path.replace(/\.tsx?$/, '');
/** Returns whether a source is not part of the service: tests, their fixtures and programs, and benchmarks. */
const isTest = (path: string): boolean => /\.(test|fixture|bench)$|\/testing\/|-check$/.test(moduleOf(path));

interface Import {
  readonly from: string;
  readonly typesOnly: boolean;
}

function importsOf(text: string): Import[] {
  const found: Import[] = [];
  for (const [, names = '', from = ''] of text.matchAll(/^(?:import|export)\b([^'"`;]*?)\bfrom\s+['"]([^'"]+)['"]/gm)) {
    const listed = /^\s*\{([^}]*)\}\s*$/
      .exec(names)?.[1]
      ?.split(',')
      .map((name) => name.trim());
    const typesOnly = /^\s*type\b/.test(names) || (listed?.every((name) => name === '' || name.startsWith('type ')) ?? false);
    found.push({ from, typesOnly });
  }
  for (const [, from = ''] of text.matchAll(/^import\s+['"]([^'"]+)['"]/gm)) found.push({ from, typesOnly: false });
  for (const [, from = ''] of text.matchAll(/^[^'"`\n*]*\b(?:import|require)\(\s*['"]([^'"]+)['"]/gm))
    found.push({ from, typesOnly: false });
  return found;
}

/** Returns the path of the imported source without its extension, or the name of the package. */
function targetOf(importer: string, from: string): string {
  return from.startsWith('.') ? posix.join(posix.dirname(importer), from).replace(/\.(js|tsx?)$/, '') : from;
}

const below = (target: string, path: string): boolean => target === path || target.startsWith(`${path}/`);

function directionProblems({ path, text }: Source): string[] {
  const module = moduleOf(path).replace(/\.(test|fixture|bench)$/, '');
  const rule = DIRECTIONS.filter(({ area }) => below(module, area)).sort((a, b) => b.area.length - a.area.length)[0];
  if (module === 'everstep/src/architecture') return [];
  if (!rule) return [`${path}: no rule says what this area may import; add it to DIRECTIONS`];
  const allowed = isTest(path) ? [...rule.may, ...TESTS_MAY, ...(path.startsWith('sdk/') ? ['sdk/src'] : [])] : rule.may;
  return importsOf(text).flatMap(({ from, typesOnly }) => {
    const target = targetOf(path, from);
    const ok =
      below(target, rule.area) ||
      allowed.some((entry) => {
        if (entry === NODE) return from.startsWith('node:');
        if (entry.startsWith('types ')) return typesOnly && below(target, entry.slice('types '.length));
        return below(target, entry);
      });
    if (isTest(target) && !isTest(path)) return [`${path}: imports ${target}, which is only for tests`];
    return ok ? [] : [`${path}: imports ${typesOnly ? 'types of ' : ''}${target}, but ${rule.because}`];
  });
}

function textProblems({ path, text }: Source): string[] {
  const problems: string[] = [];
  const lines = text.split('\n').length - 1;
  if (lines > MAX_LINES) problems.push(`${path}: ${lines} lines; split it by topic, the maximum is ${MAX_LINES}`);
  for (const part of moduleOf(path).split(/[/.-]/)) {
    if (BANNED_NAMES.includes(part.toLowerCase()))
      problems.push(`${path}: "${part}" is not descriptive; name it after what it does`);
  }
  for (const [mark] of text.matchAll(/\b(?:TO[D]O|FIX[M]E|XX[X])\b/g)) problems.push(`${path}: ${mark}: do it, or open an issue`);
  const code = codeOf(text);
  const banned = path.startsWith(`${ENGINE}/`) && !isTest(path) ? [...BANNED_CODE, ...BANNED_IN_ENGINE] : BANNED_CODE;
  for (const [pattern, instead] of banned) {
    const match = pattern.exec(code);
    if (match) problems.push(`${path}:${code.slice(0, match.index).split('\n').length}: "${match[0].trim()}": ${instead}`);
  }
  const speaks = ['dialects', 'http-api/upstash', 'cli', 'simulation'].some((area) => path.startsWith(`everstep/src/${area}/`));
  const spelled =
    path.startsWith('everstep/') && !speaks && !isTest(path) ? /['"`][^'"`\n]*\bsvc[-_]/i.exec(codeOf(text, 'kept')) : null;
  if (spelled) problems.push(`${path}: ${spelled[0]}: only a dialect knows the spelling of a header`);
  return problems;
}

const problemsOf = (source: Source): string[] => [...directionProblems(source), ...textProblems(source)];

const PACKAGES = fileURLToPath(new URL('../../', import.meta.url));
function readSources(): Source[] {
  return readdirSync(PACKAGES).flatMap((name) =>
    readdirSync(`${PACKAGES}/${name}/src`, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => ({
        path: `${name}/src/${file.replaceAll('\\', '/')}`,
        text: readFileSync(`${PACKAGES}/${name}/src/${file}`, 'utf8'),
      })),
  );
}

test('the sources follow the rules of the repository', () => {
  const sources = readSources();
  assert.ok(sources.length > 50, 'the sources were not found');
  assert.deepEqual(sources.flatMap(problemsOf), []);
});

test('every area in the table exists', () => {
  const modules = readSources().map(({ path }) => moduleOf(path));
  const missing = DIRECTIONS.filter(({ area }) => !modules.some((module) => below(module, area)));
  assert.deepEqual(missing, []);
});

test('detects a source that violates a rule', async (t) => {
  const engine = 'everstep/src/engine/x.ts';
  const table: readonly (readonly [path: string, text: string, problem: RegExp | null])[] = [
    [engine, "import { LIMITS } from '../config/limits.js';\nimport { a } from './a.js';\nimport jsep from 'jsep';", null],
    [engine, "import type { Store } from '../ports/store.js';", /imports types of everstep\/src\/ports\/store, but decisions/],
    [engine, "import { createHash } from 'node:crypto';", /imports node:crypto/],
    [engine, "import {\n  a,\n  b,\n} from '../runtime/runtime.js';", /imports everstep\/src\/runtime\/runtime/],
    [engine, "import 'undici';", /imports undici/],
    [engine, "const load = () => import('node:fs');", /imports node:fs/],
    [engine, "export * from '../config/config.js';", /imports everstep\/src\/config\/config/],
    ['everstep/src/ports/x.ts', "import type { Run } from '../engine/run.js';\nexport type { A } from '../engine/a.js';", null],
    [
      'everstep/src/ports/x.ts',
      "import { type Run, decide } from '../engine/decide.js';",
      /imports everstep\/src\/engine\/decide, but a port/,
    ],
    [
      'everstep/src/stores/sqlite/x.ts',
      "import { a } from '../conformance/a.js';",
      /imports everstep\/src\/stores\/conformance\/a/,
    ],
    ['everstep/src/stores/sqlite/x.test.ts', "import { a } from '../conformance/a.js';", null],
    ['everstep/src/stores/sqlite/x.ts', "import { a } from '../../http-api/a.js';", /http-api/],
    ['everstep/src/http-api/x.ts', "import type { W } from '../runtime/services/workflow-service.js';", null],
    [
      'everstep/src/http-api/x.ts',
      "import { createRuntime } from '../runtime/runtime.js';",
      /imports everstep\/src\/runtime\/runtime/,
    ],
    ['everstep/src/http-api/x.ts', "import { openSqliteStore } from '../stores/sqlite/index.js';", /stores\/sqlite/],
    ['everstep/src/cli/x.ts', "import { startService } from '../main.js';", /imports everstep\/src\/main, but the command line/],
    ['everstep/src/runtime/x.ts', "import { a } from '../main.js';", /imports everstep\/src\/main/],
    ['sdk/src/x.ts', "import { Pool } from 'undici';", /imports undici, but the SDK/],
    ['dashboard/src/x.tsx', "import { RUN_STATES } from '../../everstep/src/contract/runs.js';", /but the pages/],
    ['everstep/src/runtime/x.ts', "import { a } from './a.fixture.js';", /a\.fixture, which is only for tests/],
    ['everstep/src/http-api/x.ts', "import { a } from './testing/a.js';", /testing\/a, which is only for tests/],
    [
      'everstep/src/http-api/testing/x.ts',
      "import { a } from '../../stores/sqlite/index.js';\nimport { b } from './b.js';",
      null,
    ],
    ['everstep/src/new-room/x.ts', '', /no rule says/],
    ['everstep/src/clock/time-utils.ts', '', /"utils" is not descriptive/],
    ['everstep/src/clock/x.ts', '\n'.repeat(451), /451 lines/],
    ['everstep/src/clock/x.ts', `// ${'TO'}DO later`, /do it, or open an issue/],
    ['everstep/src/clock/x.ts', 'function f(a: any) {}', /:1: ": any": no any/],
    ['everstep/src/clock/x.ts', 'const a = b as unknown as string;', /no cast/],
    ['everstep/src/clock/x.test.ts', 'test.only(() => {});', /every test must run/],
    ['everstep/src/clock/x.ts', "const a = ': any'; // as any\nconst b = /: any/.test(a) ? `x: any` : 8 / 2; /* <any> */", null],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a template
    ['everstep/src/clock/x.ts', "const a = `it's ${f(`${b as any}`)} // `;", /no any/],
    ['everstep/src/http-api/x.ts', "reply.header('Svc-Error-Code', code);", /'Svc-: only a dialect knows/],
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
  ];
  for (const [path, text, problem] of table) {
    await t.test(`${path}: ${text.trim().slice(0, 60)}`, () => {
      const problems = problemsOf({ path, text });
      if (problem === null) assert.deepEqual(problems, []);
      else assert.match(problems.join('\n'), problem);
    });
  }
});
