import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatherWhenBusy } from './busy.js';

test('batches wait for more only while the process has been busy for a moment, and not because it was long ago', () => {
  let time = 0;
  let utilization = 1;
  const gatherMs = gatherWhenBusy(
    10,
    () => time,
    () => ({ utilization, active: 0, idle: 0 }),
  );
  const after = (ms: number): number => {
    time += ms;
    return gatherMs();
  };
  assert.equal(after(99), 0, 'nothing is known yet');
  assert.equal(after(1), 10);
  utilization = 0.5;
  assert.equal(after(50), 10, 'it is looked at ten times a second');
  assert.equal(after(50), 0);
  utilization = 1;
  assert.equal(after(3_000), 0, 'what it did in so long says nothing of now');
  assert.equal(after(100), 10);
});
