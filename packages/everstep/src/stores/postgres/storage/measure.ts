/** Computes sums over the whole store, for metrics. */
import { NEW_FOR_MS } from '../../../engine/dead-letters/dead-letter-groups.js';
import { countsWithTriage } from '../../../engine/dead-letters/group-triage.js';
import type { StoreMeasure } from '../../../ports/stores/store.js';
import { RANK_NEW, RANK_REGRESSED } from '../../shared/dead-letters/dead-letter-groups.js';
import { TRIAGED_COLUMNS, triagedGroupOf } from '../../shared/dead-letters/group-attention.js';
import { integer } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

const SELECT_SUMS = statement(`
  SELECT (SELECT coalesce(sum(active_runs), 0) FROM instance_totals)::bigint AS active_runs,
    (SELECT coalesce(sum(entries), 0) FROM dead_letter_group)::bigint AS dead_letters,
    (SELECT count(*) FROM dead_letter_group WHERE rank = ${RANK_NEW} AND first_seen_at > $1::bigint AND entries > 0) AS new_groups,
    (SELECT count(*) FROM dead_letter_group WHERE rank = ${RANK_REGRESSED} AND entries > 0) AS regressed_groups,
    pg_database_size(current_database()) AS bytes`);

/** Selects the groups with a triage decision of a user. There are few. */
const SELECT_TRIAGED = statement(`SELECT ${TRIAGED_COLUMNS} FROM dead_letter_group WHERE triage IS NOT NULL AND entries > 0`);

/** Computes the sums. Reads a few rows for each instance, and one for each group of dead letters. */
export async function measure(session: Session, now: number): Promise<StoreMeasure> {
  const [row = {}] = await session.query(SELECT_SUMS, [now - NEW_FOR_MS]);
  const counts = { new: integer(row, 'new_groups'), regressed: integer(row, 'regressed_groups') };
  const triagedGroups = (await session.query(SELECT_TRIAGED)).map(triagedGroupOf);
  return {
    activeRuns: integer(row, 'active_runs'),
    deadLetters: integer(row, 'dead_letters'),
    errorGroups: countsWithTriage(counts, triagedGroups, now),
    bytes: integer(row, 'bytes'),
  };
}
