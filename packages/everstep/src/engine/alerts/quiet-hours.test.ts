import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterQuietHours, isTimeZone } from './quiet-hours.js';

const at = (text: string): number => Date.parse(text);

test('a notice waits for the end of the quiet hours, in their time zone', () => {
  const night = { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' };
  const table: readonly (readonly [at: string, until: string])[] = [
    ['2026-11-23T20:59:59Z', '2026-11-23T20:59:59Z'],
    ['2026-11-23T21:00:30Z', '2026-11-24T06:00:00Z'],
    ['2026-11-24T05:59:59Z', '2026-11-24T06:00:00Z'],
    ['2026-11-24T06:00:00Z', '2026-11-24T06:00:00Z'],
    // The clocks go forward in the night of the first row, and back in that of the second.
    ['2026-03-28T22:00:00Z', '2026-03-29T05:00:00Z'],
    ['2026-10-24T21:00:00Z', '2026-10-25T06:00:00Z'],
  ];
  for (const [from, until] of table) assert.equal(afterQuietHours(night, at(from)), at(until), from);
  const noon = { from: '12:00', to: '13:00', timeZone: 'UTC' };
  assert.equal(afterQuietHours(noon, at('2026-11-23T12:30:00Z')), at('2026-11-23T13:00:00Z'));
  assert.equal(afterQuietHours(undefined, 5), 5);
  assert.equal(afterQuietHours({ ...noon, timeZone: 'Mars/Base' }, at('2026-11-23T12:30:00Z')), at('2026-11-23T12:30:00Z'));
});

test('time zones are checked', () => {
  assert.deepEqual([isTimeZone('America/New_York'), isTimeZone('Mars/Base')], [true, false]);
});
