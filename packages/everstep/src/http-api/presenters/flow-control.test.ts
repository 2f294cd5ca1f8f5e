import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlowControlStatus } from '../../runtime/services/workflow-service.js';
import { presentFlowControl } from './flow-control.js';

const BARE: FlowControlStatus = {
  key: 'k',
  parallelism: null,
  rate: null,
  periodMs: null,
  paused: false,
  parallelismPinned: false,
  ratePinned: false,
  window: null,
  waiting: 0,
  inFlight: 0,
};

test('omits limits that a key does not have', () => {
  assert.deepEqual(presentFlowControl({ ...BARE, waiting: 3, paused: true, parallelismPinned: true, ratePinned: true }, 0), {
    flowControlKey: 'k',
    waitListSize: 3,
    parallelismCount: 0,
    isPaused: true,
    isPinnedParallelism: false,
    isPinnedRate: false,
  });
});

test('shows limits with their usage, in seconds, and zero after the period has ended', () => {
  const limited: FlowControlStatus = {
    ...BARE,
    parallelism: 5,
    inFlight: 2,
    rate: 10,
    periodMs: 60_000,
    parallelismPinned: true,
    ratePinned: true,
    window: { startedAt: 1_000_500, granted: 7 },
  };
  const expected = {
    flowControlKey: 'k',
    waitListSize: 0,
    parallelismMax: 5,
    parallelismCount: 2,
    rateMax: 10,
    rateCount: 7,
    ratePeriod: 60,
    ratePeriodStart: 1_000,
    isPaused: false,
    isPinnedParallelism: true,
    isPinnedRate: true,
  };
  assert.deepEqual(presentFlowControl(limited, 1_060_499), expected);
  const { ratePeriodStart: _start, ...over } = expected;
  assert.deepEqual(presentFlowControl(limited, 1_060_500), { ...over, rateCount: 0 });
});
