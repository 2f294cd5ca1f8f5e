/** Observes the transactions and errors of the store, and the operations on documents of search indexes. */
import type { Observer } from '../ports/observer.js';
import type { SearchDocuments } from '../ports/stores/search-store.js';
import type { Store } from '../ports/stores/store.js';

/** Returns a store that counts failed calls. Callers receive the same promises, and do not wait longer. */
function countFailures(store: Store, observer: Observer): Store {
  const countedMethods = Object.entries(store).flatMap(([name, method]) =>
    typeof method === 'function'
      ? [
          [
            name,
            (...parameters: readonly unknown[]): unknown => {
              const result: unknown = Reflect.apply(method, store, parameters);
              if (result instanceof Promise) void result.catch(() => observer.storeFailed(name));
              return result;
            },
          ],
        ]
      : [],
  );
  return { ...store, ...Object.fromEntries(countedMethods) };
}

export function observeStore(store: Store, observer: Observer, elapsedMs: () => number): Store {
  const countedStore = countFailures(store, observer);
  return {
    ...countedStore,
    async commit(units) {
      const startedAt = elapsedMs();
      try {
        const results = await countedStore.commit(units);
        observer.batchWritten(units.length, results, elapsedMs() - startedAt);
        return results;
      } catch (error) {
        observer.batchWritten(units.length, null, elapsedMs() - startedAt);
        throw error;
      }
    },
  };
}

export function observeDocuments(documents: SearchDocuments, observer: Observer, elapsedMs: () => number): SearchDocuments {
  /** Resolves with the result of `work`, and reports it with its duration. */
  async function timeOperation<Result>(operation: string, work: Promise<Result>): Promise<Result> {
    const startedAt = elapsedMs();
    try {
      const result = await work;
      observer.searched(operation, 'ok', elapsedMs() - startedAt);
      return result;
    } catch (error) {
      observer.searched(operation, 'failed', elapsedMs() - startedAt);
      throw error;
    }
  }
  return {
    upsert: (query) => timeOperation('upsert', documents.upsert(query)),
    fetch: (query) => timeOperation('fetch', documents.fetch(query)),
    range: (query) => timeOperation('range', documents.range(query)),
    search: (query) => timeOperation('search', documents.search(query)),
    remove: (query) => timeOperation('remove', documents.remove(query)),
    reset: (query) => timeOperation('reset', documents.reset(query)),
    removeNamespace: (query) => timeOperation('remove-namespace', documents.removeNamespace(query)),
    storedBytes: (query) => documents.storedBytes(query),
    info: (query) => timeOperation('info', documents.info(query)),
    drop: (query) => timeOperation('drop', documents.drop(query)),
    resume: (query) => documents.resume(query),
    close: () => documents.close(),
  };
}
