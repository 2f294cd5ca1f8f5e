import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readObject } from './read-object.js';

test('an object is read, and nothing is none', () => {
  assert.deepEqual(readObject('{"a":1}'), { ok: true, value: { a: 1 } });
  assert.deepEqual(readObject(' '), { ok: true, value: null });
});

test('what is no object is refused in words', () => {
  for (const text of ['[1]', '"a"', '1', 'null', '{']) assert.equal(readObject(text).ok, false, text);
});
