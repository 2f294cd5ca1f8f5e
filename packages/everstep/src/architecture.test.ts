/**
 * The directions of imports: which part of the repository may import which others, and that no import leads back, types
 * included.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { below, importsOf, isTest, moduleOf, readSources, type Source } from './architecture/source.fixture.js';

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
const LOG_LEVELS = 'everstep/src/config/log-levels';
const ENGINE = 'everstep/src/engine';
const PORTS = 'everstep/src/ports';
const [ANSWERS, FAIRNESS, AUDIT] = ['everstep/src/answers', 'everstep/src/fairness', 'everstep/src/audit'];
const inEverstep = (...areas: string[]): string[] => areas.map((area) => `everstep/src/${area}`);

const CONSISTENCY = 'everstep/src/stores/shared/consistency/checks';
const SHARED_STORE = ['everstep/src/stores/records', 'everstep/src/stores/shared'];
const STORE_MAY = [
  `types ${ENGINE}`,
  ...[
    'writes',
    'runs/run',
    'runs/positions',
    'limits/pinned-limits',
    'dead-letters/repair',
    'dead-letters/dead-letter-groups',
    'insights/counts',
    'insights/stored-counts',
    'alerts/alert',
    'alerts/alert-settings',
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
  { area: 'everstep/src/stores/sqlite', may: [...STORE_MAY, ...SHARED_STORE, NODE], because: 'a store depends on no other' },
  { area: 'everstep/src/stores/postgres', may: [...STORE_MAY, ...SHARED_STORE, 'pg', NODE], because: 'as for SQLite' },
  ...SHARED_STORE.map((area) => ({ area, may: [...STORE_MAY, ...SHARED_STORE], because: 'every store uses the same' })),
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
    area: 'everstep/src/metrics',
    may: [`types ${ENGINE}`, PORTS, 'prom-client', NODE],
    because: 'the service is observed at its ports',
  },
  {
    area: 'everstep/src/tracing',
    may: [
      ...[`types ${ENGINE}`, PORTS, 'types everstep/src/config/tracing-settings'],
      ...['everstep/src/metrics/observed-calls', 'everstep/src/step-calls/version', PROTOCOL, 'undici', NODE],
    ],
    because: 'as for metrics',
  },
  {
    area: 'everstep/src/worker-connections',
    may: [`types ${ENGINE}`, PORTS, ANSWERS, LIMITS_FILE, ...inEverstep('dialects'), PROTOCOL],
    because: 'the frames of workers do not depend on the socket that carries them',
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
      ...inEverstep('answers/header-names', 'answers/reported-error'),
      ...inEverstep('fairness', 'secrets/key-ring', 'sign-in', 'audit', 'worker-connections'),
      ...['@everstep/sdk/protocol', 'fastify', 'typebox', 'pino', 'jose', 'ajv', 'ws', NODE],
    ],
    because: 'the API uses the service through its interface, whatever runtime or store is behind it',
  },
  {
    area: 'everstep/src/contract',
    may: [LIMITS_FILE, LOG_LEVELS, `types ${ENGINE}`, `types ${PORTS}/stores/filters`, 'typebox', PROTOCOL],
    because: 'every side relies on the contract, so it depends on none of them',
  },
  {
    area: 'everstep/src/dialects',
    may: [`types ${ENGINE}`, `${ENGINE}/failures`, `types ${PORTS}`, ANSWERS, LIMITS_FILE, PROTOCOL],
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
    may: [
      PROTOCOL,
      `types ${PORTS}`,
      ...inEverstep('bootstrap', 'secrets', 'config/secret-keys', 'stores/sqlite'),
      `types ${CONSISTENCY}`,
      NODE,
    ],
    because: 'a backup is of the embedded store, whichever side requests it',
  },
  {
    area: 'everstep/src/store-copy',
    may: [...inEverstep('backup', 'stores/sqlite', 'stores/postgres'), NODE],
    because: 'only code that copies one store to another knows both',
  },
  {
    area: 'everstep/src/simulation',
    may: [
      ...[PORTS, ENGINE, LIMITS_FILE, ...inEverstep('clock', 'runtime', 'stores', 'worker-connections')],
      ...['@everstep/sdk', 'sdk/dist/worker', 'types sdk/dist/endpoint', 'sdk/dist/testing/step-history.fixture', PROTOCOL, NODE],
    ],
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
    may: [
      ...inEverstep('backup', 'cli', 'config', 'step-calls/version', 'stores/postgres/storage/consistency'),
      ...[`types ${CONSISTENCY}`, 'commander', NODE],
    ],
    because: 'a backup is made where the store is, even if no service runs',
  },
  {
    area: 'everstep/src/cli/doctor/store-checks',
    may: inEverstep(
      'backup/contents',
      'bootstrap',
      'cli',
      'stores/postgres/storage/examination',
      'stores/sqlite/connection',
    ).concat(NODE),
    because: 'the store is examined where it is, even if no service runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/store',
    may: [...inEverstep('cli', 'config', 'stores/postgres/sharding/administration'), 'commander', NODE],
    because: 'the tables of a store are distributed while no service runs',
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
    may: [
      '@everstep/sdk',
      '@everstep/example-guides',
      ...inEverstep('cli/testing'),
      'undici',
      'playwright-core',
      'axe-core',
      NODE,
    ],
    because: 'end-to-end tests work from outside; the examples of the guides are apps like those of users',
  },
  {
    area: 'everstep/src/architecture',
    may: ['rolldown', NODE],
    because: 'these tests only read sources',
  },
  {
    area: 'everstep/src/documentation',
    may: [...inEverstep('cli', 'architecture', 'metrics/definitions'), 'commander', 'rolldown', NODE],
    because: 'the documentation is compared with the program; this area contains only tests',
  },
  {
    area: 'everstep/src/wiring',
    may: ['everstep/src', 'pino', NODE],
    because: 'only the wiring knows which store, transport and API are used',
  },
  {
    area: 'everstep/src/main',
    may: ['everstep/src', 'pino', PROTOCOL, NODE],
    because: 'main is the only file that knows the order in which the parts are made',
  },
  { area: 'sdk/src', may: [NODE], because: "the SDK adds no dependency to the user's app" },
  {
    area: 'sdk/src/opentelemetry',
    may: ['sdk/src', '@opentelemetry/api'],
    because: 'only apps that are traced install this package',
  },
  {
    area: 'sdk/src/protocol',
    may: [
      'bounded-json',
      'failures/error-frame',
      'failures/stack-frames',
      'journal-digest',
      'step-protocol',
      'trace-context',
      'worker/frames',
      'worker/worker-url',
    ].map((file) => `sdk/src/${file}`),
    because: 'the protocol does not depend on either side',
  },
  { area: 'sdk/src/failures/error-frame', may: [], because: 'both sides send and read errors' },
  { area: 'sdk/src/failures/stack-frames', may: ['types sdk/src/failures/error-frame'], because: 'both sides read stacks' },
  {
    area: 'sdk/src/step-protocol',
    may: ['types sdk/src/failures/error-frame', 'types sdk/src/trace-context'],
    because: 'both sides send and read these frames',
  },
  { area: 'sdk/src/trace-context', may: [], because: 'both sides read and write these headers' },
  { area: 'sdk/src/worker/frames', may: ['types sdk/src/step-protocol'], because: 'both sides send and read these frames' },
  { area: 'sdk/src/worker/worker-url', may: [], because: 'both sides read these URLs' },
  { area: 'sdk/src/journal-digest', may: [], because: 'both sides of the protocol compute it' },
  { area: 'sdk/src/bounded-json', may: [], because: 'both sides of the protocol parse with it' },
  {
    area: 'dashboard/src',
    may: [
      'types everstep/src/contract',
      'everstep/dist/contract/filters/dead-letter-filters',
      'everstep/dist/contract/filters/run-filters',
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

/** The files of the HTTP API that see a whole store: they take it apart for the handlers. */
const OPENS_STORE = ['everstep/src/http-api/index', 'everstep/src/http-api/read-models/reads'];

function directionProblems(source: Source): readonly string[] {
  const { path } = source;
  const module = moduleOf(path).replace(/\.(test|fixture|bench)$/, '');
  const rule = DIRECTIONS.filter(({ area }) => below(module, area)).sort((a, b) => b.area.length - a.area.length)[0];
  if (!rule) return [`${path}: no rule says what this area may import; add it to DIRECTIONS`];
  const allowed = isTest(path) ? [...rule.may, ...TESTS_MAY, ...(path.startsWith('sdk/') ? ['sdk/src'] : [])] : rule.may;
  return importsOf(source).flatMap(({ target, names, typesOnly }) => {
    const ok =
      below(target, rule.area) ||
      allowed.some((entry) => {
        if (entry === NODE) return target.startsWith('node:');
        if (entry.startsWith('types ')) return typesOnly && below(target, entry.slice('types '.length));
        return below(target, entry);
      });
    const takesStore = target === `${PORTS}/stores/store` && names.includes('Store');
    if (takesStore && below(module, 'everstep/src/http-api') && !isTest(path) && !OPENS_STORE.includes(module))
      return [`${path}: imports a whole store; a handler gets services and reads`];
    if (isTest(target) && !isTest(path)) return [`${path}: imports ${target}, which is only for tests`];
    return ok ? [] : [`${path}: imports ${typesOnly ? 'types of ' : ''}${target}, but ${rule.because}`];
  });
}

/** Returns a way from a source back to itself for each group of sources that import each other. */
function cycles(sources: readonly Source[]): readonly string[] {
  const targets = new Map(sources.map((source) => [moduleOf(source.path), importsOf(source).map(({ target }) => target)]));
  /** Those that import none of the rest are in no cycle. */
  for (let before = Number.POSITIVE_INFINITY; targets.size < before; ) {
    before = targets.size;
    for (const [module, imported] of targets) if (!imported.some((target) => targets.has(target))) targets.delete(module);
  }
  const found: string[] = [];
  for (const start of targets.keys()) {
    const ways = new Map([[start, [start]]]);
    for (const [module, way] of ways) {
      for (const target of targets.get(module) ?? []) if (!ways.has(target)) ways.set(target, [...way, target]);
      if (!targets.get(module)?.includes(start)) continue;
      found.push([...way, start].join(' → '));
      for (const one of way) targets.delete(one);
      break;
    }
  }
  return found;
}

/** Generated types describe one document, whose schemas refer to each other. */
const isGenerated = (path: string): boolean => path.includes('/generated/');

const SOURCES = readSources(/\.tsx?$/);

test('every import follows the direction of its area', () => {
  assert.ok(SOURCES.length > 50, 'the sources were not found');
  assert.deepEqual(SOURCES.flatMap(directionProblems), []);
});

test('no import leads back to the source that it started from, types included', () => {
  assert.deepEqual(cycles(SOURCES.filter(({ path }) => !isGenerated(path))), []);
});

test('every area in the table exists', () => {
  const modules = SOURCES.map(({ path }) => moduleOf(path));
  const missing = DIRECTIONS.filter(({ area }) => !modules.some((module) => below(module, area)));
  assert.deepEqual(missing, []);
});

test('detects a cycle', () => {
  const a: Source = { path: 'x/a.ts', text: "import { b } from './b.js';" };
  const b: Source = { path: 'x/b.ts', text: "import type { C } from './c.js';\nimport 'node:fs';" };
  const c: Source = { path: 'x/c.ts', text: "export type { A } from './a.js';" };
  const d: Source = { path: 'x/d.ts', text: "import { a } from './a.js';" };
  assert.deepEqual(cycles([d, a, b, c]), ['x/a → x/b → x/c → x/a']);
  assert.deepEqual(cycles([d, a, b]), []);
});

test('detects an import against its direction', async (t) => {
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
    ['everstep/src/http-api/x.ts', "import type { RunRecord, Store } from '../ports/stores/store.js';", /imports a whole store/],
    ['everstep/src/http-api/index.ts', "import type { Store } from '../ports/stores/store.js';", null],
    ['everstep/src/dialects/x.ts', "import { a } from '../http-api/a.js';", /imports everstep\/src\/http-api\/a, but a dialect/],
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
  ];
  for (const [path, text, problem] of table) {
    await t.test(`${path}: ${text.trim().slice(0, 60)}`, () => {
      const problems = directionProblems({ path, text });
      if (problem === null) assert.deepEqual(problems, []);
      else assert.match(problems.join('\n'), problem);
    });
  }
});
