/** Checks the directions of imports: every part of the repository imports only what it may, and no sources import each other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DIRECTIONS, inEverstep, NODE, PORTS } from './architecture/directions.fixture.js';
import { importsOf, isBelow, isTest, moduleOf, readSources, type Source } from './architecture/source.fixture.js';

/** Additional imports that tests may use: harnesses, and libraries to compare with. */
const TEST_IMPORTS = [
  ...inEverstep('responses', 'simulation', 'stores', 'ports', 'engine', 'config', 'clock', 'step-calls', 'accounts', 'runtime'),
  ...inEverstep('http-api', 'contract', 'search', 'main', 'bootstrap', 'dialects', 'audit', 'mail'),
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

/** Files of the HTTP API that may import the whole store, because they split it into interfaces for the handlers. */
const OPENS_STORE = ['everstep/src/http-api/index', 'everstep/src/http-api/read-models/reads'];

function directionProblems(source: Source): readonly string[] {
  const { path } = source;
  const module = moduleOf(path).replace(/\.(test|fixture|bench)$/, '');
  const rule = DIRECTIONS.filter(({ area }) => isBelow(module, area)).sort((a, b) => b.area.length - a.area.length)[0];
  if (!rule) return [`${path}: no rule says what this area may import; add it to DIRECTIONS`];
  const allowed = isTest(path)
    ? [...rule.imports, ...TEST_IMPORTS, ...(path.startsWith('sdk/') ? ['sdk/src'] : [])]
    : rule.imports;
  return importsOf(source).flatMap(({ target, names, isTypeOnly }) => {
    const isAllowed =
      isBelow(target, rule.area) ||
      allowed.some((entry) => {
        if (entry === NODE) return target.startsWith('node:');
        if (entry.startsWith('types ')) return isTypeOnly && isBelow(target, entry.slice('types '.length));
        return isBelow(target, entry);
      });
    const importsStore = target === `${PORTS}/stores/store` && names.includes('Store');
    if (importsStore && isBelow(module, 'everstep/src/http-api') && !isTest(path) && !OPENS_STORE.includes(module))
      return [`${path}: imports a whole store; a handler gets services and reads`];
    if (isTest(target) && !isTest(path)) return [`${path}: imports ${target}, which is only for tests`];
    return isAllowed ? [] : [`${path}: imports ${isTypeOnly ? 'types of ' : ''}${target}, but ${rule.reason}`];
  });
}

/** Returns one cycle for each group of sources that import each other: the path from a source back to itself. */
function cycles(sources: readonly Source[]): readonly string[] {
  const targets = new Map(sources.map((source) => [moduleOf(source.path), importsOf(source).map(({ target }) => target)]));
  // Files that import none of the remaining files are in no cycle.
  for (let sizeBefore = Number.POSITIVE_INFINITY; targets.size < sizeBefore; ) {
    sizeBefore = targets.size;
    for (const [module, imported] of targets) if (!imported.some((target) => targets.has(target))) targets.delete(module);
  }
  const cyclePaths: string[] = [];
  for (const start of targets.keys()) {
    const pathsTo = new Map([[start, [start]]]);
    for (const [module, modulePath] of pathsTo) {
      for (const target of targets.get(module) ?? []) if (!pathsTo.has(target)) pathsTo.set(target, [...modulePath, target]);
      if (!targets.get(module)?.includes(start)) continue;
      cyclePaths.push([...modulePath, start].join(' → '));
      for (const member of modulePath) targets.delete(member);
      break;
    }
  }
  return cyclePaths;
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
  const missing = DIRECTIONS.filter(({ area }) => !modules.some((module) => isBelow(module, area)));
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
