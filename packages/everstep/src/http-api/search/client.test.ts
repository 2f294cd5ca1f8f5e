/** Tests an Everstep index with the unmodified published client of a search service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Search } from '@upstash/search';
import type { Principal } from '../../accounts/account-service.js';
import { createPeople } from '../../accounts/people.fixture.js';
import type { IssuedSearchIndex } from '../../search/search-service.js';
import { ApiHarness } from '../testing/api-harness.js';

type Content = {
  readonly title: string;
  readonly genre: string;
  readonly year?: number;
};
type Metadata = {
  readonly director: string;
  readonly tags?: string[];
};

let principal: Principal;

let harness: ApiHarness;
let url: string;

before(async () => {
  harness = await ApiHarness.open();
  principal = (await createPeople(harness.store.accounts, harness.accounts)).principals.owner;
  const { port } = await harness.api.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${port}`;
});
after(() => harness.close());

async function createIndex(): Promise<IssuedSearchIndex> {
  const made = await harness.search.create(principal, { name: 'films', region: 'eu-central-1', type: 'free' });
  assert.ok(made.kind === 'done');
  return made.value;
}

async function clientOf({ index, token }: IssuedSearchIndex, used = token): Promise<Search> {
  return new Search({ url: `${url}/search/${index.indexId}`, token: used ?? '', retry: false, enableTelemetry: false });
}

const FILMS = [
  {
    id: 'star-wars',
    content: { title: 'Star Wars', genre: 'sci-fi', year: 1977 },
    metadata: { director: 'Lucas', tags: ['old'] },
  },
  { id: 'inception', content: { title: 'Inception', genre: 'action', year: 2010 }, metadata: { director: 'Nolan' } },
  {
    id: 'interstellar',
    content: { title: 'Interstellar, among the stars', genre: 'sci-fi', year: 2014 },
    metadata: { director: 'Nolan' },
  },
];

test('the published client works with an index as documented', async (t) => {
  const client = await clientOf(await createIndex());
  const films = client.index<Content, Metadata>('movies');

  await t.test('upserts one and several documents', async () => {
    assert.equal(await films.upsert({ id: 'one', content: { title: 'One', genre: 'none' } }), 'Success');
    assert.equal(await films.upsert(FILMS), 'Success');
  });
  await t.test('fetches by id and by prefix', async () => {
    assert.deepEqual(await films.fetch(['inception', 'nothing', 'star-wars']), [FILMS[1], null, FILMS[0]]);
    assert.deepEqual(
      (await films.fetch({ prefix: 'in' })).map((film) => film?.id),
      ['inception', 'interstellar'],
    );
    assert.deepEqual(await films.fetch({ ids: ['one'] }), [
      { id: 'one', content: { title: 'One', genre: 'none' }, metadata: undefined },
    ]);
  });
  await t.test('searches with options of other search modes', async () => {
    const found = await films.search({ query: 'stars', limit: 2, reranking: true, semanticWeight: 0.5, inputEnrichment: false });
    assert.deepEqual(
      found.map(({ id }) => id),
      ['star-wars', 'interstellar'],
    );
    assert.deepEqual(found[0]?.content, FILMS[0]?.content);
    assert.deepEqual(found[0]?.metadata, FILMS[0]?.metadata);
    assert.ok((found[0]?.score ?? 0) >= (found[1]?.score ?? 0) && (found[1]?.score ?? 0) > 0);
  });
  await t.test('searches with a filter as a string and as an object', async () => {
    const ids = async (filter: Parameters<typeof films.search>[0]['filter']) =>
      (await films.search({ query: 'star inception', filter })).map(({ id }) => id).sort();
    assert.deepEqual(await ids("genre = 'sci-fi' AND year < 2000"), ['star-wars']);
    assert.deepEqual(await ids({ year: { greaterThan: 2000 } }), ['inception', 'interstellar']);
    assert.deepEqual(await ids({ AND: [{ '@metadata.director': { equals: 'Nolan' } }, { genre: { glob: 'sci*' } }] }), [
      'interstellar',
    ]);
    assert.deepEqual(await ids({ OR: [{ genre: { in: ['action', 'x'] } }, { '@metadata.tags': { contains: 'old' } }] }), [
      'inception',
      'star-wars',
    ]);
    await assert.rejects(films.search({ query: 'star', filter: 'genre = ' }), /body\.filter .* unexpected end/);
  });
  await t.test('lists all pages', async () => {
    const ids: string[] = [];
    let cursor = '0';
    do {
      const page = await films.range({ cursor, limit: 3 });
      ids.push(...page.documents.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== '');
    assert.deepEqual(ids, ['inception', 'interstellar', 'one', 'star-wars']);
    assert.deepEqual((await films.range({ cursor: '', limit: 10, prefix: 'inter' })).documents, [FILMS[2]]);
    await assert.rejects(films.range({ cursor: '!', limit: 1 }), /was not returned by a previous page/);
  });
  await t.test('supports namespaces: info, list, reset and delete', async () => {
    await client.index('other').upsert({ id: 'a', content: { b: 'c' } });
    assert.deepEqual(await client.listIndexes(), ['movies', 'other']);
    const info = await client.info();
    assert.equal(info.documentCount, 5);
    assert.deepEqual(info.indexes, {
      movies: { documentCount: 4, pendingDocumentCount: 0 },
      other: { documentCount: 1, pendingDocumentCount: 0 },
    });
    assert.deepEqual(await films.info(), { documentCount: 4, pendingDocumentCount: 0 });
    assert.equal(await films.reset(), 'Success');
    assert.deepEqual(await films.info(), { documentCount: 0, pendingDocumentCount: 0 });
    assert.equal(await client.index('other').deleteIndex(), 'Success');
    assert.deepEqual(await client.listIndexes(), ['movies']);
    await assert.rejects(client.index('other').deleteIndex(), /namespace "other" not found/);
  });
  await t.test('deletes by id, by prefix and by filter', async () => {
    await films.upsert(FILMS);
    assert.deepEqual(await films.delete(['star-wars', 'nothing']), { deleted: 1 });
    assert.deepEqual(await films.delete({ filter: 'year > 2012' }), { deleted: 1 });
    assert.deepEqual(await films.delete({ prefix: 'in' }), { deleted: 1 });
    assert.deepEqual(await films.search({ query: 'star inception interstellar' }), []);
  });
});

test('a token is valid for its own index and access until the tokens are reset', async () => {
  const [one, other] = [await createIndex(), await createIndex()];
  const documents = [{ id: 'a', content: { title: 'word' } }];
  await (await clientOf(one)).index('n').upsert(documents);
  await assert.rejects((await clientOf(one, other.token)).index('n').fetch(['a']), /not one of its tokens/);
  await assert.rejects((await clientOf(one, 'x')).index('n').fetch(['a']), /not one of its tokens/);
  const reader = (await clientOf(one, one.readOnlyToken)).index('n');
  assert.equal((await reader.search({ query: 'word' })).length, 1);
  assert.equal((await reader.fetch(['a'])).length, 1);
  for (const write of [
    () => reader.upsert(documents),
    () => reader.delete(['a']),
    () => reader.reset(),
    () => reader.deleteIndex(),
  ])
    await assert.rejects(write(), /this token can only read/);
  const reset = await harness.search.resetPassword(principal, one.index.indexId);
  assert.ok(reset.kind === 'done');
  await assert.rejects((await clientOf(one)).index('n').fetch(['a']), /not one of its tokens/);
  await assert.rejects(reader.fetch(['a']), /not one of its tokens/);
  assert.equal((await (await clientOf(reset.value)).index('n').fetch(['a'])).length, 1);
});

test('a deleted index and its documents are gone immediately', async () => {
  const made = await createIndex();
  const index = (await clientOf(made)).index('n');
  await index.upsert({ id: 'a', content: { title: 'word' } });
  assert.equal((await harness.search.remove(principal, made.index.indexId)).kind, 'done');
  await assert.rejects(index.fetch(['a']), /the search index does not exist/);
  await harness.search.stop();
  assert.deepEqual(await harness.store.searchIndexes.listDeletedIds(), []);
  assert.deepEqual((await harness.search.documents.info(made.index)).namespaces, []);
});
