/** Sums over the whole store, for metrics. */
import type { StoreMeasure } from '../../../ports/stores/store.js';
import { StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { integer } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { Transaction } from '../connection/transaction.js';

/** Returns a function that measures the store. It reads one row for each instance and each group of dead letters. */
export function createMeasure({ connection, sums }: StoreParts, transaction: Transaction): () => Promise<StoreMeasure> {
  const activeRuns = connection.prepare('SELECT coalesce(sum(active_runs), 0) AS count FROM instance_totals');
  const deadLetters = connection.prepare('SELECT coalesce(sum(entries), 0) AS count FROM dead_letter_group');
  const pages = connection.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size');
  return async () => {
    try {
      if (!sums.isEmpty) transaction.run(() => sums.settle());
    } catch (error) {
      // A store that rejects writes can be read; the counts of its last commits are missing.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
    return {
      activeRuns: integer(activeRuns.get() ?? {}, 'count'),
      deadLetters: integer(deadLetters.get() ?? {}, 'count'),
      bytes: integer(pages.get() ?? {}, 'bytes'),
    };
  };
}
