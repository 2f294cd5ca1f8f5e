import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRetryDelay, retryDelayMs } from './retry-delay.js';

test('the default delay before the n-th retry is e^(2.5 n) seconds, at most a day', () => {
  const expected = [12_182, 148_413, 1_808_042, 22_026_466, 86_400_000, 86_400_000];
  assert.deepEqual(
    expected.map((_, retried) => retryDelayMs(null, retried)),
    expected,
  );
});

for (const [source, retried, expected] of [
  ['1000', 0, 1000],
  ['1000 * (1 + retried)', 2, 3000],
  ['pow(2, retried) * 100', 3, 800],
  ['min(5000, 1000 * exp(retried))', 9, 5000],
  ['max(retried, 3) % 2', 0, 1],
  ['round(sqrt(16) / 3 * 100)', 0, 133],
  ['floor(1.9) + ceil(1.1) + abs(-3)', 0, 6],
  ['-5000', 0, 0],
  ['1e12', 0, 86_400_000],
  ['100 / (2 - retried)', 2, 86_400_000],
] as const) {
  test(`"${source}" is ${expected} ms after ${retried} retries`, () => {
    assert.ok(parseRetryDelay(source).ok);
    assert.equal(retryDelayMs(source, retried), expected);
  });
}

for (const [source, expectedMessage] of [
  ['', /empty/],
  ['   ', /empty/],
  ['1000 *', /Expected expression/],
  ['process.exit(1)', /unknown function/],
  ['retries * 2', /unknown name "retries"/],
  ['retried.constructor', /only arithmetic/],
  ['constructor(1)', /unknown function/],
  ['1 ? 2 : 3', /only arithmetic/],
  ['2 ** 3', /not allowed/],
  ['1 == 1', /not allowed/],
  ['!retried', /not allowed/],
  ['"a"', /only numbers/],
  ['pow(2)', /pow requires 2 arguments, not 1/],
  ['1; 2', /only arithmetic/],
  ['1/0', /no finite value/],
  [`${'1+'.repeat(400)}1`, /longer than/],
] as const) {
  test(`rejects the expression "${source.slice(0, 30)}" with a clear message`, () => {
    const parsed = parseRetryDelay(source);
    assert.ok(!parsed.ok);
    assert.match(parsed.message, expectedMessage);
  });
}

test('the default delay applies if the value of the expression is not a number, so retries never form a hot loop', () => {
  assert.equal(retryDelayMs('sqrt(1 - retried)', 2), retryDelayMs(null, 2));
});
