import assert from 'node:assert/strict';
import { it } from 'node:test';
import { durationMs, instantMs } from './duration.js';

for (const [given, expected] of [
  [0, 0],
  [1.5, 1500],
  ['500ms', 500],
  ['10s', 10_000],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
  ['1d10h', 122_400_000],
  [' 3s ', 3000],
] as const) {
  it(`parses the duration ${JSON.stringify(given)} as ${expected} ms`, () => assert.equal(durationMs(given), expected));
}

for (const given of [
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  's',
  '10',
  '10 s',
  '1w',
  '-1s',
  '1s2',
  1e300,
  '999999999999999d',
  `${'9'.repeat(400)}d`,
]) {
  it(`rejects ${JSON.stringify(given).slice(0, 40)} as a duration`, () => assert.throws(() => durationMs(given), RangeError));
}

for (const [given, expected] of [
  [new Date(0), 0],
  ['2030-01-01T00:00:00Z', 1_893_456_000_000],
  [1_893_456_000_000.4, 1_893_456_000_001],
] as const) {
  it(`parses the instant ${String(given)} as ${expected}`, () => assert.equal(instantMs(given), expected));
}

for (const given of [1_893_456_000, Number.NaN, 'tomorrow', new Date('x')]) {
  it(`rejects ${String(given)} as an instant`, () => assert.throws(() => instantMs(given), RangeError));
}
