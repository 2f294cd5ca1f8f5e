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

test('docs/errors.md has a section for every code, with its status, and for nothing else', () => {
  const expected = Object.entries(ERROR_CODES).map(([code, { status }]) => `${code} (${status})`);
  assert.deepEqual([...sections.keys()].toSorted(), expected.toSorted());
});

test('each section says what the code is about and what to do', () => {
  for (const [code, { status, about }] of Object.entries(ERROR_CODES)) {
    const section = sections.get(`${code} (${status})`) ?? '';
    assert.ok(section.replace(/\s+/g, ' ').startsWith(about), `${code}: ${about}`);
    assert.ok(section.length > about.length + 20, `${code} says what to do`);
  }
});

test('an error has the status of its code', () => {
  const code: ErrorCode = 'run-id-taken';
  const error = new ApiError(code, 'taken', { 'retry-after': '1' });
  assert.deepEqual([error.status, error.code, error.message], [409, 'run-id-taken', 'taken']);
});
