import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDocuments, requestsOf } from './documents-input.js';
import { UsageError } from './exit-codes.js';

const A = { id: 'a', content: { n: 1 } };
const B = { id: 2, content: {} };

test('documents are a single one, an array, or one per line', async () => {
  assert.deepEqual(await readDocuments(JSON.stringify(A)), [A]);
  assert.deepEqual(await readDocuments(JSON.stringify([A, B], null, 2)), [A, B]);
  assert.deepEqual(await readDocuments(`${JSON.stringify(A)}\n\n${JSON.stringify(B)}\r\n`), [A, B]);
});

test('an invalid document is reported with its position', async () => {
  for (const [text, words] of [
    ['', /is empty/],
    ['[]', /is empty/],
    ['7', /must be JSON objects; document 1/],
    ['[{}, []]', /must be JSON objects; document 2/],
    ['[null]', /document 1/],
    [`${JSON.stringify(A)}\n{"id":`, /line 2 is invalid/],
    ['title: Alien', /line 1 is invalid/],
  ] as const)
    await assert.rejects(readDocuments(text), (error) => error instanceof UsageError && words.test(error.message), text);
});

test('a request stays within the limits of documents and bytes', () => {
  const many = Array.from({ length: 2_001 }, (_, id) => ({ id, content: {} }));
  const requests = [...requestsOf(many)];
  assert.deepEqual(
    requests.map(({ length }) => length),
    [1_000, 1_000, 1],
  );
  assert.deepEqual(requests.flat(), many);
  const large = Array.from({ length: 5 }, (_, id) => ({ id, content: { text: 'é'.repeat(2 * 1024 * 1024) } }));
  assert.deepEqual(
    [...requestsOf(large)].map(({ length }) => length),
    [1, 1, 1, 1, 1],
    'each has slightly more than 4 MiB, so two exceed the limit',
  );
  assert.deepEqual([...requestsOf([])], []);
});
