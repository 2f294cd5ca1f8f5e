import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { ApiFailure, outcomeOf } from './outcome.js';

test('an action that throws has a failure as its outcome', async () => {
  const logged = mock.method(console, 'error', () => {});
  const unexpected = await outcomeOf(async () => {
    throw new TypeError('a bug');
  });
  assert.equal(!unexpected.ok && unexpected.failure.code, 'unexpected');
  assert.equal(logged.mock.callCount(), 1);
  const failure = new ApiFailure({ code: 'not-found', status: 404, text: 'no such run', retryAfterMs: null });
  const known = await outcomeOf(async () => {
    throw failure;
  });
  assert.deepEqual(known, { ok: false, failure });
  assert.deepEqual(await outcomeOf(async () => ({ ok: true, value: 1 })), { ok: true, value: 1 });
  logged.mock.restore();
});
