import assert from 'node:assert/strict';
import { after, describe } from 'node:test';
import type { SearchDocuments } from '../../../ports/search-store.js';
import { searchDocumentsConformance } from '../../conformance/search-documents.js';
import { Database } from '../connection.js';
import { migrate } from '../migrate.js';
import { openTestSchemas } from '../testing/schemas.js';
import { openPostgresSearchDocuments } from './index.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

if (typeof schemas === 'string') {
  describe('PostgreSQL as the keeper of documents', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const database = new Database({ url: schema.url, log });
  after(() => database.close());
  await migrate(database, schema.url);
  const failures: string[] = [];
  const open = (): SearchDocuments =>
    openPostgresSearchDocuments({ database, onFailure: ({ message }) => failures.push(message) });
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

  describe('PostgreSQL as the keeper of documents', () => searchDocumentsConformance(opened));
}
