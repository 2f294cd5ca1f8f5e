import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { failureOf, lastAttemptOf, splitError } from './error-text.js';

test('splits the error of a step into its name and the message', () => {
  assert.deepEqual(splitError('step "charge: eu" (2) failed after 4 attempts: Error: payment service answered 503'), {
    failedPart: 'charge: eu',
    message: 'Error: payment service answered 503',
  });
  assert.deepEqual(splitError('step "ship" (3) failed and is not retried: no such\nstreet'), {
    failedPart: 'ship',
    message: 'no such\nstreet',
  });
});

test('keeps other errors unchanged', () => {
  assert.deepEqual(splitError('the run was too long: 10 steps'), { failedPart: null, message: 'the run was too long: 10 steps' });
});

test('a failed run names what failed apart from the message of its last attempt', () => {
  const message = `Error: no such street\n${'x'.repeat(5_000)}`;
  const error = `step "ship" (3) failed after 2 attempts: ${message}`.slice(0, 4_000);
  const attempt: RunJournal['attempts'][number] = { messageId: 'msg_1', retried: 0, time: 0, cause: 'step', error: message };
  const thrown = { code: 'E_STREET' };
  const attempts = [
    { ...attempt, retryAt: 1 },
    { ...attempt, retried: 1, thrown },
    { ...attempt, error: 'of another step' },
  ];
  const last = lastAttemptOf(error, attempts);
  assert.deepEqual(last, { message, thrown });
  assert.deepEqual(failureOf(error, last), { heading: 'Step "ship" (3) failed after 2 attempts', message, thrown });
});

test('a run whose last attempt is unknown shows the message in its error', () => {
  assert.equal(lastAttemptOf('the run was too long', []), undefined);
  assert.deepEqual(failureOf('the run was too long', undefined), {
    heading: null,
    message: 'the run was too long',
    thrown: undefined,
  });
  assert.equal(failureOf('step "a" (1) failed and is not retried: no', undefined).message, 'no');
});
