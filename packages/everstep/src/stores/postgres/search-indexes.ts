/** Search indexes and their documents. */
import type { SearchIndexStore } from '../../ports/search-store.js';
import type { Database } from './connection.js';

export function createSearchIndexes(_database: Database): SearchIndexStore {
  return new Proxy({} as SearchIndexStore, {
    get: () => () => Promise.reject(new Error('not built yet')),
  });
}
