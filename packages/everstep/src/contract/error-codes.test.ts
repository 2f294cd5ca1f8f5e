import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ApiError, ERROR_CODES, type ErrorCode } from './error-codes.js';

const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...rest] = section.split('\n');
      return [title, rest.join('\n').trim()] as const;
    }),
);

test('docs/errors.md has exactly one section for each error code, with its status', () => {
  const expected = Object.entries(ERROR_CODES).map(([code, { status }]) => `${code} (${status})`);
  assert.deepEqual([...sections.keys()].toSorted(), expected.toSorted());
});

test('each section starts with the meaning of the code and says how to fix it, and the table lists the code', () => {
  for (const [code, { status, about }] of Object.entries(ERROR_CODES)) {
    const section = sections.get(`${code} (${status})`) ?? '';
    assert.ok(section.replace(/\s+/g, ' ').startsWith(about), `${code}: ${about}`);
    assert.match(section, /^\*\*Fix:\*\* /m, `${code} says how to fix it`);
    assert.ok(page.includes(`| [\`${code}\`](#${code}-${status}) | ${status} | ${about} |`), `the table lists ${code}`);
  }
});

test('an API error has the status of its code', () => {
  const code: ErrorCode = 'run-id-taken';
  const error = new ApiError(code, 'taken', { 'retry-after': '1' });
  assert.deepEqual([error.status, error.code, error.message], [409, 'run-id-taken', 'taken']);
});
