import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NO_BYTE_LIMIT, type SearchDocuments } from '../../../ports/stores/search-store.js';
import { sampleDocument, searchDocumentsConformance } from '../../conformance/search-documents.js';
import { openSearchDocuments } from './index.js';

async function inFiles() {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-search-'));
  const failures: string[] = [];
  const open = (): SearchDocuments => openSearchDocuments({ directory, onFailure: ({ message }) => failures.push(message) });
  let documents = open();
  return {
    directory,
    documents,
    async reopen() {
      await documents.close();
      documents = open();
      return documents;
    },
    async dispose() {
      await documents.close();
      await rm(directory, { recursive: true });
      assert.deepEqual(failures, []);
    },
  };
}

describe('SQLite files as storage of documents', () => searchDocumentsConformance(inFiles));

describe('SQLite in memory as storage of documents', () =>
  searchDocumentsConformance(async () => {
    const documents = openSearchDocuments({ directory: null });
    return { documents, reopen: null, dispose: () => documents.close() };
  }));

async function opened(t: TestContext) {
  const harness = await inFiles();
  t.after(() => harness.dispose());
  return harness;
}

const target = { indexId: 'idx_a', namespace: 'n' } as const;
const numbered = (count: number, text: (n: number) => object) =>
  Array.from({ length: count }, (_, n) => sampleDocument(`d${String(n).padStart(6, '0')}`, text(n)));

test('a dropped index leaves no file', async (t) => {
  const { directory, documents } = await opened(t);
  await documents.upsert({ ...target, documents: numbered(10, (n) => ({ n })) });
  assert.ok(existsSync(join(directory, 'idx_a.db')));
  await documents.drop(target);
  assert.deepEqual(readdirSync(directory), []);
});

test('only the user of the server can read the files', async (t) => {
  const { directory } = await opened(t);
  const within = join(directory, 'search');
  const documents = openSearchDocuments({ directory: within });
  await documents.upsert({ ...target, documents: numbered(1, (n) => ({ n })) });
  const modes = ['', 'idx_a.db', 'idx_a.db-wal'].map((name) => statSync(join(within, name)).mode & 0o777);
  assert.deepEqual(modes, [0o700, 0o600, 0o600]);
  await documents.close();
});

test('an id that could lead out of the directory is rejected', async (t) => {
  const { documents } = await opened(t);
  await assert.rejects(documents.info({ indexId: '../x' }), /cannot be used as a file name/);
});

test('more indexes work than files may be open at once', async (t) => {
  const { documents } = await opened(t);
  for (let n = 0; n < 70; n++)
    await documents.upsert({ indexId: `idx_${n}`, namespace: 'n', documents: [sampleDocument('a', { n })] });
  for (let n = 0; n < 70; n++)
    assert.deepEqual(await documents.fetch({ maxBytes: NO_BYTE_LIMIT, indexId: `idx_${n}`, namespace: 'n', ids: ['a'] }), [
      sampleDocument('a', { n }),
    ]);
});

test('among very many documents, a rare word beside frequent ones finds its documents, best first', async (t) => {
  const documents = openSearchDocuments({ directory: null });
  t.after(() => documents.close());
  const made = numbered(30_000, (n) => ({
    // Each of the two is in two of three documents; both are in a third of them.
    text: `${n % 3 === 0 ? '' : 'common'} ${n % 3 === 1 ? '' : 'usual'} filler${n}`,
    title: n === 12_345 ? 'rare common' : n === 20_000 ? 'rare' : '',
  }));
  await documents.upsert({ ...target, documents: made });
  const ids = async (text: string, limit: number) =>
    (await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text, limit, filter: null })).map(({ id }) => id);
  assert.deepEqual((await ids('common rare usual', 5)).slice(0, 2).sort(), ['d012345', 'd020000']);
  assert.equal((await ids('common', 5)).length, 5);
  assert.equal((await ids('common usual', 5)).length, 5);
  const filter = { kind: 'compare', field: { of: 'content', steps: ['text'] }, operator: '>=', value: 'z' } as const;
  assert.deepEqual(await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'common', limit: 5, filter }), []);
  const one = { kind: 'glob', field: { of: 'content', steps: ['text'] }, not: false, pattern: '*filler29999' } as const;
  assert.deepEqual(
    (await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'usual', limit: 5, filter: one })).map(({ id }) => id),
    ['d029999'],
  );
});

test('a filter that examines very many documents yields to other work, and ends with its namespace', async (t) => {
  const documents = openSearchDocuments({ directory: null });
  t.after(() => documents.close());
  await documents.upsert({ ...target, documents: numbered(6_000, (n) => ({ text: 'word', n })) });
  const filter = { kind: 'compare', field: { of: 'content', steps: ['n'] }, operator: '<', value: 0 } as const;
  const search = { maxBytes: NO_BYTE_LIMIT, ...target, text: 'word', limit: 5, filter };
  let turns = 0;
  let searching = true;
  const looking = documents.search(search).finally(() => (searching = false));
  while (searching) {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(await looking, []);
  assert.ok(turns > 8, `others had ${turns} turns`);
  const ended = documents.search({ ...search, filter: { ...filter, value: 100_000 } });
  await documents.removeNamespace(target);
  assert.deepEqual(await ended, []);
});

test('a pattern is compared with few long documents before the search yields to other work', async (t) => {
  const documents = openSearchDocuments({ directory: null });
  t.after(() => documents.close());
  const long = 'x'.repeat(120_000);
  await documents.upsert({ ...target, documents: numbered(40, (n) => ({ text: 'word', long, n })) });
  const filter = {
    kind: 'glob',
    field: { of: 'content', steps: ['long'] },
    not: false,
    pattern: `*${'x'.repeat(254)}y`,
  } as const;
  const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
    let turns = 0;
    let isDone = false;
    void work.finally(() => (isDone = true));
    for (; !isDone; turns++) await new Promise((resolve) => setImmediate(resolve));
    return turns;
  };
  const search = documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'word', limit: 5, filter });
  assert.ok((await turnsDuring(search)) >= 40);
  assert.deepEqual(await search, []);
  const removal = documents.remove({ ...target, choice: { kind: 'filter', filter } });
  assert.ok((await turnsDuring(removal)) >= 40);
  assert.equal(await removal, 0);
  const all = {
    kind: 'and',
    parts: [
      { ...filter, pattern: '*xx' },
      { kind: 'has', field: filter.field, not: false },
    ],
  } as const;
  assert.equal((await documents.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'word', limit: 40, filter: all })).length, 40);
  assert.equal(await documents.remove({ ...target, choice: { kind: 'filter', filter: all } }), 40);
});

test('a server that is killed while it removes rows continues where it stopped, and the file is consistent', async (t) => {
  const { directory, documents, reopen } = await opened(t);
  await documents.close();
  const fixture = fileURLToPath(new URL('./killed-cleaner.fixture.js', import.meta.url));
  for (const rounds of [1, 2, 4]) {
    const child = spawn(process.execPath, [fixture, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    let seen = 0;
    child.stdout.on('data', () => {
      seen += 1;
      if (seen >= rounds) child.kill('SIGKILL');
    });
    await once(child, 'close');
  }
  const again = await reopen();
  await again.resume(target);
  const [info] = (await again.info(target)).namespaces;
  const ids = (await again.range({ maxBytes: NO_BYTE_LIMIT, ...target, prefix: '', after: null, limit: 2000 })).map(
    ({ id }) => id,
  );
  assert.equal(info?.documents, ids.length);
  assert.equal(
    (await again.search({ maxBytes: NO_BYTE_LIMIT, ...target, text: 'word', limit: 2000, filter: null })).length,
    ids.length,
  );
  await again.close();
  const database = new DatabaseSync(join(directory, 'idx_a.db'));
  assert.equal(Object.values(database.prepare('PRAGMA integrity_check').get() ?? {})[0], 'ok');
  const left = database
    .prepare("SELECT count(*) AS tables FROM sqlite_schema WHERE name GLOB 'document_*' AND type = 'table'")
    .get();
  assert.deepEqual([left?.tables, database.prepare('SELECT count(*) AS rows FROM namespace').get()?.rows], [1, 1]);
  database.close();
});
