/** The repairs of the PostgreSQL store. */
import type { EndedItem, RepairId, RepairStore } from '../../../ports/stores/repair-store.js';
import { flag, integer, type Row, text, textOrNull } from '../../records/columns.js';
import { addAudit } from '../../shared/audit/audit-log.js';
import { countsOf, ENTRY, endedPage, goneItem, ofRepair } from '../../shared/repairs/repair-items.js';
import { createRepairs } from '../../shared/repairs/repairs.js';
import { rows, send } from '../../shared/sql/procedure.js';
import { sql } from '../../shared/sql/sql.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';
import type { SqlSession } from '../connection/sql-session.js';

const REPAIR_ID = { instance_id: 'text', repair_id: 'text' } as const satisfies Columns;

/** Locks repairs, so that no process decides on them while a unit is written that depends on their version. */
const LOCK = statement(`
  SELECT r.instance_id, r.repair_id, r.version FROM ${unnest(REPAIR_ID)} AS u(${columnNames(REPAIR_ID)})
  JOIN repair r ON r.instance_id = u.instance_id AND r.repair_id = u.repair_id
  ORDER BY r.instance_id, r.repair_id FOR SHARE OF r`);

/** Returns the versions of these repairs, which stay locked until the transaction ends. Sends its statement immediately. */
export async function lockRepairs(
  session: TransactionSession,
  ids: readonly RepairId[],
): Promise<readonly (RepairId & { readonly version: number })[]> {
  const keys = ids.map(({ instanceId, repairId }) => ({ instance_id: instanceId, repair_id: repairId }));
  const rows = await session.query(LOCK, columnArrays(REPAIR_ID, keys));
  return rows.map((row) => ({
    instanceId: text(row, 'instance_id'),
    repairId: text(row, 'repair_id'),
    version: integer(row, 'version'),
  }));
}

/** State of a repair item, by the state of the run that the repair started. */
const ITEM_STATES: Readonly<Record<string, EndedItem['state']>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  deadLetter: 'failed',
  canceled: 'canceled',
};

function endedItemOf(row: Row): EndedItem | null {
  if (flag(row, 'active')) return null;
  const [n, canary, runState] = [integer(row, 'n'), flag(row, 'canary'), textOrNull(row, 'state')];
  const state = runState === null ? undefined : ITEM_STATES[runState];
  if (!state) return goneItem(n, canary);
  return { n, canary, state, newDlqId: textOrNull(row, 'dlq_id'), error: textOrNull(row, 'error') };
}

export function createPostgresRepairs(sqlStore: SqlSession): RepairStore {
  return createRepairs(sqlStore, {
    addAudit,
    recordCreation: (instanceId) =>
      send(sql`SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ${` everstep repairs ${instanceId}`}, 0))`),
    async describe({ instanceId, dlqIds }) {
      const entries = await sqlStore.read(
        rows(sql`
          SELECT d.dlq_id, d.created_at AS failed_at, d.run_key, d.workflow_run_id, d.workflow_url, d.fingerprint, (
            SELECT count(*) FROM step s WHERE s.instance_id = d.instance_id AND s.run_key = d.run_key) AS steps
          FROM unnest(${dlqIds}::text[]) WITH ORDINALITY AS u(dlq_id, position)
          JOIN dead_letter d ON d.instance_id = ${instanceId} AND d.dlq_id = u.dlq_id ORDER BY u.position`),
      );
      return entries.map(ENTRY.read);
    },
    async cohorts(id) {
      const cohorts = await sqlStore.read(
        rows(sql`
          SELECT workflow_url, fingerprint, count(*) AS items FROM repair_item WHERE ${ofRepair(id)}
          GROUP BY workflow_url, fingerprint`),
      );
      return cohorts.map((row) => ({
        workflowUrl: text(row, 'workflow_url'),
        fingerprint: textOrNull(row, 'fingerprint'),
        count: integer(row, 'items'),
      }));
    },
    async counts(id) {
      const foundRows = await sqlStore.read(
        rows(sql`
          SELECT state, canary, count(*) AS items FROM repair_item WHERE ${ofRepair(id)} GROUP BY state, canary`),
      );
      return { all: countsOf(foundRows), canary: countsOf(foundRows.filter((row) => flag(row, 'canary'))) };
    },
    async endedItems({ after, limit, instanceId, repairId }) {
      const startedRows = await sqlStore.read(
        rows(sql`
          SELECT i.n, i.canary, a.run_key IS NOT NULL AS active, e.state, e.error, d.dlq_id FROM repair_item i
          LEFT JOIN active_run a ON a.instance_id = i.instance_id AND a.run_key = i.new_run_key
          LEFT JOIN ended_run e ON e.instance_id = i.instance_id AND e.run_key = i.new_run_key
          LEFT JOIN dead_letter d ON d.instance_id = i.instance_id AND d.run_key = i.new_run_key
          WHERE i.instance_id = ${instanceId} AND i.repair_id = ${repairId} AND i.state = 'started' AND i.n > ${after}
          ORDER BY i.n LIMIT ${limit}`),
      );
      return endedPage(startedRows, limit, endedItemOf);
    },
  });
}
