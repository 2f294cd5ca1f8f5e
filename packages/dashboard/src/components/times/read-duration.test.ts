import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationText } from './formats.js';
import { readDuration } from './read-duration.js';

test('reads durations with units, and numbers as seconds', () => {
  assert.deepEqual(
    ['30', '30s', '2 h', '1d12h', '250ms', '1M', '90 sec', '1.5h', '2.5'].map(readDuration),
    [30_000, 30_000, 7_200_000, 129_600_000, 250, 60_000, 90_000, 5_400_000, 2_500],
  );
});

test('reads durations as the dashboard shows them', () => {
  for (const ms of [250, 2_500, 59_000, 300_000, 200_000, 14_700_000, 183_600_000])
    assert.equal(readDuration(durationText(ms)), ms, durationText(ms));
});

test('other texts are invalid', () => {
  for (const text of ['', 'soon', '1x', 's', '-5s', '1.5.2h', '1mins', '1,5h', '9999999999s'])
    assert.equal(readDuration(text), undefined, text);
});
