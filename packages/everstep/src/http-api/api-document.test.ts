import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentOnce } from './api-document.js';

test('a document is made and written as text once, however often it is asked for', () => {
  let made = 0;
  const document = documentOnce((version) => ({ made: ++made, version }));
  const first = document('1');
  assert.equal(document('1'), first);
  assert.equal(String(first.content), '{"made":1,"version":"1"}');
  assert.equal(String(document('2').content), '{"made":2,"version":"2"}');
});
