import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitTimes } from './times-in-text.js';

test('splits a sentence into texts and times', () => {
  assert.deepEqual(splitTimes('no time'), ['no time']);
  assert.deepEqual(splitTimes('until 2026-11-22T01:02:03.004Z, then later'), [
    'until ',
    Date.UTC(2026, 10, 22, 1, 2, 3, 4),
    ', then later',
  ]);
});

test('a date that does not exist stays text', () => {
  for (const text of ['at 2026-13-01T00:00:00Z', 'at 2026-02-30T00:00:00Z', 'at 2026-01-01T25:00:00Z'])
    assert.deepEqual(splitTimes(text), [text]);
});

test('a quoted text, such as an id, stays unchanged', () => {
  const quoted = 'the event "approval/2026-11-22T01:02:03Z" and "a \\"2026-11-22T01:02:03Z\\""';
  assert.deepEqual(splitTimes(quoted), [quoted]);
  assert.deepEqual(splitTimes('a single " before 2026-11-22T01:02:03Z'), [
    'a single " before ',
    Date.UTC(2026, 10, 22, 1, 2, 3),
    '',
  ]);
});
