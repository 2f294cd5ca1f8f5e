import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countByInterval, intervalsOf } from './intervals.js';

test('intervals have round lengths and contain both times', () => {
  const now = Date.UTC(2026, 10, 23, 12, 34, 56, 789);
  for (const lengthMs of [0, 1, 999, 59_999, 3_600_000, 86_400_000, 90 * 86_400_000, now]) {
    const { from, to, intervalMs } = intervalsOf(now - lengthMs, now);
    assert.ok(from <= now - lengthMs && to > now, `${lengthMs} ms`);
    assert.ok(from % intervalMs === 0 && to % intervalMs === 0);
    assert.ok((to - from) / intervalMs <= 120, `${(to - from) / intervalMs} intervals`);
  }
  assert.equal(intervalsOf(now - 3_600_000, now).intervalMs, 60_000);
});

test('each time is counted in its interval', () => {
  const intervals = { from: 1_000, to: 4_000, intervalMs: 1_000 };
  const times = [999, 1_000, 1_999, 3_999, 4_000].map((at) => [at, 2] as const);
  assert.deepEqual(countByInterval(intervals, times), [4, 0, 2]);
});
