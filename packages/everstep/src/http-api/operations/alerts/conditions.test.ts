import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AlertConditionBody } from '../../../contract/alerts/alerts.js';
import { conditionOf } from './conditions.js';

test('a condition has the fields of its kind, and defaults', () => {
  assert.deepEqual(conditionOf({ kind: 'failure-rate', percent: 5 }), {
    ...{ kind: 'failure-rate', percent: 5, windowMs: 300_000, minRuns: 10 },
  });
  const refused: readonly (readonly [AlertConditionBody, RegExp])[] = [
    [{ kind: 'failure-rate' }, /"condition.percent" is missing; the kind failure-rate requires it/],
    [{ kind: 'budget', percent: 5, maxAgeMs: 60_000 }, /"condition.maxAgeMs" is not used by the kind budget/],
    [{ kind: 'pending-age', maxAgeMs: 60_000 }, /requires exactly one of/],
    [{ kind: 'pending-age', maxAgeMs: 60_000, queue: 'q', flowControlKey: 'k' }, /requires exactly one of/],
    [{ kind: 'pending-age', maxAgeMs: 60_000, queue: 'q\ud800' }, /"condition.queue" must not contain an unpaired surrogate/],
    [{ kind: 'no-worker', workflowUrl: 'http://shop/order', forMs: 60_000 }, /must be a worker URL/],
  ];
  for (const [body, error] of refused) assert.throws(() => conditionOf(body), error);
  assert.deepEqual(conditionOf({ kind: 'pending-age', maxAgeMs: 60_000, queue: 'q😀' }), {
    ...{ kind: 'pending-age', queue: 'q😀', maxAgeMs: 60_000 },
  });
});
