/** Sums over the whole store, for metrics. */
import type { StoreMeasure } from '../../../ports/stores/store.js';
import { RANK_NEW, RANK_REGRESSED } from '../../shared/dead-letters/dead-letter-groups.js';
import { integer } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

const MEASURE = statement(`
  SELECT (SELECT coalesce(sum(active_runs), 0) FROM instance_totals)::bigint AS active_runs,
    (SELECT coalesce(sum(entries), 0) FROM dead_letter_group)::bigint AS dead_letters,
    (SELECT count(*) FROM dead_letter_group WHERE rank = ${RANK_NEW} AND entries > 0) AS new_groups,
    (SELECT count(*) FROM dead_letter_group WHERE rank = ${RANK_REGRESSED} AND entries > 0) AS regressed_groups,
    pg_database_size(current_database()) AS bytes`);

/** Measures the store. Reads a few rows for each instance and one for each group of dead letters. */
export async function measure(session: Session): Promise<StoreMeasure> {
  const [row = {}] = await session.query(MEASURE);
  return {
    activeRuns: integer(row, 'active_runs'),
    deadLetters: integer(row, 'dead_letters'),
    errorGroups: { new: integer(row, 'new_groups'), regressed: integer(row, 'regressed_groups') },
    bytes: integer(row, 'bytes'),
  };
}
