import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentTypeOf } from './trigger-form.js';

test('a payload is JSON if it can be parsed, and text otherwise', () => {
  assert.equal(contentTypeOf('{"id":1}'), 'application/json');
  assert.equal(contentTypeOf('{"id":1'), 'text/plain');
  assert.equal(contentTypeOf(''), null);
});
