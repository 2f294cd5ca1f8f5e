import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDuration } from './read-duration.js';

test('reads durations with units, and numbers as seconds', () => {
  assert.deepEqual(
    ['30', '30s', '2 h', '1d12h', '250ms', '1M'].map(readDuration),
    [30_000, 30_000, 7_200_000, 129_600_000, 250, 60_000],
  );
});

test('other texts are invalid', () => {
  for (const text of ['', 'soon', '1x', 's', '-5s', '1.5h', '9999999999s']) assert.equal(readDuration(text), undefined, text);
});
