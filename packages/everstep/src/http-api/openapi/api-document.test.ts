import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cacheDocument } from './api-document.js';

test('creates and serializes an OpenAPI document once, however often it is requested', () => {
  let made = 0;
  const document = cacheDocument((version) => ({ made: ++made, version }));
  const first = document('1');
  assert.equal(document('1'), first);
  assert.equal(String(first.content), '{"made":1,"version":"1"}');
  assert.equal(String(document('2').content), '{"made":2,"version":"2"}');
});
