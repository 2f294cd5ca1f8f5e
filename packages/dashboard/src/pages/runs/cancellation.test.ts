import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancellationOutcome } from './cancellation.js';

test('a run that has ended is not reported as canceled', () => {
  assert.deepEqual(cancellationOutcome({ ok: true, value: { cancelled: 1 } }), { ok: true, value: null });
  const text = 'The run has already ended and cannot be canceled.';
  const failure = { code: 'run-not-active', status: 409, text, retryAfterMs: null };
  assert.deepEqual(cancellationOutcome({ ok: true, value: { cancelled: 0 } }), { ok: false, failure });
  assert.deepEqual(cancellationOutcome({ ok: false, failure }), { ok: false, failure });
});
