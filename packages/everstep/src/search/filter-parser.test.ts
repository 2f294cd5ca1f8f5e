import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../config/limits.js';
import { parseFilter } from './filter-parser.js';

const field = (...steps: (string | number)[]) => ({ of: 'content', steps }) as const;
const is = (name: string, value: string | number | boolean) =>
  ({ kind: 'compare', field: field(name), operator: '=', value }) as const;

test('a filter is read as its conditions say', async (t) => {
  const table: readonly (readonly [source: string, filter: object])[] = [
    ["a = 'x'", is('a', 'x')],
    ['a = "x"', is('a', 'x')],
    ["a = 'it''s'", is('a', "it's")],
    ["a=''", is('a', '')],
    ['a = -1.5e2', is('a', -150)],
    ['a = TRUE', is('a', true)],
    ['  a != 1 ', { kind: 'compare', field: field('a'), operator: '!=', value: 1 }],
    ['a <= 1', { kind: 'compare', field: field('a'), operator: '<=', value: 1 }],
    ["@metadata.a.b-c > 'x'", { kind: 'compare', field: { of: 'metadata', steps: ['a', 'b-c'] }, operator: '>', value: 'x' }],
    ['a[0].b[#-1] < 2', { kind: 'compare', field: field('a', 0, 'b', -1), operator: '<', value: 2 }],
    ["a GLOB 'x*'", { kind: 'glob', field: field('a'), not: false, pattern: 'x*' }],
    ["a not glob 'x*'", { kind: 'glob', field: field('a'), not: true, pattern: 'x*' }],
    ["a IN ('x', 2, false)", { kind: 'in', field: field('a'), not: false, values: ['x', 2, false] }],
    ['a NOT IN (1)', { kind: 'in', field: field('a'), not: true, values: [1] }],
    ["a CONTAINS 'x'", { kind: 'contains', field: field('a'), not: false, value: 'x' }],
    ['a NOT CONTAINS 1', { kind: 'contains', field: field('a'), not: true, value: 1 }],
    ['HAS FIELD a', { kind: 'has', field: field('a'), not: false }],
    ['has not field a.b', { kind: 'has', field: field('a', 'b'), not: true }],
    ['has = 1', is('has', 1)],
    ['android = 1 AND order = 2', { kind: 'and', parts: [is('android', 1), is('order', 2)] }],
    ['a = 1 OR b = 2 AND c = 3', { kind: 'or', parts: [is('a', 1), { kind: 'and', parts: [is('b', 2), is('c', 3)] }] }],
    ['(a = 1 or b = 2) and c = 3', { kind: 'and', parts: [{ kind: 'or', parts: [is('a', 1), is('b', 2)] }, is('c', 3)] }],
    ['((a = 1))', is('a', 1)],
  ];
  for (const [source, filter] of table) await t.test(source, () => assert.deepEqual(parseFilter(source), { ok: true, filter }));
});

test('what cannot be read is told with its place', async (t) => {
  const table: readonly (readonly [source: string, message: RegExp])[] = [
    ['', /it ends where the name of a field is expected/],
    ['a', /it ends where an operator/],
    ['a =', /it ends where a number, a text/],
    ['a = b', /at character 4: a number, a text/],
    ["a = 'x", /at character 4 stands nothing/],
    ['a = 1 b = 2', /at character 6: AND, OR or the end/],
    ['a = 1 AND', /it ends where the name of a field/],
    ['(a = 1', /it ends where "\)", AND or OR/],
    ['a IN ()', /at character 7: a number/],
    ['a IN (1', /"," or "\)" is expected/],
    ['a NOT = 1', /GLOB, IN or CONTAINS is expected/],
    ['a GLOB 1', /a pattern is a text/],
    ["a GLOB '*****'", /4 times \* at most/],
    ['@other.a = 1', /the only field that begins with @/],
    ['@metadata = 1', /the only field that begins with @/],
    ['a[#-0] = 1', /no position #-0/],
    ['a = 1; DROP TABLE x', /at character 6 stands nothing/],
    ['a = 1e', /stands nothing/],
    ["a = 1 AND OR b = 'x'", /operator/],
    [`${'('.repeat(LIMITS.maxSearchFilterDepth + 1)}a = 1`, /deeper than 20/],
    [`a IN (${Array.from({ length: 101 }, () => 1).join(',')})`, /more than 100 conditions/],
    ['a'.repeat(LIMITS.maxSearchFilterLength + 1), /longer than 4096/],
  ];
  for (const [source, message] of table) {
    await t.test(source.slice(0, 40), () => {
      const parsed = parseFilter(source);
      assert.match(parsed.ok ? 'it was read' : parsed.message, message);
    });
  }
});
