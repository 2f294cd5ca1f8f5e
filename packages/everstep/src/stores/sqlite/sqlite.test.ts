import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeConformance } from '../conformance/index.js';
import { openSqliteStore } from './index.js';

storeConformance('SQLite in a file', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'everstep-store-'));
  const file = join(directory, 'everstep.db');
  let store = await openSqliteStore({ file });
  return {
    store,
    async reopen() {
      await store.close();
      store = await openSqliteStore({ file });
      return store;
    },
    async dispose() {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
});
