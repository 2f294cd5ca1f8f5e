import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_DIALECT, DIALECTS, dialectOf } from './index.js';

test('a request without any prefixed header speaks the native dialect', () => {
  assert.equal(dialectOf({ host: 'localhost', 'content-type': 'text/plain' }), DIALECTS.native);
  assert.equal(dialectOf({}), DEFAULT_DIALECT);
});

test('the native dialect spells headers with its prefix, and knows them as Node receives them', () => {
  assert.equal(DIALECTS.native.spell('Retry-Delay'), 'Svc-Retry-Delay');
  assert.equal(DIALECTS.native.receivedPrefix, 'svc-');
  assert.equal(DIALECTS.native.tokenParameter, 'svc_token');
});

test('every dialect is filed under its own name', () => {
  for (const [name, dialect] of Object.entries(DIALECTS)) assert.equal(dialect.name, name);
});
