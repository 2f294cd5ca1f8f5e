import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../config/limits.js';
import { parseFilter } from './filter-parser.js';

const field = (...steps: (string | number)[]) => ({ of: 'content', steps }) as const;
const is = (name: string, value: string | number | boolean) =>
  ({ kind: 'compare', field: field(name), operator: '=', value }) as const;

test('parses filters into conditions', async (t) => {
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

test('reports the position of a syntax error', async (t) => {
  const table: readonly (readonly [source: string, message: RegExp])[] = [
    ['', /unexpected end of the filter: expected a field name/],
    ['a', /unexpected end of the filter: expected an operator/],
    ['a =', /unexpected end of the filter: expected a number, a quoted string/],
    ['a = b', /at character 4: expected a number, a quoted string/],
    ["a = 'x", /at character 4: unexpected character/],
    ['a = 1 b = 2', /at character 6: expected AND, OR or the end/],
    ['a = 1 AND', /unexpected end of the filter: expected a field name/],
    ['(a = 1', /unexpected end of the filter: expected "\)", AND or OR/],
    ['a IN ()', /at character 7: expected a number/],
    ['a IN (1', /expected "," or "\)"/],
    ['a NOT = 1', /expected GLOB, IN or CONTAINS/],
    ['a GLOB 1', /the pattern must be a quoted string/],
    ["a GLOB '*****'", /at most 4 asterisks/],
    [
      `a GLOB '${'x'.repeat(200)}' OR b NOT GLOB '${'y'.repeat(57)}'`,
      /^invalid filter: at character 224: the GLOB patterns of a filter can have at most 256 characters together; shorten them$/,
    ],
    ['@other.a = 1', /the only field that starts with @/],
    ['@metadata = 1', /the only field that starts with @/],
    ['a[#-0] = 1', /invalid array index #-0/],
    ['a = 1; DROP TABLE x', /at character 6: unexpected character/],
    ['a = 1e', /unexpected character/],
    ["a = 1 AND OR b = 'x'", /operator/],
    [`${'('.repeat(LIMITS.maxSearchFilterDepth + 1)}a = 1`, /at most 20 levels/],
    [`a IN (${Array.from({ length: 101 }, () => 1).join(',')})`, /more than 100 conditions/],
    ['a'.repeat(LIMITS.maxSearchFilterLength + 1), /at most 4096/],
  ];
  for (const [source, message] of table) {
    await t.test(source.slice(0, 40), () => {
      const parsed = parseFilter(source);
      assert.match(parsed.ok ? 'the filter was accepted' : parsed.message, message);
    });
  }
});
