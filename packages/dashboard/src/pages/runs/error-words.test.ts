import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorWords } from './error-words.js';

test('of the error of a step its name and what went wrong are shown', () => {
  assert.deepEqual(errorWords('step "charge: eu" (2) failed after 4 attempts: Error: payment service answered 503'), {
    where: 'charge: eu',
    what: 'Error: payment service answered 503',
  });
  assert.deepEqual(errorWords('step "ship" (3) failed and is not retried: no such\nstreet'), {
    where: 'ship',
    what: 'no such\nstreet',
  });
});

test('an error of something else is shown as it is', () => {
  assert.deepEqual(errorWords('the run was too long: 10 steps'), { where: null, what: 'the run was too long: 10 steps' });
});
