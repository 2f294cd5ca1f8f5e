import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sampleDocument } from '../../conformance/search-documents.js';
import { inspectDocuments } from '../connection/store-at-rest.js';
import { openSearchDocuments } from './index.js';

const target = { indexId: 'idx_a', namespace: 'n' } as const;
const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) =>
    sampleDocument(`d${String(from + n).padStart(6, '0')}`, { text: 'word '.repeat(200), n }),
  );

async function opened(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-search-'));
  const documents = openSearchDocuments({ directory: join(directory, 'search') });
  t.after(async () => {
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  });
  return { documents, copy: join(directory, 'copy.db') };
}

test('the documents of an index are copied while more are written', async (t) => {
  const { documents, copy } = await opened(t);
  await documents.upsert({ ...target, documents: numbered(0, 3000) });
  const copied = documents.copyTo({ indexId: target.indexId, file: copy });
  await documents.upsert({ ...target, documents: numbered(3000, 10) });
  assert.equal(await copied, true);
  const found = inspectDocuments(copy);
  assert.deepEqual(found.problems, []);
  assert.ok(found.documents >= 3000);
});

test('an index without documents has nothing to copy', async (t) => {
  const { documents, copy } = await opened(t);
  assert.equal(await documents.copyTo({ indexId: 'idx_none', file: copy }), false);
});

test('an index that is deleted while it is copied is gone immediately, and has nothing to copy', async (t) => {
  const { documents, copy } = await opened(t);
  await documents.upsert({ ...target, documents: numbered(0, 3000) });
  const [copied] = await Promise.all([documents.copyTo({ indexId: target.indexId, file: copy }), documents.drop(target)]);
  assert.equal(copied, false);
});

test('an aborted copy rejects, and so does a copy in progress when the documents are closed', async (t) => {
  const { documents, copy } = await opened(t);
  await documents.upsert({ ...target, documents: numbered(0, 3000) });
  const ended = assert.rejects(documents.copyTo({ indexId: target.indexId, file: copy }), /the copy was aborted/);
  await documents.endCopy({ file: copy });
  await ended;
  const closed = assert.rejects(documents.copyTo({ indexId: target.indexId, file: `${copy}.2` }), /the document store is closed/);
  await documents.close();
  await closed;
});
