import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathAfterLogin } from './return-path.js';

test('after the login comes the page that was wanted', () => {
  assert.equal(pathAfterLogin('/q/q_1/runs?state=RUN_FAILED'), '/q/q_1/runs?state=RUN_FAILED');
});

test('after the login nobody is sent to another site, or to the login', () => {
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
