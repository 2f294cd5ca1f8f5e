import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFilter, filterOf, invalidLabelsOf, parametersOf } from './entry-filters.js';

test('URL parameters and repair filters convert into each other', () => {
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

test('selected entries replace all other filters', () => {
  const filter = filterOf({ dlqId: 'dlq_1,dlq_2', label: 'eu' });
  assert.deepEqual(filter, { dlqIds: ['dlq_1', 'dlq_2'] });
  assert.deepEqual(parametersOf(filter), { dlqId: 'dlq_1,dlq_2' });
});

test('no parameters cover everything', () => {
  assert.deepEqual(filterOf({}), {});
  assert.deepEqual(invalidLabelsOf({}), []);
  assert.deepEqual(describeFilter({}), []);
  assert.deepEqual(describeFilter({ fromDate: 0 }), []);
});

test('names invalid parameters, without which a plan would cover more', () => {
  const invalid = { action: 'delete', fromDate: 'yesterday', failureFunctionState: 'CALLBACK_FAIL,SOMEHOW', label: ' , ' };
  assert.deepEqual(invalidLabelsOf(invalid), ['Failed after', 'Label', 'Failure callback']);
  assert.deepEqual(invalidLabelsOf({ dlqId: ' , ', label: 'eu' }), ['Dead letters']);
  assert.deepEqual(invalidLabelsOf({ dlqId: 'dlq_1', label: ' , ' }), [], 'selected entries replace all other filters');
  assert.deepEqual(invalidLabelsOf({ fromDate: '1000', failureFunctionState: 'CALLBACK_FAIL', label: 'eu' }), []);
});

test('describes a run id as a prefix', () => {
  assert.deepEqual(describeFilter({ workflowRunId: 'wfr_1' }), [
    { filter: 'workflowRunId', name: 'Run id starts with', values: ['wfr_1'] },
  ]);
});

test('a URL or key with a comma matches as a whole and split, and a list converts back to itself', () => {
  assert.deepEqual(filterOf({ flowControlKey: 'a,b', label: 'x,y' }), { flowControlKey: ['a,b', 'a', 'b'], label: ['x', 'y'] });
  for (const filter of [{ flowControlKey: ['a,b'] }, { workflowUrl: ['https://shop.example/a,b', 'https://shop.example/a'] }])
    assert.deepEqual(filterOf(parametersOf(filter)), filter);
  assert.deepEqual(filterOf({ callerIp: '[::1]' }), { callerIp: ['[::1]'] });
});
