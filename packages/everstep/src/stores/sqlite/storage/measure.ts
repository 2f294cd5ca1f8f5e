/** Sums over the whole store, for metrics. */
import { NEW_FOR_MS } from '../../../engine/dead-letters/dead-letter-groups.js';
import { countsWithTriage } from '../../../engine/dead-letters/group-triage.js';
import type { Store } from '../../../ports/stores/store.js';
import { StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { RANK_NEW, RANK_REGRESSED } from '../../shared/dead-letters/dead-letter-groups.js';
import { TRIAGED_COLUMNS, triagedGroupOf } from '../../shared/dead-letters/group-attention.js';
import { integer } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { Transaction } from '../connection/transaction.js';

/** SQL that sums the groups of dead letters. It reads only an index. */
export const SUM_OF_GROUPS = `SELECT coalesce(sum(entries), 0) AS count,
  coalesce(sum(rank = ${RANK_NEW} AND first_seen_at > ? AND entries > 0), 0) AS new,
  coalesce(sum(rank = ${RANK_REGRESSED} AND entries > 0), 0) AS regressed FROM dead_letter_group`;
/** SQL that selects the triaged groups, which are few. */
export const TRIAGED_GROUPS = `SELECT ${TRIAGED_COLUMNS} FROM dead_letter_group INDEXED BY dead_letter_group_triaged
  WHERE triage IS NOT NULL AND entries > 0`;

/** Returns a function that measures the store. It reads one row for each instance and each group of dead letters. */
export function createMeasure({ connection, sums }: StoreParts, transaction: Transaction): Store['measure'] {
  const selectActiveRuns = connection.prepare('SELECT coalesce(sum(active_runs), 0) AS count FROM instance_totals');
  const sumGroups = connection.prepare(SUM_OF_GROUPS);
  const selectTriagedGroups = connection.prepare(TRIAGED_GROUPS);
  const selectBytes = connection.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size');
  return async (now) => {
    try {
      if (!sums.isEmpty) transaction.run(() => sums.settle());
    } catch (error) {
      // A store that rejects writes can still be read, without the counts of its last commits.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
    const groupSums = sumGroups.get(now - NEW_FOR_MS) ?? {};
    const counts = { new: integer(groupSums, 'new'), regressed: integer(groupSums, 'regressed') };
    return {
      activeRuns: integer(selectActiveRuns.get() ?? {}, 'count'),
      deadLetters: integer(groupSums, 'count'),
      errorGroups: countsWithTriage(counts, selectTriagedGroups.all().map(triagedGroupOf), now),
      bytes: integer(selectBytes.get() ?? {}, 'bytes'),
    };
  };
}
