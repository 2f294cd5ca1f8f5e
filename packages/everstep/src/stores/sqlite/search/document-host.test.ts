import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { NO_BYTE_LIMIT } from '../../../ports/stores/search-store.js';
import { sampleDocument } from '../../conformance/search-documents.js';
import { DocumentHost } from './document-host.js';

/** Number of files that are open at the same time, if none of them must stay open. */
const MAX_OPEN_FILES = 64;
const target = { indexId: 'idx_a', namespace: 'n' } as const;

async function opened(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-host-'));
  const failures: string[] = [];
  const search = join(directory, 'search');
  const host = new DocumentHost({ directory: search, onFailure: ({ message }) => failures.push(message) });
  t.after(async () => {
    await host.close();
    await rm(directory, { recursive: true });
  });
  return { host, directory, search, failures };
}

test('an index is opened while the maximum number of other files is in use', async (t) => {
  const { host, directory } = await opened(t);
  const upsert = (indexId: string) =>
    host.upsert({ indexId, namespace: 'n', documents: [sampleDocument('a', { text: 'word' })] });
  const busyIds = Array.from({ length: MAX_OPEN_FILES }, (_, n) => `idx_busy${n}`);
  for (const indexId of busyIds) await upsert(indexId);
  const copies = busyIds.map((indexId) => host.copyTo({ indexId, file: join(directory, `${indexId}.copy`) }));
  for (const indexId of ['idx_more1', 'idx_more2']) assert.equal(await upsert(indexId), 'done');
  assert.ok((await Promise.all(copies)).every((isCopied) => isCopied));
  // Files above the limit are closed when they are no longer in use.
  assert.equal(await upsert('idx_more3'), 'done');
  assert.equal(readdirSync(join(directory, 'search')).filter((name) => name.endsWith('.db-wal')).length, MAX_OPEN_FILES);
  for (const indexId of [...busyIds, 'idx_more1'])
    assert.equal((await host.fetch({ indexId, namespace: 'n', ids: ['a'], maxBytes: NO_BYTE_LIMIT }))[0]?.id, 'a');
});

test('an index that is being deleted while a removed namespace is cleaned is empty, and its file is not opened again', async (t) => {
  const { host, search, failures } = await opened(t);
  const documents = Array.from({ length: 3000 }, (_, n) => sampleDocument(`d${n}`, { text: 'word '.repeat(50), n }));
  await host.upsert({ ...target, documents });
  await host.upsert({ ...target, namespace: 'other', documents: documents.slice(0, 1) });
  await host.removeNamespace(target);
  const dropping = host.drop(target);
  assert.deepEqual(await host.info(target), { namespaces: [], diskBytes: 0 });
  assert.equal(await host.upsert({ ...target, documents: documents.slice(0, 1) }), 'gone');
  await Promise.all([dropping, host.drop(target)]);
  assert.deepEqual(readdirSync(search), []);
  await host.resume(target);
  assert.deepEqual([readdirSync(search), failures], [[], []]);
});
