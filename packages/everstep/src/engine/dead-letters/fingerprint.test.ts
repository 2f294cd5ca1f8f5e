import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FailureDescription, groupOf } from './fingerprint.js';

const FAILED: FailureDescription = {
  kind: 'workflow',
  workflowUrl: 'https://app.test/order',
  stepName: 'charge-17',
  status: 500,
  cause: 'step',
  message: 'Error: card 4242 was declined',
};
const fingerprintOf = (changes: Partial<FailureDescription> = {}): string => groupOf({ ...FAILED, ...changes }).fingerprint;

test('a group contains its step and message without variable parts, and its fingerprint never changes', () => {
  assert.deepEqual(groupOf(FAILED), {
    fingerprint: '97d983b26c30b865',
    rules: 2,
    kind: 'workflow',
    stepName: 'charge-#',
    message: 'Error: card # was declined',
    workflowUrl: 'https://app.test/order',
  });
});

test('similar failures have the same fingerprint, whatever the workflow and the numbers', () => {
  const other = { workflowUrl: 'https://app.test/refund', stepName: 'charge-9000', message: 'Error: card 1 was declined' };
  assert.equal(fingerprintOf(other), fingerprintOf());
});

test('a different step, status, message or kind is a different group', () => {
  const different: readonly Partial<FailureDescription>[] = [
    {},
    { stepName: 'refund-17' },
    { stepName: null },
    { status: 502 },
    { status: null },
    { status: null, cause: 'timeout' },
    { message: 'Error: card 4242 has expired' },
    { kind: 'message' },
  ];
  assert.equal(new Set(different.map((each) => fingerprintOf(each))).size, different.length);
});

test('with a response, its status counts instead of the cause', () => {
  assert.equal(fingerprintOf({ cause: 'http' }), fingerprintOf());
});

test('a step that only the message names is the failed step', () => {
  assert.equal(fingerprintOf({ stepName: null, message: `step "charge-3": ${FAILED.message}` }), fingerprintOf());
});
