import assert from 'node:assert/strict';
import { test } from 'node:test';
import { separatedPrefixes } from './facets.js';

const cases: readonly (readonly [string, readonly string[]])[] = [
  ['plain', []],
  ['', []],
  ['order-eu-123', ['order-', 'order-eu-']],
  ['wfr_01J', ['wfr_']],
  ['-', ['-']],
  ['a:b/c.d e', ['a:', 'a:b/', 'a:b/c.', 'a:b/c.d ']],
  ['ünïcode-☃-1', ['ünïcode-', 'ünïcode-☃-']],
  [
    '1-2-3-4-5-6-7-8-9-10',
    ['1-', '1-2-', '1-2-3-', '1-2-3-4-', '1-2-3-4-5-', '1-2-3-4-5-6-', '1-2-3-4-5-6-7-', '1-2-3-4-5-6-7-8-'],
  ],
];
for (const [id, prefixes] of cases) {
  test(`${JSON.stringify(id)} is grouped by ${JSON.stringify(prefixes)}`, () => {
    assert.deepEqual(separatedPrefixes(id), prefixes);
  });
}
