import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesText, countText, durationText, encryptedText, exactTime, quantity, relativeText, shortTime } from './formats.js';

test('formats durations with one or two units', () => {
  const shown = [0, 999, 1000, 2500, 59_999, 60_000, 200_000, 3_600_000, 14_700_000, 86_400_000, 183_600_000].map(durationText);
  assert.deepEqual(shown, [
    '0 ms',
    '999 ms',
    '1 s',
    '2.5 s',
    '59 s',
    '1 min',
    '3 min 20 s',
    '1 h',
    '4 h 5 min',
    '1 d',
    '2 d 3 h',
  ]);
});

test('formats times in UTC on request', () => {
  assert.equal(exactTime(Date.UTC(2026, 10, 22, 1, 2, 3), 'utc'), '2026-11-22 01:02:03 UTC');
});

test('omits the date of a time that is today', () => {
  const noon = new Date(2026, 10, 22, 12, 0, 0).getTime();
  assert.equal(shortTime(noon, noon + 1000), '12:00:00');
  assert.equal(shortTime(noon - 86_400_000, noon), '11-21 12:00:00');
});

test('formats times relative to now', () => {
  const now = Date.UTC(2026, 10, 22);
  assert.deepEqual(
    [now, now - 5 * 60_000 - 7_000, now + 3 * 3_600_000, now - 30_000, now + 47 * 3_600_000].map((at) => relativeText(at, now)),
    ['just now', '5 min ago', 'in 3 h', '30 s ago', 'in 1 d 23 h'],
  );
});

test('formats counts and sizes', () => {
  assert.equal(countText(1234567), '1,234,567');
  assert.deepEqual([quantity(1, 'run'), quantity(0, 'run'), quantity(2, 'entry', 'entries')], ['1 run', '0 runs', '2 entries']);
  assert.deepEqual([512, 1500, 12_000, 3_000_000].map(bytesText), ['512 B', '1.5 KB', '12 KB', '3 MB']);
});

test('names the key of an encrypted value', () => {
  assert.equal(encryptedText('{"$encrypted":"v1.0a1b2c3d4e5f.mVh0-_"}'), 'Encrypted value (key 0a1b2c3d4e5f)');
  assert.equal(encryptedText('{"$encrypted":"of another cipher"}\n'), 'Encrypted value');
  for (const text of ['', '{"$encrypted":1}', '{"$encrypted":"a","b":1}', '"v1.0a1b2c3d4e5f.mVh0"'])
    assert.equal(encryptedText(text), null);
});
