/**
 * Groups that need attention. States are counted with an index. Triaged groups are few, so their snoozes are checked one by one,
 * with the function that the whole server uses.
 */
import { groupState, NEW_FOR_MS } from '../../../engine/dead-letters/dead-letter-groups.js';
import { attentionFor, countsWithTriage, type TriagedGroup } from '../../../engine/dead-letters/group-triage.js';
import type {
  DeadLetterGroupRecord,
  DeadLetterGroupsQuery,
  DeadLetterGroupTotals,
} from '../../../ports/stores/dead-letter-groups.js';
import { integer, integerOrNull, type Row, text } from '../../records/columns.js';
import { ofInstance, withIndex } from '../sql/dialect.js';
import { type Procedure, row, rows } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { groupsFrom, records, type StoreSpecificGroups, TRIAGE } from './dead-letter-groups.js';

/** Columns that `triagedGroupOf` reads. */
export const TRIAGED_COLUMNS = 'first_seen_at, acknowledged_at, regressed_at, triage';

/** Reads a row with these columns. */
export const triagedGroupOf = (row: Row): TriagedGroup => ({
  firstSeenAt: integer(row, 'first_seen_at'),
  acknowledgedAt: integerOrNull(row, 'acknowledged_at'),
  regressedAt: integerOrNull(row, 'regressed_at'),
  triage: TRIAGE.read(row, 'triage'),
});

/** Returns the triaged groups that have entries, the most recently seen first. */
function* triagedGroups({ instanceId, kind }: DeadLetterGroupsQuery) {
  const foundRows = yield* rows(sql`
    SELECT fingerprint, first_seen_at, acknowledged_at, regressed_at, triage
    FROM dead_letter_group ${withIndex('dead_letter_group_triaged')}
    WHERE ${ofInstance(instanceId)} AND kind = ${kind} AND triage IS NOT NULL AND entries > 0
    ORDER BY last_seen_at DESC, fingerprint`);
  return foundRows.map((groupRow) => ({ fingerprint: text(groupRow, 'fingerprint'), ...triagedGroupOf(groupRow) }));
}

export function* groupsNeedingAttention(
  query: DeadLetterGroupsQuery & { readonly limit: number },
  specificParts: StoreSpecificGroups,
): Procedure<readonly DeadLetterGroupRecord[]> {
  const { instanceId, kind, now, limit } = query;
  const groups = yield* triagedGroups(query);
  const quietFingerprints = new Set(
    groups.filter((group) => attentionFor(group, now) === null).map(({ fingerprint }) => fingerprint),
  );
  const filter = { kind, states: ['regressed', 'new'], withEmpty: false } as const;
  const page = { instanceId, filter, now, after: null, limit: limit + quietFingerprints.size };
  const fingerprints = (yield* groupsFrom(page))
    .map(({ fingerprint }) => fingerprint)
    .filter((fingerprint) => !quietFingerprints.has(fingerprint));
  // A known group needs attention only if its snooze is over.
  for (const group of groups)
    if (!quietFingerprints.has(group.fingerprint) && groupState(group, now) === 'known') fingerprints.push(group.fingerprint);
  return yield* records(instanceId, fingerprints.slice(0, limit), now, specificParts);
}

export function* totals(query: DeadLetterGroupsQuery): Procedure<DeadLetterGroupTotals> {
  const { instanceId, kind, now } = query;
  const foundRow = yield* row(sql`
    SELECT count(*) AS group_count, CAST(coalesce(sum(entries), 0) AS bigint) AS entries,
      coalesce(sum(CASE WHEN rank = 0 THEN 1 ELSE 0 END), 0) AS regressed,
      coalesce(sum(CASE WHEN rank = 1 AND first_seen_at > ${now - NEW_FOR_MS} THEN 1 ELSE 0 END), 0) AS new
    FROM dead_letter_group ${withIndex('dead_letter_group_listed')}
    WHERE ${ofInstance(instanceId)} AND kind = ${kind} AND entries > 0`);
  const countOf = (name: string): number => (foundRow ? integer(foundRow, name) : 0);
  const counts = countsWithTriage({ new: countOf('new'), regressed: countOf('regressed') }, yield* triagedGroups(query), now);
  return { ...counts, groups: countOf('group_count'), entries: countOf('entries') };
}
