/** Observes the transactions of the store. */
import type { Observer } from '../ports/observer.js';
import type { Store } from '../ports/stores/store.js';

export function observedStore(store: Store, observer: Observer, elapsedMs: () => number): Store {
  return {
    ...store,
    async commit(units) {
      const startedAt = elapsedMs();
      try {
        const results = await store.commit(units);
        observer.batchWritten(units.length, results, elapsedMs() - startedAt);
        return results;
      } catch (error) {
        observer.batchWritten(units.length, null, elapsedMs() - startedAt);
        throw error;
      }
    },
  };
}
