import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainScale, shortenedScale } from './time-scale.js';

const DAY = 86_400_000;

test('a plain scale is linear and clamped to its range', () => {
  const { positionOf } = plainScale({ from: 100, to: 300 });
  assert.deepEqual([50, 100, 200, 300, 400].map(positionOf), [0, 0, 0.5, 1, 1]);
});

test('shortens a long sleep so that the work around it is visible', () => {
  const { positionOf, isShortened } = shortenedScale({ from: 0, to: DAY + 2_000 }, [
    { from: 0, to: 1_000 },
    { from: DAY + 1_000, to: DAY + 2_000 },
  ]);
  assert.equal(isShortened, true);
  assert.ok(positionOf(1_000) > 0.4, String(positionOf(1_000)));
  assert.ok(positionOf(DAY + 1_000) < 0.6, String(positionOf(DAY + 1_000)));
  assert.equal(positionOf(DAY + 2_000), 1);
});

test('a shortened scale keeps the order of times', () => {
  const { positionOf } = shortenedScale({ from: 0, to: DAY }, [
    { from: 10, to: 20 },
    { from: 15, to: 400 },
    { from: 5_000, to: 5_100 },
  ]);
  const shown = [0, 10, 15, 20, 300, 400, 2_000, 5_000, 5_050, 5_100, DAY / 2, DAY].map(positionOf);
  assert.deepEqual(
    shown,
    [...shown].sort((a, b) => a - b),
  );
  assert.equal(shown[0], 0);
  assert.equal(shown.at(-1), 1);
});

test('does not shorten a run without idle time', () => {
  assert.equal(shortenedScale({ from: 0, to: 100 }, [{ from: 0, to: 100 }]).isShortened, false);
});
