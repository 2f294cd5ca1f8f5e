import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readObject } from './read-object.js';

test('parses an object and returns null for empty text', () => {
  assert.deepEqual(readObject('{"a":1}'), { ok: true, value: { a: 1 } });
  assert.deepEqual(readObject(' '), { ok: true, value: null });
});

test('rejects text that is not an object', () => {
  for (const text of ['[1]', '"a"', '1', 'null', '{']) assert.equal(readObject(text).ok, false, text);
});
