import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathAfterSignIn } from './return-path.js';

test('returns to the requested page after the sign-in', () => {
  assert.equal(pathAfterSignIn('/q/q_1/runs?state=RUN_FAILED'), '/q/q_1/runs?state=RUN_FAILED');
});

test('never returns to another site or to the sign-in page', () => {
  for (const wanted of [
    undefined,
    '',
    'https://example.com',
    '//example.com',
    '/\\example.com',
    '/login?to=/login',
    'javascript:alert(1)',
  ])
    assert.equal(pathAfterSignIn(wanted), '/', String(wanted));
});
