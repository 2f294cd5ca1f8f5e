import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Principal } from '../../accounts/account-service.js';
import { createPeople } from '../../accounts/people.fixture.js';
import { LIMITS } from '../../config/limits.js';
import type { IssuedSearchIndex } from '../../search/search-service.js';
import { ApiHarness, type ErrorResponse } from '../testing/api-harness.js';
import { DOCUMENT_OPERATIONS } from './documents.js';

let principal: Principal;
let harness: ApiHarness;
let made: IssuedSearchIndex;

before(async () => {
  harness = await ApiHarness.open();
  principal = (await createPeople(harness.store.accounts, harness.accounts)).principals.owner;
  const outcome = await harness.search.create(principal, { name: 'films', region: 'eu-central-1', type: 'free' });
  assert.ok(outcome.kind === 'done');
  made = outcome.value;
});
after(() => harness.close());

const post = <Body = ErrorResponse>(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  harness.send<Body>({
    method: 'POST',
    url: `/search/${made.index.indexId}/${path}`,
    headers: { authorization: `Bearer ${made.token}`, 'content-type': 'application/json', ...headers },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });

test('rejects invalid bodies and names the field', async (t) => {
  const large = 'x'.repeat(LIMITS.maxSearchDocumentBytes);
  const table: readonly (readonly [path: string, body: unknown, status: number, error: RegExp])[] = [
    ['upsert-data/n', '', 400, /request body is missing/],
    ['upsert-data/n', '{', 400, /not valid JSON/],
    ['upsert-data/n', [], 400, /body/],
    ['upsert-data/n', { id: '', content: {} }, 400, /body/],
    ['upsert-data/n', { id: 'a' }, 400, /body/],
    ['upsert-data/n', { id: 'a\ud800', content: {} }, 400, /body\.id must not contain .* unpaired surrogate/],
    ['upsert-data/n', [{ id: '\udc00\ud800', content: {} }], 400, /body\.0\.id must not contain/],
    ['upsert-data/n', { id: 'a\u0000', content: {} }, 400, /body\.id must not contain the character U\+0000/],
    ['fetch/n', { ids: ['a\ud800'] }, 400, /body\.ids\.0 must not contain/],
    ['delete/n', { prefix: '\ud800' }, 400, /body\.prefix must not contain/],
    ['delete/n', { prefix: '' }, 400, /body\.prefix must have at least 1 character/],
    ['range/n', { limit: 1, prefix: '\u0000' }, 400, /body\.prefix must not contain/],
    ['upsert-data/n', { id: 'a', content: 'text' }, 400, /body/],
    ['upsert-data/n', [{ id: 'a', content: {}, metadata: 5 }], 400, /body/],
    ['upsert-data/n', { id: 'a', content: { large } }, 413, /131072 bytes/],
    ['upsert-data/n', Array.from({ length: 1001 }, (_, n) => ({ id: n, content: {} })), 400, /body/],
    ['search/n', {}, 400, /body.*query/],
    ['search/n', { query: 5 }, 400, /body\.query/],
    ['search/n', { query: 'x'.repeat(2049) }, 400, /body\.query/],
    ['search/n', { query: 'a', topK: 0 }, 400, /body\.topK/],
    ['search/n', { query: 'a', topK: 1001 }, 400, /body\.topK/],
    ['search/n', { query: 'a', filter: 'a ==' }, 400, /body\.filter/],
    ['fetch/n', {}, 400, /exactly one of "ids"/],
    ['fetch/n', { ids: ['a'], prefix: 'b' }, 400, /exactly one of/],
    ['fetch/n', { ids: [{}] }, 400, /body\.ids/],
    ['delete/n', {}, 400, /exactly one of/],
    ['delete/n', { filter: '(' }, 400, /body\.filter/],
    ['range/n', {}, 400, /body.*limit/],
    ['range/n', { limit: 1, cursor: '*' }, 400, /body\.cursor/],
    [`search/${'n'.repeat(129)}`, { query: 'a' }, 400, /namespace/],
    ['search/%00', { query: 'a' }, 400, /namespace/],
    ['reset/n?all=no', [], 400, /^all must be true or false, not "no"/],
    ['reset/n?all=1', [], 400, /^all must be true or false/],
    ['reset/n?all=true&all=false', [], 400, /^all must have one value/],
  ];
  for (const [path, body, status, error] of table) {
    await t.test(`${path.slice(0, 20)} ${JSON.stringify(body).slice(0, 50)}`, async () => {
      const response = await post(path, body);
      assert.equal(response.status, status, response.body.error);
      assert.match(response.body.error, error);
    });
  }
  // A surrogate pair is a character.
  assert.equal((await post('upsert-data/n', { id: '\u{1f3ac}', content: {} })).status, 200);
  const received = await post('search/n', { query: 'a' }, { 'content-type': 'text/plain' });
  assert.equal(received.status, 415);
});

test('rejects requests without a valid token of the index before reading their body', async () => {
  for (const { path } of DOCUMENT_OPERATIONS) {
    const filled = path.replace('{indexId}', made.index.indexId).replace('{namespace}', 'n');
    for (const authorization of [undefined, 'Bearer nothing', `Basic ${made.token}`, `Bearer ${harness.token}`]) {
      const headers = authorization === undefined ? {} : { authorization };
      const response = await harness.send({ method: 'POST', url: filled, headers, payload: 'no JSON' });
      assert.equal(response.status, 401, `${path} with ${authorization}`);
    }
    const unknown = filled.replace(made.index.indexId, 'idx_none');
    const response = await harness.send({ method: 'POST', url: unknown, headers: { authorization: `Bearer ${made.token}` } });
    assert.equal(response.status, 401, unknown);
  }
});

test('a long listing ends early, and a large response omits the remaining content', async () => {
  const text = 'x'.repeat(LIMITS.maxSearchDocumentBytes - 100);
  const max = Math.floor(LIMITS.maxPageBytes / Buffer.byteLength(JSON.stringify({ text, n: 100 })));
  for (let n = 100; n <= 100 + max; n += 40) {
    const some = Array.from({ length: Math.min(40, 100 + max + 1 - n) }, (_, at) => ({
      id: n + at,
      content: { text, n: n + at },
    }));
    assert.equal((await post('upsert-data/long', some)).status, 200);
  }
  type Page = { readonly result: { readonly nextCursor: string; readonly vectors: readonly { readonly id: string }[] } };
  const range = async (cursor: string): Promise<Page['result']> =>
    (await post<Page>('range/long', { cursor, limit: 1_000 })).body.result;
  const first = await range('');
  assert.equal(first.vectors.length, max);
  const second = await range(first.nextCursor);
  assert.deepEqual([second.vectors.length, second.nextCursor], [1, '']);
  const ids = [...first.vectors, ...second.vectors].map(({ id }) => id);
  type Fetched = { readonly result: readonly { readonly content?: object; readonly leftOut?: number }[] };
  const { result } = (await post<Fetched>('fetch/long', { ids })).body;
  assert.deepEqual(
    [result.filter(({ content }) => content !== undefined).length, result.filter(({ leftOut }) => leftOut !== undefined).length],
    [max, 1],
  );
});

test('uses the default namespace if the path contains none', async () => {
  assert.equal((await post('upsert-data', { id: 7, content: { title: 'word' } })).status, 200);
  const { body } = await harness.send<{ readonly result: readonly { readonly id: string }[] }>({
    method: 'POST',
    url: `/search/${made.index.indexId}/search`,
    headers: { authorization: `Bearer ${made.readOnlyToken}`, 'content-type': 'application/json' },
    payload: JSON.stringify({ query: 'word' }),
  });
  assert.deepEqual(
    body.result.map(({ id }) => id),
    ['7'],
  );
  assert.equal((await post('reset?all', [])).status, 200);
  assert.equal((await post('search/n', { query: 'word' })).status, 200);
});

test('a reset deletes all namespaces only with "all" that is empty or true', async () => {
  const remaining: (readonly [string, readonly unknown[]])[] = [];
  for (const query of ['', '?all=false', '?ALL', '?all=true', '?all', '?all=']) {
    for (const namespace of ['one', 'two'])
      assert.equal((await post(`upsert-data/${namespace}`, { id: 'a', content: { title: 'word' } })).status, 200);
    assert.equal((await post(`reset/one${query}`, [])).status, 200, query);
    const { body } = await post<{ readonly result: readonly unknown[] }>('fetch/two', { ids: ['a'], includeData: false });
    remaining.push([query, body.result]);
  }
  assert.deepEqual(remaining, [
    ...['', '?all=false', '?ALL'].map((query) => [query, [{ id: 'a' }]]),
    ...['?all=true', '?all', '?all='].map((query) => [query, [null]]),
  ]);
});
