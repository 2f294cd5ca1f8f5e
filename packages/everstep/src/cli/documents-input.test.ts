import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDocuments, requestsOf } from './documents-input.js';
import { UsageError } from './exit-codes.js';

const A = { id: 'a', content: { n: 1 } };
const B = { id: 2, content: {} };

test('documents are one, an array, or one in each line', async () => {
  assert.deepEqual(await readDocuments(JSON.stringify(A)), [A]);
  assert.deepEqual(await readDocuments(JSON.stringify([A, B], null, 2)), [A, B]);
  assert.deepEqual(await readDocuments(`${JSON.stringify(A)}\n\n${JSON.stringify(B)}\r\n`), [A, B]);
});

test('what is no document is refused with its place', async () => {
  for (const [text, words] of [
    ['', /no document/],
    ['[]', /no document/],
    ['7', /must be JSON objects; number 1/],
    ['[{}, []]', /must be JSON objects; number 2/],
    ['[null]', /number 1/],
    [`${JSON.stringify(A)}\n{"id":`, /line 2 is none/],
    ['title: Alien', /line 1 is none/],
  ] as const)
    await assert.rejects(readDocuments(text), (error) => error instanceof UsageError && words.test(error.message), text);
});

test('a request has no more documents and bytes than the service takes', () => {
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
    'each has 4 MiB and a little, and two of them more than fit',
  );
  assert.deepEqual([...requestsOf([])], []);
});
