import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planOfEntries, planOfGroups } from './plan-parameters.js';

test('a plan of no entries or groups is not a plan of all dead letters', () => {
  assert.equal(planOfEntries([]), null);
  assert.equal(planOfGroups([], { fromDate: '1000' }), null);
});

test('a plan covers the selected entries, the selected groups, or everything that matches the filters', () => {
  assert.deepEqual(planOfEntries(['dlq_1', 'dlq_2']), { dlqId: 'dlq_1,dlq_2' });
  assert.deepEqual(planOfGroups(['0123', '4567'], { fromDate: '1000' }), { fingerprint: '0123,4567', fromDate: '1000' });
  assert.deepEqual(planOfGroups(null, { fromDate: '1000' }), { fromDate: '1000' });
});
