import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathAfterLogin } from './return-path.js';

test('returns to the requested page after login', () => {
  assert.equal(pathAfterLogin('/q/q_1/runs?state=RUN_FAILED'), '/q/q_1/runs?state=RUN_FAILED');
});

test('never returns to another site or to the login page', () => {
  for (const wanted of [
    undefined,
    '',
    'https://example.com',
    '//example.com',
    '/\\example.com',
    '/login?to=/login',
    'javascript:alert(1)',
  ])
    assert.equal(pathAfterLogin(wanted), '/', String(wanted));
});
