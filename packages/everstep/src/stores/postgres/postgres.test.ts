import { describe } from 'node:test';
import { storeConformance } from '../conformance/index.js';
import { openPostgresStore } from './index.js';
import { openTestSchemas } from './testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('PostgreSQL as a store', { skip: schemas }, () => {});
} else {
  // One for all tests, emptied after each: making the tables anew would take longer than most of them.
  const schema = await schemas.make();
  const { url } = schema;
  storeConformance('PostgreSQL', async () => {
    let store = await openPostgresStore({ url, log });
    return {
      store,
      async reopen() {
        await store.close();
        store = await openPostgresStore({ url, log });
        return store;
      },
      async dispose() {
        await store.close();
        await schema.clear();
      },
    };
  });
}
