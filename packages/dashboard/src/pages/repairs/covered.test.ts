import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coveredWords, filterOf, parametersOf } from './covered.js';

test('what a URL names is what a plan covers, and leads back to the same URL', () => {
  const parameters = {
    fingerprint: '0123456789abcdef,fedcba9876543210',
    workflowUrl: 'https://shop.example/checkout',
    label: 'eu',
    failureFunctionState: 'CALLBACK_FAIL',
    workflowRunId: 'wfr_1',
    fromDate: '1000',
    toDate: '2000',
  };
  const filter = filterOf(parameters);
  assert.deepEqual(filter, {
    fingerprint: ['0123456789abcdef', 'fedcba9876543210'],
    workflowUrl: ['https://shop.example/checkout'],
    label: ['eu'],
    failureFunctionState: ['CALLBACK_FAIL'],
    workflowRunId: 'wfr_1',
    fromDate: 1000,
    toDate: 2000,
  });
  assert.deepEqual(parametersOf(filter), parameters);
});

test('chosen entries are all that is covered, whatever was filtered besides', () => {
  const filter = filterOf({ dlqId: 'dlq_1,dlq_2', label: 'eu' });
  assert.deepEqual(filter, { dlqIds: ['dlq_1', 'dlq_2'] });
  assert.deepEqual(parametersOf(filter), { dlqId: 'dlq_1,dlq_2' });
});

test('nothing named covers everything, and what cannot be read is not part of a filter', () => {
  assert.deepEqual(filterOf({}), {});
  assert.deepEqual(filterOf({ action: 'delete', fromDate: 'yesterday', failureFunctionState: 'SOMEHOW', label: ' , ' }), {});
  assert.deepEqual(coveredWords({}), []);
  assert.deepEqual(coveredWords({ fromDate: 0 }), []);
});

test('a run id covers all that begin with it, and that is said', () => {
  assert.deepEqual(coveredWords({ workflowRunId: 'wfr_1' }), [{ name: 'Run id begins with', values: ['wfr_1'] }]);
});

test('a URL or a key with a comma is covered as a whole and split, and a list leads back to itself', () => {
  assert.deepEqual(filterOf({ flowControlKey: 'a,b', label: 'x,y' }), { flowControlKey: ['a,b', 'a', 'b'], label: ['x', 'y'] });
  for (const filter of [{ flowControlKey: ['a,b'] }, { workflowUrl: ['https://shop.example/a,b', 'https://shop.example/a'] }])
    assert.deepEqual(filterOf(parametersOf(filter)), filter);
  assert.deepEqual(filterOf({ callerIp: '[::1]' }), { callerIp: ['[::1]'] });
});
