/** Requirements for every storage of the documents of search indexes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FieldPath,
  type Filter,
  NO_BYTE_LIMIT,
  type SearchDocument,
  type SearchDocuments,
} from '../../ports/stores/search-store.js';
import { contentBytes, RECORD_BYTES } from '../../ports/stores/stored-bytes.js';

export interface DocumentsUnderTest {
  readonly documents: SearchDocuments;
  /** Closes the storage and opens it again on the same data; null if a restart loses the data. */
  readonly reopen: (() => Promise<SearchDocuments>) | null;
  dispose(): Promise<void>;
}

export type OpenDocuments = () => Promise<DocumentsUnderTest>;

const INDEX = 'idx_a';
const FILM_NAMESPACE = { indexId: INDEX, namespace: 'films' } as const;

export const sampleDocument = (id: string, content: object, metadata: object | null = null): SearchDocument => ({
  id,
  content: JSON.stringify(content),
  metadata: metadata === null ? null : JSON.stringify(metadata),
});

const content = (...steps: (string | number)[]): FieldPath => ({ of: 'content', steps });
const metadata = (...steps: (string | number)[]): FieldPath => ({ of: 'metadata', steps });
const equals = (field: FieldPath, value: string | number | boolean): Filter => ({ kind: 'compare', field, operator: '=', value });

const FILMS: readonly SearchDocument[] = [
  sampleDocument('alien', { title: 'Alien in space', year: 1979, cast: ['Weaver', 'Hurt'] }, { seen: true, stars: 5 }),
  sampleDocument('brazil', { title: 'Brazil', year: 1985, cast: ['Pryce'] }, { seen: false, by: { name: 'Gilliam' } }),
  sampleDocument('contact', { title: 'Contact, far out in deep space', year: 1997, cast: [] }, { stars: 4 }),
  sampleDocument('dune', { title: 'Dune', year: 2021 }),
];

export function searchDocumentsConformance(open: OpenDocuments): void {
  const withDocuments = (body: (documents: SearchDocuments, underTest: DocumentsUnderTest) => Promise<void>) => async () => {
    const underTest = await open();
    try {
      await body(underTest.documents, underTest);
    } finally {
      await underTest.dispose();
    }
  };
  const searchIds = async (documents: SearchDocuments, text: string, filter: Filter | null = null, limit = 10) =>
    (await documents.search({ maxBytes: NO_BYTE_LIMIT, ...FILM_NAMESPACE, text, limit, filter })).map(({ id }) => id);
  const listIds = async (documents: SearchDocuments, namespace = FILM_NAMESPACE) =>
    (await documents.range({ maxBytes: NO_BYTE_LIMIT, ...namespace, prefix: '', after: null, limit: 1000 })).map(({ id }) => id);

  test(
    'stored bytes are those of the existing documents, after any replacement, removal or emptying',
    withDocuments(async (documents, { reopen }) => {
      const bytesOf = (list: readonly SearchDocument[]): number =>
        list.reduce((sum, document) => sum + RECORD_BYTES + contentBytes(document.content, document.metadata), 0);
      const storedBytes = (storage: SearchDocuments = documents, ...indexIds: string[]) =>
        storage.storedBytes({ indexIds: [INDEX, 'idx_b', 'idx_none', ...indexIds] });
      assert.equal(await storedBytes(), 0);
      await documents.upsert({ ...FILM_NAMESPACE, documents: FILMS });
      const [alien, ...otherFilms] = FILMS as [SearchDocument, ...SearchDocument[]];
      assert.equal(await storedBytes(), bytesOf(FILMS));
      const longerAlien = sampleDocument('alien', { title: 'Ä'.repeat(100) }, { seen: 'ü' });
      await documents.upsert({ ...FILM_NAMESPACE, documents: [alien, longerAlien] });
      await documents.upsert({ indexId: 'idx_b', namespace: '', documents: FILMS });
      assert.equal(await storedBytes(), bytesOf([longerAlien, ...otherFilms, ...FILMS]));
      await documents.remove({ ...FILM_NAMESPACE, choice: { kind: 'ids', ids: ['alien', 'none'] } });
      await documents.remove({ ...FILM_NAMESPACE, choice: { kind: 'prefix', prefix: 'bra' } });
      await documents.remove({ ...FILM_NAMESPACE, choice: { kind: 'filter', filter: equals(content('year'), 1997) } });
      assert.equal(await storedBytes(), bytesOf([...otherFilms.slice(2), ...FILMS]));
      await documents.reset({ indexId: 'idx_b', namespace: null });
      assert.equal(await storedBytes(), bytesOf(otherFilms.slice(2)));
      if (reopen) assert.equal(await storedBytes(await reopen()), bytesOf(otherFilms.slice(2)));
    }),
  );

  test(
    'documents are fetched as they were written, in the requested order; one with the same id is replaced',
    withDocuments(async (documents) => {
      assert.equal(await documents.upsert({ ...FILM_NAMESPACE, documents: FILMS }), 'done');
      const [alien, , , dune] = FILMS;
      assert.deepEqual(await documents.fetch({ maxBytes: NO_BYTE_LIMIT, ...FILM_NAMESPACE, ids: ['dune', 'none', 'alien'] }), [
        dune,
        null,
        alien,
      ]);
      const otherDocument = sampleDocument('dune', { title: 'Arrakis' });
      await documents.upsert({ ...FILM_NAMESPACE, documents: [otherDocument] });
      assert.deepEqual(await documents.fetch({ maxBytes: NO_BYTE_LIMIT, ...FILM_NAMESPACE, ids: ['dune'] }), [otherDocument]);
      assert.deepEqual(await searchIds(documents, 'dune'), []);
      assert.deepEqual(await searchIds(documents, 'arrakis'), ['dune']);
      assert.deepEqual((await documents.info(FILM_NAMESPACE)).namespaces, [{ name: 'films', documents: 4 }]);
    }),
  );

  test(
    'in one upsert the last document of an id counts',
    withDocuments(async (documents) => {
      const [first, second] = [sampleDocument('a', { n: 'one' }), sampleDocument('a', { n: 'two' })];
      await documents.upsert({ ...FILM_NAMESPACE, documents: [first, second] });
      assert.deepEqual(await documents.fetch({ maxBytes: NO_BYTE_LIMIT, ...FILM_NAMESPACE, ids: ['a'] }), [second]);
      assert.deepEqual(await searchIds(documents, 'one two'), ['a']);
      assert.deepEqual((await documents.info(FILM_NAMESPACE)).namespaces, [{ name: 'films', documents: 1 }]);
    }),
  );

  test(
    'a search finds words of the content in any case, without accents, by their stems; not those of the metadata',
    withDocuments(async (documents) => {
      await documents.upsert({
        ...FILM_NAMESPACE,
        documents: [...FILMS, sampleDocument('cafe', { place: { name: 'Café RÉPUBLIQUE', rooms: [{ kind: 'running water' }] } })],
      });
      for (const [text, ids] of [
        ['deep space', ['contact', 'alien']],
        ['ALIEN!', ['alien']],
        ['cafe', ['cafe']],
        ['république', ['cafe']],
        ['runs', ['cafe']],
        ['1985', ['brazil']],
        ['weaver', ['alien']],
        ['gilliam', []],
        ['', []],
        ['"(*:- AND', []],
        ['body : dune*', ['dune']],
      ] as const)
        assert.deepEqual(await searchIds(documents, text), ids, text);
    }),
  );

  test(
    'documents with more and rarer words come first, and a shorter text before a longer one; scores decrease',
    withDocuments(async (documents) => {
      await documents.upsert({ ...FILM_NAMESPACE, documents: FILMS });
      const hits = await documents.search({
        maxBytes: NO_BYTE_LIMIT,
        ...FILM_NAMESPACE,
        text: 'deep space',
        limit: 10,
        filter: null,
      });
      assert.deepEqual(
        hits.map(({ id }) => id),
        ['contact', 'alien'],
      );
      assert.ok((hits[0]?.score ?? 0) > (hits[1]?.score ?? 0));
      assert.deepEqual(await searchIds(documents, 'deep space', null, 1), ['contact']);
      const long = ['long', 'short'].map((id) =>
        sampleDocument(id, { text: `needle ${id === 'long' ? 'in a stack of hay' : ''}` }),
      );
      await documents.upsert({ ...FILM_NAMESPACE, documents: long });
      assert.deepEqual(await searchIds(documents, 'needle'), ['short', 'long']);
    }),
  );

  test(
    'a filter returns only documents that match it',
    withDocuments(async (documents) => {
      await documents.upsert({
        ...FILM_NAMESPACE,
        documents: FILMS.map((film) => ({ ...film, content: film.content.replace('{', '{"w":"film",') })),
      });
      const table: readonly (readonly [filter: Filter, ids: readonly string[]])[] = [
        [equals(content('title'), 'Dune'), ['dune']],
        [equals(content('title'), 'dune'), []],
        [equals(content('year'), 1985), ['brazil']],
        [equals(content('year'), '1985'), []],
        [equals(metadata('seen'), true), ['alien']],
        [equals(metadata('seen'), 1), []],
        [equals(metadata('stars'), true), []],
        [equals(metadata('by', 'name'), 'Gilliam'), ['brazil']],
        [equals(content('cast', 0), 'Weaver'), ['alien']],
        [equals(content('cast', -1), 'Hurt'), ['alien']],
        [{ kind: 'compare', field: content('year'), operator: '!=', value: 1985 }, ['alien', 'contact', 'dune']],
        [{ kind: 'compare', field: metadata('seen'), operator: '!=', value: true }, ['brazil']],
        [{ kind: 'compare', field: content('year'), operator: '<', value: 1985 }, ['alien']],
        [{ kind: 'compare', field: content('year'), operator: '>=', value: 1997 }, ['contact', 'dune']],
        [{ kind: 'compare', field: content('title'), operator: '<=', value: 'Brazil' }, ['alien', 'brazil']],
        [{ kind: 'compare', field: content('title'), operator: '<', value: 5 }, []],
        [{ kind: 'glob', field: content('title'), not: false, pattern: '*in*space' }, ['alien', 'contact']],
        [{ kind: 'glob', field: content('title'), not: true, pattern: '[AB]*' }, ['contact', 'dune']],
        [{ kind: 'in', field: content('year'), not: false, values: [1979, 2021, 'x'] }, ['alien', 'dune']],
        [{ kind: 'in', field: content('year'), not: true, values: [1979, 2021] }, ['brazil', 'contact']],
        [{ kind: 'contains', field: content('cast'), not: false, value: 'Hurt' }, ['alien']],
        [{ kind: 'contains', field: content('cast'), not: true, value: 'Hurt' }, ['brazil', 'contact']],
        [{ kind: 'contains', field: content('title'), not: false, value: 'Dune' }, []],
        [{ kind: 'has', field: metadata('stars'), not: false }, ['alien', 'contact']],
        [{ kind: 'has', field: metadata('stars'), not: true }, ['brazil', 'dune']],
        [{ kind: 'and', parts: [equals(metadata('stars'), 4), equals(content('year'), 1997)] }, ['contact']],
        [{ kind: 'and', parts: [equals(metadata('stars'), 4), equals(content('year'), 1998)] }, []],
        [{ kind: 'or', parts: [equals(metadata('stars'), 4), equals(content('title'), 'Dune')] }, ['contact', 'dune']],
      ];
      for (const [filter, ids] of table) {
        const text = JSON.stringify(filter);
        assert.deepEqual((await searchIds(documents, 'film', filter)).sort(), ids, text);
      }
      for (const [filter, ids] of table.slice(0, 12)) {
        assert.equal(await documents.remove({ ...FILM_NAMESPACE, choice: { kind: 'filter', filter } }), ids.length);
        await documents.upsert({ ...FILM_NAMESPACE, documents: FILMS });
      }
    }),
  );

  test(
    'a document with very many values is also found by a filter',
    withDocuments(async (documents) => {
      const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`field${n}`, n]));
      await documents.upsert({ ...FILM_NAMESPACE, documents: [sampleDocument('many', { title: 'word', ...many }), ...FILMS] });
      assert.deepEqual(await searchIds(documents, 'word', equals(content('field199'), 199)), ['many']);
      assert.deepEqual(await searchIds(documents, 'word', equals(content('field199'), 198)), []);
    }),
  );

  test(
    'documents beyond the bytes of a response are returned without their content, with their lengths',
    withDocuments(async (documents) => {
      const samples = ['a', 'b', 'c'].map((id) => sampleDocument(id, { text: `word ${'é'.repeat(100)}` }, { id }));
      await documents.upsert({ ...FILM_NAMESPACE, documents: samples });
      const bytes = Buffer.byteLength((samples[0]?.content ?? '') + (samples[0]?.metadata ?? ''));
      const boundedQuery = { ...FILM_NAMESPACE, maxBytes: 2 * bytes };
      const shortenedDocument = { id: 'c', content: '{}', metadata: null, leftOut: bytes };
      assert.deepEqual(await documents.range({ ...boundedQuery, prefix: '', after: null, limit: 10 }), [
        samples[0],
        samples[1],
        shortenedDocument,
      ]);
      const ids = ['c', 'none', 'a', 'b'];
      assert.deepEqual(await documents.fetch({ ...boundedQuery, ids }), [
        samples[2],
        null,
        samples[0],
        { ...shortenedDocument, id: 'b' },
      ]);
      const hits = await documents.search({ ...boundedQuery, text: 'word', limit: 10, filter: null });
      assert.deepEqual(
        hits.map(({ score: _score, ...document }) => document),
        [samples[0], samples[1], shortenedDocument],
      );
    }),
  );

  test(
    'a range returns documents in the order of their ids, with a prefix and after an id',
    withDocuments(async (documents) => {
      const ids = ['a', 'a/1', 'a/2', 'a0', 'b', '\u{10ffff}'];
      await documents.upsert({ ...FILM_NAMESPACE, documents: ids.map((id) => sampleDocument(id, { id })) });
      const range = async (prefix: string, after: string | null, limit: number) =>
        (await documents.range({ maxBytes: NO_BYTE_LIMIT, ...FILM_NAMESPACE, prefix, after, limit })).map(({ id }) => id);
      assert.deepEqual(await range('', null, 10), ids);
      assert.deepEqual(await range('', 'a/1', 2), ['a/2', 'a0']);
      assert.deepEqual(await range('a/', null, 10), ['a/1', 'a/2']);
      assert.deepEqual(await range('a/', 'a/1', 10), ['a/2']);
      assert.deepEqual(await range('c', null, 10), []);
      assert.deepEqual(await range('\u{10ffff}', null, 10), ['\u{10ffff}']);
    }),
  );

  test(
    'documents are removed by id and by prefix, and are not found afterwards',
    withDocuments(async (documents) => {
      const many = Array.from({ length: 1200 }, (_, n) => sampleDocument(`n/${n}`, { text: `word number${n}` }));
      await documents.upsert({ ...FILM_NAMESPACE, documents: [...FILMS, ...many] });
      assert.equal(await documents.remove({ ...FILM_NAMESPACE, choice: { kind: 'ids', ids: ['dune', 'none', 'dune'] } }), 1);
      assert.deepEqual(await searchIds(documents, 'dune'), []);
      assert.equal(await documents.remove({ ...FILM_NAMESPACE, choice: { kind: 'prefix', prefix: 'n/' } }), 1200);
      assert.deepEqual(await searchIds(documents, 'word number7'), []);
      assert.deepEqual(await listIds(documents), ['alien', 'brazil', 'contact']);
      assert.deepEqual((await documents.info(FILM_NAMESPACE)).namespaces, [{ name: 'films', documents: 3 }]);
    }),
  );

  test(
    'namespaces and indexes are separate from each other',
    withDocuments(async (documents) => {
      const [ownNamespace, siblingNamespace, foreignNamespace] = [
        FILM_NAMESPACE,
        { ...FILM_NAMESPACE, namespace: '' },
        { ...FILM_NAMESPACE, indexId: 'idx_b' },
      ];
      for (const [n, namespace] of [ownNamespace, siblingNamespace, foreignNamespace].entries())
        await documents.upsert({ ...namespace, documents: [sampleDocument('same', { title: `word of ${n}` })] });
      const hitCounts = async () =>
        Promise.all(
          [ownNamespace, siblingNamespace, foreignNamespace].map(
            async (namespace) =>
              (await documents.search({ maxBytes: NO_BYTE_LIMIT, ...namespace, text: 'word', limit: 5, filter: null })).length,
          ),
        );
      assert.deepEqual(await hitCounts(), [1, 1, 1]);
      assert.equal(await documents.removeNamespace(siblingNamespace), true);
      assert.equal(await documents.removeNamespace(siblingNamespace), false);
      assert.deepEqual(await hitCounts(), [1, 0, 1]);
      assert.deepEqual((await documents.info(ownNamespace)).namespaces, [{ name: 'films', documents: 1 }]);
      await documents.reset({ indexId: INDEX, namespace: 'films' });
      assert.deepEqual(await hitCounts(), [0, 0, 1]);
      assert.deepEqual((await documents.info(ownNamespace)).namespaces, [{ name: 'films', documents: 0 }]);
      await documents.upsert({ ...siblingNamespace, documents: [sampleDocument('same', { title: 'word' })] });
      assert.deepEqual(await hitCounts(), [0, 1, 1]);
      await documents.reset({ indexId: INDEX, namespace: null });
      assert.deepEqual(await hitCounts(), [0, 0, 1]);
      await documents.drop({ indexId: 'idx_b' });
      assert.deepEqual(await hitCounts(), [0, 0, 0]);
      assert.equal(await documents.upsert({ ...foreignNamespace, documents: FILMS }), 'gone');
      assert.deepEqual(await documents.info(foreignNamespace), { namespaces: [], diskBytes: 0 });
      await documents.drop({ indexId: 'idx_b' });
    }),
  );

  test(
    'an index without documents is empty, and reading creates nothing',
    withDocuments(async (documents) => {
      assert.deepEqual(await documents.fetch({ maxBytes: NO_BYTE_LIMIT, ...FILM_NAMESPACE, ids: ['a'] }), [null]);
      assert.deepEqual(await listIds(documents), []);
      assert.deepEqual(await searchIds(documents, 'a'), []);
      assert.equal(await documents.remove({ ...FILM_NAMESPACE, choice: { kind: 'prefix', prefix: '' } }), 0);
      assert.equal(await documents.removeNamespace(FILM_NAMESPACE), false);
      await documents.reset({ indexId: INDEX, namespace: null });
      assert.deepEqual(await documents.info(FILM_NAMESPACE), { namespaces: [], diskBytes: 0 });
    }),
  );

  test(
    'an emptied namespace releases its disk space, even after an interruption; new documents in it stay',
    withDocuments(async (documents, { reopen }) => {
      if (!reopen) return;
      const many = Array.from({ length: 4000 }, (_, n) =>
        sampleDocument(`n/${n}`, { text: `word number${n} ${'x'.repeat(200)}` }),
      );
      await documents.upsert({ ...FILM_NAMESPACE, documents: many });
      const fullBytes = (await documents.info(FILM_NAMESPACE)).diskBytes;
      await documents.reset({ indexId: INDEX, namespace: 'films' });
      await documents.upsert({ ...FILM_NAMESPACE, documents: FILMS });
      const reopened = await reopen();
      assert.deepEqual(await searchIds(reopened, 'word'), []);
      await reopened.resume({ indexId: INDEX });
      assert.deepEqual(await listIds(reopened), ['alien', 'brazil', 'contact', 'dune']);
      assert.deepEqual(await searchIds(reopened, 'deep space'), ['contact', 'alien']);
      const { diskBytes } = await reopened.info(FILM_NAMESPACE);
      assert.ok(diskBytes < fullBytes / 8, `${diskBytes} of ${fullBytes} bytes are left`);
    }),
  );

  test(
    'written documents are there after a restart',
    withDocuments(async (documents, { reopen }) => {
      if (!reopen) return;
      await documents.upsert({ ...FILM_NAMESPACE, documents: FILMS });
      const reopened = await reopen();
      assert.deepEqual(await listIds(reopened), ['alien', 'brazil', 'contact', 'dune']);
      assert.deepEqual(await searchIds(reopened, 'dune'), ['dune']);
    }),
  );
}
