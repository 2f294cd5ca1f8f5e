/** The groups of dead letters in the PostgreSQL store. Also groups dead letters that older versions stored without a group. */
import { GroupChanges } from '../../../engine/dead-letters/dead-letter-groups.js';
import type { DeadLetterGroupStore } from '../../../ports/stores/dead-letter-groups.js';
import { addAudit } from '../../shared/audit/audit-log.js';
import { exampleOf, SHORT_RESPONSE, ungroupedOf } from '../../shared/dead-letters/dead-letter-groups.js';
import { createDeadLetterGroups } from '../../shared/dead-letters/group-store.js';
import { inList } from '../../shared/sql/dialect.js';
import { rows } from '../../shared/sql/procedure.js';
import { raw, sql } from '../../shared/sql/sql.js';
import { integer, integerOrNull, type Row, text } from '../connection/columns.js';
import { type Database, type Session, type SqlValue, statement } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';
import type { SqlSession } from '../connection/sql-session.js';
import { sendGroupChanges } from './dead-letter-group-writes.js';

const REGROUPING = {
  instance_id: 'text',
  dlq_id: 'text',
  previous_fingerprint: 'text',
  fingerprint: 'text',
  rules: 'integer',
} as const satisfies Columns;
const LOCK_UNGROUPED = statement(`
  SELECT d.instance_id, d.dlq_id, d.response_status, d.created_at FROM ${unnest(REGROUPING)} AS u(${columnNames(REGROUPING)})
  JOIN dead_letter d ON d.instance_id = u.instance_id AND d.dlq_id = u.dlq_id
    AND d.fingerprint IS NOT DISTINCT FROM u.previous_fingerprint
  ORDER BY d.instance_id, d.dlq_id FOR UPDATE OF d`);
const SET_FINGERPRINTS = statement(`
  UPDATE dead_letter d SET fingerprint = u.fingerprint, rules = u.rules FROM ${unnest(REGROUPING)} AS u(${columnNames(REGROUPING)})
  WHERE d.instance_id = u.instance_id AND d.dlq_id = u.dlq_id AND d.fingerprint IS NOT DISTINCT FROM u.previous_fingerprint`);
const GROUP_KEY = { instance_id: 'text', fingerprint: 'text' } as const satisfies Columns;
const NEXT_GROUPS = `
  SELECT instance_id, fingerprint FROM dead_letter_group WHERE (instance_id, fingerprint) > ($1::text, $2::text)
  ORDER BY instance_id, fingerprint LIMIT $3`;
const LOCK_NEXT_GROUPS = statement(`${NEXT_GROUPS} FOR UPDATE`);
/** Finds the rows in distributed tables with a plain read. They are then locked by instance. */
const FIND_NEXT_GROUPS = statement(NEXT_GROUPS);
const LOCK_FOUND_GROUPS = statement(`
  SELECT g.fingerprint FROM ${unnest(GROUP_KEY)} AS u(${columnNames(GROUP_KEY)})
  JOIN dead_letter_group g ON g.instance_id = u.instance_id AND g.fingerprint = u.fingerprint
  ORDER BY g.fingerprint FOR UPDATE OF g`);
/**
 * Corrects wrong counts of entries, and returns the groups whose count was wrong. Transactions that change entries update the
 * counts either before the groups are locked or after the locks are released.
 */
const RECOUNT = statement(`
  UPDATE dead_letter_group g SET entries = c.entries FROM (
    SELECT u.instance_id, u.fingerprint, (
      SELECT count(*) FROM dead_letter d WHERE d.instance_id = u.instance_id AND d.fingerprint = u.fingerprint) AS entries
    FROM ${unnest(GROUP_KEY)} AS u(${columnNames(GROUP_KEY)})) c
  WHERE g.instance_id = c.instance_id AND g.fingerprint = c.fingerprint AND g.entries <> c.entries
  RETURNING g.instance_id, g.fingerprint`);
const DELETE_WORKFLOWS = statement(`
  DELETE FROM dead_letter_group_workflow w USING ${unnest(GROUP_KEY)} AS u(${columnNames(GROUP_KEY)})
  WHERE w.instance_id = u.instance_id AND w.fingerprint = u.fingerprint`);
const RECOUNT_WORKFLOWS = statement(`
  INSERT INTO dead_letter_group_workflow (instance_id, fingerprint, workflow_url, entries)
  SELECT d.instance_id, d.fingerprint, d.workflow_url, count(*) FROM ${unnest(GROUP_KEY)} AS u(${columnNames(GROUP_KEY)})
  JOIN dead_letter d ON d.instance_id = u.instance_id AND d.fingerprint = u.fingerprint GROUP BY 1, 2, 3`);

const groupKeyOf = (row: Row) => ({ instance_id: text(row, 'instance_id'), fingerprint: text(row, 'fingerprint') });

async function lockNextGroups(session: Session, range: readonly SqlValue[]): Promise<readonly Row[]> {
  if (!session.engine.isDistributed) return session.query(LOCK_NEXT_GROUPS, range);
  const foundRows = await session.query(FIND_NEXT_GROUPS, range);
  await session.query(LOCK_FOUND_GROUPS, columnArrays(GROUP_KEY, foundRows.map(groupKeyOf)));
  return foundRows;
}

export function createPostgresDeadLetterGroups(database: Database, sqlStore: SqlSession): DeadLetterGroupStore {
  return createDeadLetterGroups(sqlStore, {
    addAudit,
    *examples(instanceId, fingerprints) {
      const foundRows = yield* rows(sql`
        SELECT g.fingerprint, e.dlq_id, e.error, e.failed_by FROM dead_letter_group g JOIN LATERAL (
          SELECT d.dlq_id, d.error, d.failed_by FROM dead_letter d
          WHERE d.instance_id = g.instance_id AND d.fingerprint = g.fingerprint ORDER BY d.place DESC LIMIT 1) e ON true
        WHERE g.instance_id = ${instanceId} AND g.fingerprint ${inList(fingerprints)}`);
      return new Map(foundRows.map((row) => [text(row, 'fingerprint'), exampleOf(row)]));
    },
    async ungrouped({ limit }) {
      const foundRows = await sqlStore.read(
        rows(sql`
          SELECT d.instance_id, d.dlq_id, d.fingerprint, d.failed_by, ${raw(SHORT_RESPONSE)}, CASE WHEN d.message THEN 'message' ELSE 'workflow' END AS kind, d.workflow_url,
            d.response_status, d.error, a.name, a.cause, a.message
          FROM dead_letter d LEFT JOIN LATERAL (
            SELECT x.name, x.cause, x.message FROM attempt x
            WHERE x.instance_id = d.instance_id AND x.run_key = d.run_key AND x.slot >= 0 AND x.retry_at IS NULL
            ORDER BY x.place DESC LIMIT 1) a ON true
          WHERE d.rules < 2 ORDER BY d.place LIMIT ${limit}`),
      );
      return foundRows.map(ungroupedOf);
    },
    async group({ entries }) {
      const entryColumns = columnArrays(
        REGROUPING,
        entries.map(({ instanceId, dlqId, fingerprint, group }) => ({
          instance_id: instanceId,
          dlq_id: dlqId,
          previous_fingerprint: fingerprint,
          fingerprint: group.fingerprint,
          rules: group.rules,
        })),
      );
      const entriesById = new Map(entries.map((entry) => [`${entry.instanceId}\n${entry.dlqId}`, entry]));
      await database.transaction(async (session) => {
        const changes = new GroupChanges();
        const lockedRows = await session.query(LOCK_UNGROUPED, entryColumns);
        for (const row of lockedRows) {
          const instanceId = text(row, 'instance_id');
          const entry = entriesById.get(`${instanceId}\n${text(row, 'dlq_id')}`);
          if (!entry) continue;
          const { fingerprint, group } = entry;
          const [status, at] = [integerOrNull(row, 'response_status'), integer(row, 'created_at')];
          if (fingerprint === null) changes.addEntry(instanceId, group, status, at);
          else changes.moveEntry(instanceId, fingerprint, group, status, at);
        }
        session.send(SET_FINGERPRINTS, entryColumns);
        sendGroupChanges(session, changes);
      });
    },
    recount: ({ after, limit }) =>
      database.transaction(async (session) => {
        const lockedRows = await lockNextGroups(session, [after?.instanceId ?? '', after?.fingerprint ?? '', limit]);
        const correctedRows = await session.query(RECOUNT, columnArrays(GROUP_KEY, lockedRows.map(groupKeyOf)));
        if (correctedRows.length > 0) {
          const groupKeys = columnArrays(GROUP_KEY, correctedRows.map(groupKeyOf));
          session.send(DELETE_WORKFLOWS, groupKeys);
          session.send(RECOUNT_WORKFLOWS, groupKeys);
        }
        const lastRow = lockedRows.length < limit ? undefined : lockedRows.at(-1);
        return lastRow ? { instanceId: text(lastRow, 'instance_id'), fingerprint: text(lastRow, 'fingerprint') } : null;
      }),
  });
}
