import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentTypeOf, isWorkflowUrl } from './trigger-form.js';

test('a payload is JSON if it can be parsed, and text otherwise', () => {
  assert.equal(contentTypeOf('{"id":1}'), 'application/json');
  assert.equal(contentTypeOf('{"id":1'), 'text/plain');
  assert.equal(contentTypeOf(''), null);
});

test('workflows have http, https and worker URLs', () => {
  for (const url of ['http://127.0.0.1:3000/order', ' https://shop.example ', 'worker://shop/order'])
    assert.ok(isWorkflowUrl(url), url);
  for (const url of ['', 'order', 'ftp://shop.example', 'https://']) assert.ok(!isWorkflowUrl(url), url);
});
