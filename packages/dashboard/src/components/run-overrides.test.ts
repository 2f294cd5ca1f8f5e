import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_OVERRIDES, overrideHeaders, overridesIn } from './run-overrides.js';

test('empty fields change nothing', () => {
  assert.equal(overridesIn(NO_OVERRIDES), undefined);
  assert.equal(overridesIn({ ...NO_OVERRIDES, labels: ' , ', retryDelay: ' ', periodSeconds: '5' }), undefined);
  assert.deepEqual(overrideHeaders(undefined), {});
});

test('overrides are sent in the body of a bulk operation and in headers of a single one', () => {
  const overrides = overridesIn({
    retries: '0',
    retryDelay: '1000',
    labels: 'night, eu',
    flowControlKey: 'orders',
    parallelism: '5',
    rate: '10',
    periodSeconds: '60',
  });
  assert.deepEqual(overrides, {
    retries: 0,
    retryDelay: '1000',
    labels: ['night', 'eu'],
    flowControl: { key: 'orders', parallelism: 5, rate: 10, periodMs: 60_000 },
  });
  assert.deepEqual(overrideHeaders(overrides), {
    'svc-retries': '0',
    'svc-retry-delay': '1000',
    'svc-label': 'night,eu',
    'svc-flow-control-key': 'orders',
    'svc-flow-control-value': 'parallelism=5, rate=10, period=60s',
  });
});
