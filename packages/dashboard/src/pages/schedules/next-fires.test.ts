import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextFires } from './next-fires.js';

const NOW_MS = Date.UTC(2026, 0, 1, 12, 0, 30);
const after = (cron: string, timeZone = 'UTC', count = 2) => nextFires(cron, timeZone, { count, nowMs: NOW_MS });

test('computes the next runs of an expression with five fields', () => {
  assert.deepEqual(after('*/5 * * * *'), { ok: true, fires: [Date.UTC(2026, 0, 1, 12, 5), Date.UTC(2026, 0, 1, 12, 10)] });
});

test('the first of six fields is seconds', () => {
  assert.deepEqual(after('45 * * * * *', 'UTC', 1), { ok: true, fires: [Date.UTC(2026, 0, 1, 12, 0, 45)] });
});

test('a time zone shifts the runs', () => {
  assert.deepEqual(after('0 9 * * *', 'Asia/Tokyo', 1), { ok: true, fires: [Date.UTC(2026, 0, 2, 0, 0)] });
});

test('rejects expressions that are invalid or never fire', () => {
  for (const cron of ['', '* * *', '61 * * * *', '0 0 30 2 *']) assert.equal(after(cron).ok, false, cron);
  assert.equal(after('* * * * *', 'Nowhere/Never').ok, false);
});
