import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEventData } from './json-problem.js';

test('nothing typed is an event without data', () => {
  assert.deepEqual(readEventData('  \n'), { ok: true, body: undefined });
});

test('JSON is sent as it was typed', () => {
  assert.deepEqual(readEventData('{ "a": 1 }'), { ok: true, body: '{ "a": 1 }' });
  assert.deepEqual(readEventData('"paid"'), { ok: true, body: '"paid"' });
});

test('what is no JSON is refused with what to do', () => {
  const read = readEventData('paid');
  assert.equal(read.ok, false);
  assert.match(read.ok ? '' : read.why, /no JSON.*in quotes/);
});
