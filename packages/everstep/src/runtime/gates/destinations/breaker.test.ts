import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BreakerSettings } from '../../../engine/runs/run.js';
import type { DeliveryResult } from '../delivery.js';
import { type DestinationState, HEALTHY, restoredState, stateAfter } from './breaker.js';

const ON: BreakerSettings = { enabled: true, failures: 3, probeEveryMs: 1_000 };
const FAILED: DeliveryResult = { kind: 'failed', error: 'connection refused' };
const DELIVERED: DeliveryResult = { kind: 'delivered' };
const origin = 'http://a:80';

function after(
  state: DestinationState,
  results: readonly DeliveryResult[],
  { probe = false, settings = ON } = {},
): DestinationState {
  return results.reduce((now, result, at) => stateAfter(now, { origin, result, isProbe: probe, at: 100 + at }, settings), state);
}

test('the set number of failures in a row opens the breaker, with the last error as the reason', () => {
  assert.equal(after(HEALTHY, [FAILED, FAILED]).hold, null);
  const tripped = after(HEALTHY, [FAILED, FAILED, FAILED]);
  assert.deepEqual(tripped, {
    hold: { origin, by: 'breaker', reason: '3 deliveries in a row failed, the last one with: connection refused', since: 102 },
    failures: 3,
    lastError: 'connection refused',
    probeAt: 1_102,
  });
});

test('a successful delivery resets the count; one that was not made does not', () => {
  assert.deepEqual(after(HEALTHY, [FAILED, FAILED, DELIVERED]), HEALTHY);
  assert.equal(after(HEALTHY, [FAILED, FAILED, DELIVERED, FAILED, FAILED]).hold, null);
  assert.notEqual(after(HEALTHY, [FAILED, FAILED, { kind: 'not-sent' }, FAILED]).hold, null);
});

test('a breaker that is off counts failures and does not open', () => {
  const off = after(
    HEALTHY,
    Array.from({ length: 20 }, () => FAILED),
    { settings: { ...ON, enabled: false } },
  );
  assert.deepEqual([off.hold, off.failures], [null, 20]);
});

test('during a hold only a probe shows whether the destination works again', () => {
  const tripped = after(HEALTHY, [FAILED, FAILED, FAILED]);
  assert.deepEqual(after(tripped, [DELIVERED]), tripped);
  assert.equal(after(tripped, [FAILED]).probeAt, tripped.probeAt);
  assert.deepEqual(after(tripped, [DELIVERED], { probe: true }), HEALTHY);
  const still = after(tripped, [FAILED], { probe: true });
  assert.deepEqual([still.hold, still.failures, still.probeAt], [tripped.hold, 4, 1_100]);
});

test('a probe that was not made shows nothing: the next may pass immediately', () => {
  const tripped = after(HEALTHY, [FAILED, FAILED, FAILED]);
  assert.deepEqual(after(tripped, [{ kind: 'not-sent' }], { probe: true }), { ...tripped, probeAt: 100 });
});

test('an unknown result changes nothing, not even for a probe', () => {
  const unknown: DeliveryResult = { kind: 'unknown' };
  assert.deepEqual(after(HEALTHY, [FAILED, unknown]), after(HEALTHY, [FAILED]));
  assert.notEqual(after(HEALTHY, [FAILED, FAILED, unknown, FAILED]).hold, null);
  const tripped = after(HEALTHY, [FAILED, FAILED, FAILED]);
  for (const probe of [true, false]) assert.deepEqual(after(tripped, [unknown], { probe }), tripped);
});

test('a manual hold remains, whatever the destination responds', () => {
  const held = restoredState({ origin, by: 'hand', reason: 'maintenance', since: 1 }, ON, 50);
  assert.equal(held.probeAt, null);
  for (const probe of [true, false]) {
    assert.deepEqual(after(held, [DELIVERED, FAILED, FAILED, FAILED, FAILED], { probe }).hold, held.hold);
  }
});

test('a restored hold of the breaker waits a full interval for its probe', () => {
  assert.equal(restoredState({ origin, by: 'breaker', reason: 'r', since: 1 }, ON, 50).probeAt, 1_050);
});
