import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roundUp, roundUpDuration } from './axis.js';

test('the top of an axis is a round number that is not below the values', () => {
  assert.deepEqual([0, 3, 10, 11, 24, 26, 101, 999].map(roundUp), [1, 3, 10, 20, 25, 50, 200, 1000]);
});

test('the top of a duration axis is round in the unit that it is shown in', () => {
  const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];
  assert.deepEqual([0, 130, 1_200, 42_000, 61_000, 25 * minute, 3.5 * hour, 36 * hour].map(roundUpDuration), [
    1,
    200,
    2 * second,
    50 * second,
    2 * minute,
    25 * minute,
    4 * hour,
    2 * day,
  ]);
});
