import assert from 'node:assert/strict';
import { test } from 'node:test';
import { regexOf } from './filter-sql.js';

const GLOBS: readonly (readonly [pattern: string, regex: string])[] = [
  ['*in?', '^(?:.*in.)$'],
  ['a.b(c)|{d}$+\\', '^(?:a\\.b\\(c\\)\\|\\{d\\}\\$\\+\\\\)$'],
  ['[a-c]x[^0-9]', '^(?:[a-c]x[^0-9])$'],
  ['[]a]', '^(?:[\\]a])$'],
  ['[[:x]', '^(?:[\\[:x])$'],
];

test('a pattern becomes a regular expression with exactly the same meaning', () => {
  assert.deepEqual(
    GLOBS.map(([pattern]) => [pattern, regexOf(pattern)]),
    GLOBS,
  );
});
