import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ForkForm, readForkForm } from './fork-request.js';

const form: ForkForm = { createdAt: 5, fromStep: 3, input: null, results: {}, newRunId: ' ', note: '' };

test('a fork without edits sends only the step', () => {
  assert.deepEqual(readForkForm(form), { ok: true, request: { createdAt: 5, fromStep: 3 } });
});

test('a fork sends the edited input and the results up to its step', () => {
  const read = readForkForm({
    ...form,
    input: '{"a":2}',
    results: { 1: '{"b":1}', 3: '', 4: 'true' },
    newRunId: ' again ',
    note: 'typo',
  });
  assert.deepEqual(read, {
    ok: true,
    request: {
      createdAt: 5,
      fromStep: 3,
      input: { body: '{"a":2}' },
      results: [{ stepId: 1, result: { b: 1 } }, { stepId: 3 }],
      newWorkflowRunId: 'again',
      note: 'typo',
    },
  });
});

test('reports an invalid JSON result at its step', () => {
  const read = readForkForm({ ...form, results: { 2: '{' } });
  assert.equal(read.ok, false);
  assert.match(read.ok ? '' : (read.problems.results[2] ?? ''), /^Invalid JSON/);
});

test('rejects a number in a result that would be rounded', () => {
  for (const [number, isValid] of [
    ['12345678901234567890', false],
    ['1e400', false],
    ['9007199254740993', false],
    ['9007199254740991', true],
    ['12345678901234567000', true],
    ['1.0', true],
    ['"12345678901234567890"', true],
  ] as const) {
    const read = readForkForm({ ...form, results: { 2: `{"id":[${number}]}` } });
    assert.equal(read.ok, isValid, number);
    if (!read.ok) assert.match(read.problems.results[2] ?? '', /^The number \S+ cannot be sent exactly/);
  }
});
