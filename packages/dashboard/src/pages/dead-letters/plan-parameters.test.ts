import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planOfEntries } from './plan-parameters.js';

test('a plan of no entries is not a plan of all dead letters', () => {
  assert.equal(planOfEntries([]), null);
});

test('a plan covers the selected entries', () => {
  assert.deepEqual(planOfEntries(['dlq_1', 'dlq_2']), { dlqId: 'dlq_1,dlq_2' });
});
