import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formOf, type Settings, settingsOf, shortenedStates } from './settings-form.js';

const forever = { maxAgeMs: null, maxCount: null };
const settings: Settings = {
  breaker: { enabled: true, failures: 10, probeEveryMs: 2_500 },
  retention: { succeeded: { maxAgeMs: 129_600_000, maxCount: 5 }, failed: forever, canceled: forever, deadLetter: forever },
};

test('unchanged fields are sent unchanged', () => {
  assert.deepEqual(settingsOf(formOf(settings)), settings);
});

test('a retention that is not a short fraction of a day is sent unchanged', () => {
  for (const maxAgeMs of [1, 1_000, 3_600_000, 86_400_001, 864_000_000, 100 * 365 * 86_400_000 + 1]) {
    const odd = { ...settings, retention: { ...settings.retention, failed: { maxAgeMs, maxCount: null } } };
    assert.deepEqual(settingsOf(formOf(odd)), odd, String(maxAgeMs));
  }
  assert.equal(
    formOf({ ...settings, retention: { ...settings.retention, failed: { maxAgeMs: 0, maxCount: null } } }).days.failed,
    '0',
  );
});

test('days can be fractions, and an empty field means forever', () => {
  const form = formOf(settings);
  assert.equal(form.days.succeeded, '1.5');
  assert.equal(settingsOf({ ...form, days: { ...form.days, succeeded: '' } })?.retention.succeeded.maxAgeMs, null);
});

test('invalid fields are not sent', () => {
  const form = formOf(settings);
  assert.equal(settingsOf({ ...form, failures: 'ten' }), null);
  assert.equal(settingsOf({ ...form, counts: { ...form.counts, failed: '-1' } }), null);
  assert.equal(settingsOf({ ...form, probeSeconds: '' }), null);
});

test('warns only about states that are kept for a shorter time or in smaller numbers', () => {
  const longer = { ...settings, retention: { ...settings.retention, succeeded: forever } };
  assert.deepEqual(shortenedStates(settings, longer), []);
  assert.deepEqual(shortenedStates(longer, settings), ['succeeded']);
});
