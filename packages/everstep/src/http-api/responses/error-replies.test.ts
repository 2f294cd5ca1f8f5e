import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiErrorOf } from './error-replies.js';

const log = { error() {}, warn() {}, info() {}, debug() {} };

test('a reset connection is a client error only if the request was incomplete', () => {
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  const request = { requestId: 'r', method: 'POST', route: '/v2/trigger/:workflowUrl', maxBodyBytes: 10 };
  assert.equal(apiErrorOf(reset, log, { ...request, isComplete: false }).status, 400);
  assert.equal(apiErrorOf(reset, log, { ...request, isComplete: true }).status, 500);
});
