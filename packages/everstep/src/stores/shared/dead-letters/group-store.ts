/** The store of groups of dead letters: lists, marks and tidies them. */
import {
  EMPTY_GROUP_RETENTION_MS,
  HOUR_COUNTS_RETENTION_MS,
  hourOf,
  NEW_FOR_MS,
} from '../../../engine/dead-letters/dead-letter-groups.js';
import { applyMark, type GroupMark } from '../../../engine/dead-letters/group-triage.js';
import type { DeadLetterGroupStore, MarkOutcome } from '../../../ports/stores/dead-letter-groups.js';
import { createAccountChange } from '../accounts/change.js';
import { FOR_UPDATE, INSTANCE_COLUMN, ofInstance, someOf } from '../sql/dialect.js';
import { count, type Procedure, row, type SqlStore, send } from '../sql/procedure.js';
import { raw, type Sql, sql } from '../sql/sql.js';
import { list, records, type StoreSpecificGroups, TRIAGE } from './dead-letter-groups.js';
import { groupsNeedingAttention, totals } from './group-attention.js';
import { mergeReplacedGroup } from './replaced-groups.js';

/** Returns the assignments of the state columns that a mark changes, as a continuation of the assignment of the triage. */
function stateAssignments({ kind, at, by }: GroupMark): Sql {
  const knownAssignments = sql`, regressed_at = NULL, rank = 2`;
  if (kind === 'acknowledge') return sql`${knownAssignments}, acknowledged_at = ${at}, acknowledged_by = ${by}`;
  if (kind !== 'resolve') return raw('');
  return sql`${knownAssignments}, resolved_at = ${at}, acknowledged_at = coalesce(acknowledged_at, ${at}),
    acknowledged_by = CASE WHEN acknowledged_at IS NULL THEN ${by} ELSE acknowledged_by END`;
}

function* markGroup(instanceId: string, fingerprint: string, groupMark: GroupMark): Procedure<MarkOutcome> {
  const isGroup = sql`${ofInstance(instanceId)} AND fingerprint = ${fingerprint}`;
  // The row is locked, so that no note is lost if two are added at the same time.
  const foundRow = yield* row(sql`SELECT triage FROM dead_letter_group WHERE ${isGroup} ${FOR_UPDATE}`);
  if (!foundRow) return 'not-found';
  const triage = applyMark(TRIAGE.read(foundRow, 'triage'), groupMark);
  if (typeof triage === 'string') return triage;
  yield* send(sql`UPDATE dead_letter_group SET triage = ${TRIAGE.write(triage)}${stateAssignments(groupMark)} WHERE ${isGroup}`);
  return 'done';
}

/** Tidies groups. Locked rows are left for the next call. */
function* tidy(now: number, limit: number): Procedure<number> {
  const someGroups = (condition: Sql) => someOf(sql`${INSTANCE_COLUMN}, fingerprint`, 'dead_letter_group', condition, limit);
  const agedGroups = yield* count(
    sql`UPDATE dead_letter_group SET rank = 2 WHERE ${someGroups(sql`rank = 1 AND first_seen_at <= ${now - NEW_FOR_MS}`)}`,
  );
  const isOld = sql`hour < ${hourOf(now - HOUR_COUNTS_RETENTION_MS)}`;
  const removedHours = yield* count(
    sql`
      DELETE FROM dead_letter_group_hour
      WHERE ${someOf(sql`${INSTANCE_COLUMN}, fingerprint, hour`, 'dead_letter_group_hour', isOld, limit)}`,
  );
  const removedGroups = yield* count(
    sql`DELETE FROM dead_letter_group WHERE ${someGroups(sql`entries = 0 AND last_seen_at < ${now - EMPTY_GROUP_RETENTION_MS}`)}`,
  );
  return agedGroups + removedHours + removedGroups;
}

export function createDeadLetterGroups(store: SqlStore, specificParts: StoreSpecificGroups): DeadLetterGroupStore {
  const change = createAccountChange(store, specificParts.addAudit);
  return {
    ungrouped: specificParts.ungrouped,
    async group(query) {
      await specificParts.group(query);
      while ((await store.write(mergeReplacedGroup)) > 0);
    },
    recount: specificParts.recount,
    list: (page) => store.read(list(page, specificParts)),
    needingAttention: (query) => store.read(groupsNeedingAttention(query, specificParts)),
    totals: (query) => store.read(totals(query)),
    async find({ instanceId, fingerprint, now }) {
      const [record] = await store.read(records(instanceId, [fingerprint], now, specificParts));
      return record ?? null;
    },
    mark: ({ instanceId, fingerprint, mark: groupMark, audit }) =>
      change(() => markGroup(instanceId, fingerprint, groupMark), audit),
    // A process may have ended after entries were moved and before the merge.
    tidy: async ({ now, limit }) => (await store.write(mergeReplacedGroup)) + (await store.write(() => tidy(now, limit))),
  };
}
