import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RUN_FILTERS } from '../../../../everstep/dist/contract/filters/run-filters.js';
import { fieldOf, invalidNamesOf, valuesOf } from './api-filters.js';
import { type FilterField, invalidFieldsOf, invalidReasonOf, problemOf } from './filter-fields.js';

const FIELDS = [
  fieldOf('state', RUN_FILTERS.state),
  fieldOf('waits', RUN_FILTERS.waitingFor),
  fieldOf('from', RUN_FILTERS.fromDate),
  fieldOf('min', RUN_FILTERS.minDurationMs),
  fieldOf('label', RUN_FILTERS.label),
  fieldOf('id', RUN_FILTERS.workflowRunId),
];
const invalidNames = (values: Readonly<Record<string, string>>) => invalidFieldsOf(FIELDS, values).map(({ name }) => name);

test('a value that the filter does not accept is a problem of its field', () => {
  const values = { state: 'RUNNING', waits: 'retry,luck', from: 'yesterday', min: 'soon', label: ' , ', id: 'any id' };
  assert.deepEqual(invalidNames(values), ['state', 'waits', 'from', 'min', 'label']);
  const duration = fieldOf('min', RUN_FILTERS.minDurationMs);
  assert.equal(problemOf(duration, 'soon'), 'Enter a duration such as 30s, 5 min or 2h.');
  assert.equal(invalidReasonOf(invalidFieldsOf([duration], { min: 'soon' })), 'Invalid filter: Took at least');
});

test('valid and empty values are not a problem', () => {
  assert.deepEqual(invalidNames({ state: 'RUN_FAILED', waits: 'retry,queue', from: '1000', min: '5 min', label: 'a,b' }), []);
  assert.deepEqual(invalidNames({ state: '', waits: '', from: '', min: '', label: '' }), []);
  assert.equal(invalidReasonOf([]), undefined);
});

test('fields without a filter of the API accept their options and times', () => {
  const since: FilterField<'since'> = {
    kind: 'choice',
    name: 'since',
    label: 'Created',
    anyText: 'Any time',
    options: [{ value: '1h', text: 'Last hour' }],
  };
  assert.equal(problemOf(since, '1h'), null);
  assert.equal(problemOf(since, '2h'), 'Unknown value. Choose one from the list.');
  const to: FilterField<'to'> = { kind: 'time', name: 'to', label: 'Created before' };
  assert.equal(problemOf(to, '1000'), null);
  assert.equal(problemOf(to, '-1'), 'The time in the URL is invalid. Choose a time.');
});

test('the names of invalid filters are those whose values are missing', () => {
  const parameters = { state: 'RUNNING', minDurationMs: 'soon', maxDurationMs: '3 min 20 s' };
  assert.deepEqual(valuesOf(RUN_FILTERS, parameters), { maxDurationMs: 200_000 });
  assert.deepEqual(invalidNamesOf(RUN_FILTERS, parameters), ['state', 'minDurationMs']);
});
