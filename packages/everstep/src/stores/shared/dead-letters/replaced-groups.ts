/** Merges groups of earlier rules, whose entries have moved, into the groups that replace them. */
import { SEVERAL_SUCCESSORS } from '../../../engine/dead-letters/dead-letter-groups.js';
import { text } from '../../records/columns.js';
import { FOR_UPDATE, greatest, INSTANCE_COLUMN, least } from '../sql/dialect.js';
import { type Procedure, row, send } from '../sql/procedure.js';
import { byDialect, raw, type Sql, sql } from '../sql/sql.js';

const REPLACED_INDEX = byDialect({ sqlite: raw('INDEXED BY dead_letter_group_replaced'), postgres: raw('') });

/** Makes SQLite search the index instead of scanning it. */
const ANY_OWNER = byDialect({ sqlite: raw('tenant > 0'), postgres: raw('true') });

/** `regressed_at` of the merged group: marks of the old group `o` apply unless its successor `s` has its own. */
const REGRESSED = raw(`CASE WHEN s.resolved_at IS NOT NULL THEN NULL
  ELSE coalesce(s.regressed_at, o.regressed_at, CASE WHEN o.resolved_at <= s.last_seen_at THEN s.last_seen_at END) END`);

/**
 * Merges one group whose entries have all moved. If it has a single successor, the successor receives its marks, its total and
 * its times. Returns the number of merged groups.
 */
export function* mergeReplacedGroup(): Procedure<number> {
  const oldGroup = yield* row(sql`
    SELECT ${INSTANCE_COLUMN} AS owner, fingerprint, successor FROM dead_letter_group ${REPLACED_INDEX}
    WHERE successor IS NOT NULL AND ${ANY_OWNER} AND entries = 0 LIMIT 1`);
  if (!oldGroup) return 0;
  const owner = typeof oldGroup.owner === 'string' ? oldGroup.owner : Number(oldGroup.owner);
  const [from, to] = [text(oldGroup, 'fingerprint'), text(oldGroup, 'successor')];
  const isGroup = (fingerprint: string): Sql => sql`${INSTANCE_COLUMN} = ${owner} AND fingerprint = ${fingerprint}`;
  // Groups are locked in the order in which commits lock them.
  for (const fingerprint of [from, to].sort()) {
    const lockedGroup = yield* row(sql`SELECT entries FROM dead_letter_group WHERE ${isGroup(fingerprint)} ${FOR_UPDATE}`);
    if (fingerprint === from && (!lockedGroup || Number(lockedGroup.entries) !== 0)) return 0;
  }
  if (to !== SEVERAL_SUCCESSORS) {
    yield* send(sql`
      UPDATE dead_letter_group AS s SET
        total = s.total + o.total,
        first_seen_at = ${least(raw('s.first_seen_at'), raw('o.first_seen_at'))},
        last_seen_at = ${greatest(raw('s.last_seen_at'), raw('o.last_seen_at'))},
        acknowledged_by = CASE WHEN s.acknowledged_at IS NULL THEN o.acknowledged_by ELSE s.acknowledged_by END,
        acknowledged_at = coalesce(s.acknowledged_at, o.acknowledged_at),
        resolved_at = CASE WHEN s.resolved_at IS NULL AND o.resolved_at > s.last_seen_at THEN o.resolved_at ELSE s.resolved_at END,
        regressed_at = ${REGRESSED},
        triage = coalesce(s.triage, o.triage),
        rank = CASE WHEN ${REGRESSED} IS NOT NULL THEN 0
          WHEN coalesce(s.acknowledged_at, o.acknowledged_at) IS NOT NULL THEN 2 ELSE s.rank END
      FROM dead_letter_group AS o
      WHERE s.${INSTANCE_COLUMN} = ${owner} AND s.fingerprint = ${to} AND o.${INSTANCE_COLUMN} = ${owner} AND o.fingerprint = ${from}`);
    yield* send(sql`
      INSERT INTO dead_letter_group_hour AS h (${INSTANCE_COLUMN}, fingerprint, hour, count)
      SELECT x.${INSTANCE_COLUMN}, g.fingerprint, x.hour, x.count FROM dead_letter_group_hour x
      JOIN dead_letter_group g ON g.${INSTANCE_COLUMN} = x.${INSTANCE_COLUMN} AND g.fingerprint = ${to}
      WHERE x.${INSTANCE_COLUMN} = ${owner} AND x.fingerprint = ${from} AND x.count > 0
      ON CONFLICT (${INSTANCE_COLUMN}, fingerprint, hour) DO UPDATE SET count = h.count + excluded.count`);
  }
  yield* send(sql`DELETE FROM dead_letter_group_hour WHERE ${isGroup(from)}`);
  yield* send(sql`DELETE FROM dead_letter_group_workflow WHERE ${isGroup(from)}`);
  yield* send(sql`DELETE FROM dead_letter_group WHERE ${isGroup(from)}`);
  return 1;
}
