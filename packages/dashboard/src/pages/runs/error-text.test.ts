import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitError } from './error-text.js';

test('splits the error of a step into its name and the message', () => {
  assert.deepEqual(splitError('step "charge: eu" (2) failed after 4 attempts: Error: payment service answered 503'), {
    where: 'charge: eu',
    what: 'Error: payment service answered 503',
  });
  assert.deepEqual(splitError('step "ship" (3) failed and is not retried: no such\nstreet'), {
    where: 'ship',
    what: 'no such\nstreet',
  });
});

test('keeps other errors unchanged', () => {
  assert.deepEqual(splitError('the run was too long: 10 steps'), { where: null, what: 'the run was too long: 10 steps' });
});
