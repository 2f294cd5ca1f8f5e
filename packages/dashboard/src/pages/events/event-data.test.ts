import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEventData } from './event-data.js';

test('empty text is an event without data', () => {
  assert.deepEqual(readEventData('  \n'), { ok: true, body: undefined });
});

test('JSON is sent as typed', () => {
  assert.deepEqual(readEventData('{ "a": 1 }'), { ok: true, body: '{ "a": 1 }' });
  assert.deepEqual(readEventData('"paid"'), { ok: true, body: '"paid"' });
});

test('text that is not JSON is rejected with a hint', () => {
  const read = readEventData('paid');
  assert.equal(read.ok, false);
  assert.match(read.ok ? '' : read.problem, /Invalid JSON.*in quotes/);
});
