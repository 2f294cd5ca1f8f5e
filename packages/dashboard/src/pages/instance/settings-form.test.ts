import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formOf, type Settings, settingsOf, shortened } from './settings-form.js';

const forEver = { maxAgeMs: null, maxCount: null };
const settings: Settings = {
  breaker: { enabled: true, failures: 10, probeEveryMs: 2_500 },
  retention: { succeeded: { maxAgeMs: 129_600_000, maxCount: 5 }, failed: forEver, canceled: forEver, deadLetter: forEver },
};

test('what is shown and not touched is sent as it was', () => {
  assert.deepEqual(settingsOf(formOf(settings)), settings);
});

test('days may have parts, and nothing is for ever', () => {
  const form = formOf(settings);
  assert.equal(form.days.succeeded, '1.5');
  assert.equal(settingsOf({ ...form, days: { ...form.days, succeeded: '' } })?.retention.succeeded.maxAgeMs, null);
});

test('what cannot be read is not sent', () => {
  const form = formOf(settings);
  assert.equal(settingsOf({ ...form, failures: 'ten' }), null);
  assert.equal(settingsOf({ ...form, counts: { ...form.counts, failed: '-1' } }), null);
  assert.equal(settingsOf({ ...form, probeSeconds: '' }), null);
});

test('only what is kept for a shorter time, or in smaller number, is warned of', () => {
  const longer = { ...settings, retention: { ...settings.retention, succeeded: forEver } };
  assert.deepEqual(shortened(settings, longer), []);
  assert.deepEqual(shortened(longer, settings), ['succeeded']);
});
