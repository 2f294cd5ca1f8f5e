import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { storeConformance } from '../conformance/index.js';
import { listingConformance } from '../conformance/listings.js';
import { openConnection } from './connection/connection.js';
import { assertNoTableScans } from './connection/table-scans.fixture.js';
import { createSqliteStore } from './index.js';

/** Each store starts as a copy of this one, which is quicker than creating its tables. */
let empty: { readonly directory: string; readonly file: string };
before(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-store-'));
  empty = { directory, file: join(directory, 'everstep.db') };
  await openConnection(empty.file).close();
});
after(() => rm(empty.directory, { recursive: true }));

storeConformance('SQLite in a file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-store-'));
  const file = join(directory, 'everstep.db');
  await copyFile(empty.file, file);
  let connection = openConnection(file);
  let store = createSqliteStore(connection);
  // Shared statements are prepared when they are first executed, so their plans are checked after each test.
  async function close(): Promise<void> {
    assertNoTableScans(connection);
    await store.close();
  }
  return {
    store,
    hasVersions: false,
    async reopen() {
      await close();
      connection = openConnection(file);
      store = createSqliteStore(connection);
      return store;
    },
    async dispose() {
      await close();
      await rm(directory, { recursive: true });
    },
  };
});

/** With low limits, rows are tested one by one for their prefix, as with very many values. */
describe('SQLite with few values looked up by prefix', () => {
  listingConformance(async () => {
    const store = createSqliteStore(openConnection(':memory:'), { values: 3, rows: 10 });
    return {
      store,
      hasVersions: false,
      reopen: () => Promise.reject(new Error('what is in memory is gone when it is closed')),
      dispose: () => store.close(),
    };
  });
});
