/** Sums over the whole store, for metrics. */
import type { StoreMeasure } from '../../../ports/stores/store.js';
import { integer } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

const MEASURE = statement(`
  SELECT (SELECT coalesce(sum(active_runs), 0) FROM instance_totals)::bigint AS active_runs,
    (SELECT coalesce(sum(entries), 0) FROM dead_letter_group)::bigint AS dead_letters,
    pg_database_size(current_database()) AS bytes`);

/** Reads a few rows for each instance and one for each group of dead letters. */
export async function measure(session: Session): Promise<StoreMeasure> {
  const [row = {}] = await session.query(MEASURE);
  return {
    activeRuns: integer(row, 'active_runs'),
    deadLetters: integer(row, 'dead_letters'),
    bytes: integer(row, 'bytes'),
  };
}
