import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionLimitsFor, descriptorLimitIn } from './connection-limits.js';
import { LIMITS } from './limits.js';

test('connections and deliveries leave file descriptors for the process itself', () => {
  for (const descriptors of [128, 256, 1_024, 4_096, 1_048_576]) {
    const { served, accepted } = connectionLimitsFor(descriptors);
    assert.ok(served >= 1 && served < accepted, `${served} of ${accepted} at ${descriptors}`);
    assert.ok(accepted + 64 <= descriptors - Math.min(LIMITS.maxDeliveriesInFlight, (descriptors - 64) / 2));
  }
  assert.deepEqual(connectionLimitsFor(256), { served: 72, accepted: 96 });
});

test('the file descriptor limit is parsed from /proc', () => {
  const text =
    'Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024  524288  files\n';
  assert.equal(descriptorLimitIn(text), 1024);
  assert.equal(descriptorLimitIn(text.replace('1024', 'unlimited')), null);
});
