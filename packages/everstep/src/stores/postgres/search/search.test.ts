import assert from 'node:assert/strict';
import { after, describe, type TestContext, test } from 'node:test';
import { type Filter, NO_BYTE_LIMIT, type SearchDocuments } from '../../../ports/stores/search-store.js';
import { sampleDocument, searchDocumentsConformance } from '../../conformance/search-documents.js';
import { Database } from '../connection/connection.js';
import { migrate } from '../connection/migrate.js';
import { openTestSchemas } from '../testing/schemas.js';
import { openPostgresSearchDocuments } from './index.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('PostgreSQL as storage of documents', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const database = new Database({ url: schema.url, log });
  after(() => database.close());
  await migrate(database, schema.url);
  const failures: string[] = [];
  const open = (): SearchDocuments =>
    openPostgresSearchDocuments({ url: schema.url, log, onFailure: ({ message }) => failures.push(message) });
  const opened = async () => {
    let documents = open();
    return {
      documents,
      async reopen() {
        await documents.close();
        documents = open();
        return documents;
      },
      async dispose() {
        await documents.close();
        await schema.clear();
        assert.deepEqual(failures, []);
      },
    };
  };

  describe('PostgreSQL as storage of documents', () => searchDocumentsConformance(opened));

  const target = { indexId: 'idx_a', namespace: 'n' } as const;
  const numbered = (count: number, text: (n: number) => object) =>
    Array.from({ length: count }, (_, n) => sampleDocument(`d${String(n).padStart(6, '0')}`, text(n)));
  const harness = async (t: TestContext) => {
    const underTest = await opened();
    t.after(() => underTest.dispose());
    return underTest.documents;
  };
  const tables = async () => {
    const { rows } = await database.withConnection((client) =>
      client.query<{ name: string }>(
        `SELECT relname AS name FROM pg_class
         WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname ~ '^search_document_'`,
      ),
    );
    return rows.map(({ name }) => name);
  };

  describe('search in PostgreSQL', () => {
    test('a dropped index leaves no table', async (t) => {
      const documents = await harness(t);
      await documents.upsert({ ...target, documents: numbered(10, (n) => ({ n })) });
      assert.equal((await tables()).length, 1);
      await documents.drop(target);
      assert.deepEqual(await tables(), []);
    });

    test('JSON that the database cannot represent as text or number is kept unchanged, and is filtered and found', async (t) => {
      const documents = await harness(t);
      const odd = [
        { id: 'zero', content: '{"text":"needle \\u0000 end","n":1}', metadata: null },
        { id: 'half', content: '{"text":"needle \\ud800","n":2}', metadata: '{"\\udc00":1}' },
        { id: 'huge', content: '{"text":"needle","n":1e999999}', metadata: null },
      ];
      await documents.upsert({ ...target, documents: odd });
      assert.deepEqual(await documents.fetch({ maxBytes: NO_BYTE_LIMIT, ...target, ids: ['zero', 'half', 'huge'] }), odd);
      const filter: Filter = { kind: 'compare', field: { of: 'content', steps: ['n'] }, operator: '<', value: 3 };
      const found = await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'needle', limit: 5, filter });
      assert.deepEqual(found.map(({ id }) => id).sort(), ['half', 'zero']);
    });

    test('only objects and arrays have fields, and patterns have their documented meaning', async (t) => {
      const documents = await harness(t);
      await documents.upsert({ ...target, documents: [sampleDocument('a', { w: 'x', s: 'a.b\n[c]', l: ['y'], o: { 0: 'z' } })] });
      const finds = async (filter: Filter) =>
        (await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'x', limit: 5, filter })).length === 1;
      const field = (...steps: (string | number)[]) => ({ of: 'content', steps }) as const;
      const has = (...steps: (string | number)[]): Filter => ({ kind: 'has', field: field(...steps), not: false });
      for (const filter of [has('l', 0), has('l', -1), has('o', '0')]) assert.equal(await finds(filter), true);
      for (const filter of [has('s', 0), has('o', 0), has('l', '0'), has('s', 'a'), has('l', 1)])
        assert.equal(await finds(filter), false, JSON.stringify(filter));
      const glob = (pattern: string): Filter => ({ kind: 'glob', field: field('s'), not: false, pattern });
      for (const pattern of ['a.b*', 'a?b?[[]c]', '*]', 'a[.]b*']) assert.equal(await finds(glob(pattern)), true, pattern);
      for (const pattern of ['axb*', 'a.b', '[', '[a', 'A*', 'a.b*d']) assert.equal(await finds(glob(pattern)), false, pattern);
    });

    test('among very many documents, a rare word beside frequent ones finds its documents, best first', async (t) => {
      const documents = await harness(t);
      const made = numbered(24_000, (n) => ({
        // Each of the two is in two of three documents; both are in a third of them.
        text: `${n % 3 === 0 ? '' : 'common'} ${n % 3 === 1 ? '' : 'usual'} filler${n}`,
        title: n === 12_345 ? 'rare common' : n === 20_000 ? 'rare' : '',
      }));
      for (let at = 0; at < made.length; at += 4000) await documents.upsert({ ...target, documents: made.slice(at, at + 4000) });
      await database.withConnection(async (client) => client.query(`ANALYZE ${(await tables())[0]}`));
      const ids = async (text: string, limit: number, filter: Filter | null = null) =>
        (await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text, limit, filter })).map(({ id }) => id);
      assert.deepEqual((await ids('common rare usual', 5)).slice(0, 2).sort(), ['d012345', 'd020000']);
      assert.equal((await ids('common', 5)).length, 5);
      assert.equal((await ids('common usual', 5)).length, 5);
      const field = { of: 'content', steps: ['text'] } as const;
      assert.deepEqual(await ids('common', 5, { kind: 'compare', field, operator: '>=', value: 'z' }), []);
      assert.deepEqual(await ids('usual', 5, { kind: 'glob', field, not: false, pattern: '*filler23999' }), ['d023999']);

      // Most of it is removed and little is left: the space is released.
      const other = { ...target, namespace: 'other' };
      await documents.upsert({ ...other, documents: numbered(100, (n) => ({ n })) });
      const { diskBytes } = await documents.info(target);
      assert.equal(await documents.removeNamespace(target), true);
      await documents.resume(target);
      const left = await documents.info(target);
      assert.deepEqual(left.namespaces, [{ name: 'other', documents: 100 }]);
      assert.ok(left.diskBytes < diskBytes / 20, `${left.diskBytes} of ${diskBytes} bytes are left`);
    });

    test('if much is left, removed documents are deleted in place', async (t) => {
      const documents = await harness(t);
      const [gone, kept] = [target, { ...target, namespace: 'kept' }];
      for (const each of [gone, kept])
        await documents.upsert({ ...each, documents: numbered(3000, (n) => ({ text: `word${n}` })) });
      const before = await tables();
      await documents.reset(gone);
      await documents.upsert({ ...gone, documents: numbered(2, () => ({ text: 'new' })) });
      const other = open();
      await Promise.all([other.resume(target), documents.resume(target)]);
      await other.close();
      assert.deepEqual(await tables(), before);
      const { rows } = await database.withConnection((client) => client.query(`SELECT count(*)::integer AS n FROM ${before[0]}`));
      assert.deepEqual(rows, [{ n: 3002 }]);
      assert.deepEqual((await documents.info(target)).namespaces, [
        { name: 'kept', documents: 3000 },
        { name: 'n', documents: 2 },
      ]);
      const found = await documents.search({ maxBytes: NO_BYTE_LIMIT, ...kept, text: 'word2999', limit: 5, filter: null });
      assert.deepEqual(
        found.map(({ id }) => id),
        ['d002999'],
      );
    });

    test('if the copy of what is left takes too long, removed documents are deleted in place', async (t) => {
      const documents = await harness(t);
      const [gone, kept] = [target, { ...target, namespace: 'kept' }];
      await documents.upsert({ ...gone, documents: numbered(50, () => ({ text: 'gone' })) });
      await documents.upsert({ ...kept, documents: numbered(5, () => ({ text: 'kept' })) });
      const [table] = await tables();
      await database.withConnection(async (client) => {
        // The copy is the only statement that changes the number of the table.
        await client.query(`CREATE FUNCTION too_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF NEW.number <> OLD.number THEN RAISE SQLSTATE '57014' USING MESSAGE = 'canceling statement due to statement timeout'; END IF;
          RETURN NEW; END $$`);
        await client.query('CREATE TRIGGER slow BEFORE UPDATE ON search_collection FOR EACH ROW EXECUTE FUNCTION too_slow()');
      });
      t.after(() => database.withConnection((client) => client.query('DROP FUNCTION too_slow CASCADE')));
      assert.equal(await documents.removeNamespace(gone), true);
      await documents.resume(target);
      const { rows } = await database.withConnection((client) => client.query(`SELECT count(*)::integer AS n FROM ${table}`));
      assert.deepEqual([await tables(), rows], [[table], [{ n: 5 }]]);
    });

    test('when several nodes write, empty and drop at once, each sees all or nothing of the changes of others', async (t) => {
      const nodes = [await harness(t), open(), open()];
      const writes = nodes.flatMap((node, n) =>
        Array.from({ length: 6 }, (_, i) =>
          node.upsert({ ...target, documents: numbered(20, () => ({ text: `word of ${n} ${i}` })).reverse() }),
        ),
      );
      const resets = nodes.map((node) => node.reset({ indexId: target.indexId, namespace: null }));
      assert.deepEqual(new Set(await Promise.all(writes)), new Set(['done']));
      await Promise.all(resets);
      await Promise.all(nodes.map((node) => node.upsert({ ...target, documents: numbered(20, () => ({ text: 'word' })) })));
      const [node = open()] = nodes;
      await node.resume(target);
      assert.deepEqual((await node.info(target)).namespaces, [{ name: 'n', documents: 20 }]);
      assert.equal(
        (await node.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'word', limit: 100, filter: null })).length,
        20,
      );

      const ends = await Promise.all([
        ...nodes.map((one) => one.upsert({ ...target, documents: numbered(20, () => ({ text: 'word' })) })),
        node.drop(target).then(() => 'dropped'),
        ...nodes.map((one) =>
          one.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'word', limit: 1, filter: null }).then(() => 'searched'),
        ),
      ]);
      assert.ok(ends.every((end) => ['done', 'gone', 'dropped', 'searched'].includes(end)));
      assert.deepEqual(await tables(), []);
      assert.equal(await node.upsert({ ...target, documents: numbered(1, () => ({})) }), 'gone');
      await Promise.all(nodes.map((one) => one.close()));
    });
  });
}
