/** Selects due tasks, and the instances that have due tasks. */
import type { DueTask, Store } from '../../../ports/stores/store.js';
import { integer, type Row, text, textOrNull } from '../../records/columns.js';
import { taskKindOf } from '../../records/task-rows.js';
import { type Session, statement } from '../connection/connection.js';

/** Columns that `dueTaskOf` reads: `t` is a task, `r` its run. */
export const DUE_TASK_COLUMNS = `t.due_at, t.run_key, t.slot, t.kind, t.instance_id,
    CASE t.kind WHEN 'call' THEN t.call_url
      WHEN 'callback' THEN coalesce(r.settings::json #>> '{failureCallback,url}', r.workflow_url)
      ELSE r.workflow_url END AS url,
    CASE t.kind WHEN 'call' THEN t.flow_key WHEN 'advance' THEN r.flow_key WHEN 'step' THEN r.flow_key
      WHEN 'message' THEN r.flow_key END AS flow_key,
    CASE t.kind WHEN 'message' THEN r.settings::json #>> '{message,queue}' END AS queue,
    coalesce((SELECT a.version FROM active_run a WHERE a.instance_id = r.instance_id AND a.run_key = r.run_key), 0) AS run_version`;

export const dueTaskOf = (row: Row): DueTask => ({
  runKey: text(row, 'run_key'),
  slot: integer(row, 'slot'),
  dueAt: integer(row, 'due_at'),
  kind: taskKindOf(row),
  instanceId: text(row, 'instance_id'),
  workflowUrl: text(row, 'url'),
  flowControlKey: textOrNull(row, 'flow_key'),
  ...(textOrNull(row, 'queue') === null ? {} : { queue: text(row, 'queue') }),
  runVersion: integer(row, 'run_version'),
});

export type DueTasksQuery = Parameters<Store['dueTasks']>[0];

/** Returns a statement that selects at most $5 tasks that are due up to $1, after the position ($2, $3, $4), and match `where`. */
export const dueTasksStatement = (where: string) =>
  statement(`
  SELECT ${DUE_TASK_COLUMNS} FROM (
    SELECT due_at, run_key, slot, kind, instance_id, call_url, flow_key FROM task
    WHERE due_at <= $1 AND (due_at, run_key, slot) > ($2::bigint, $3::text, $4::bigint) AND ${where}
    ORDER BY due_at, run_key, slot LIMIT $5
  ) t JOIN run r ON r.instance_id = t.instance_id AND r.run_key = t.run_key
  ORDER BY t.due_at, t.run_key, t.slot`);

export const dueTaskParameters = ({ before, after, limit }: DueTasksQuery) => {
  const [dueAt, runKey, slot] = after ? [after.dueAt, after.runKey, after.slot] : [-1, '', 0];
  return [before, dueAt, runKey, slot, limit];
};

const firstUnclaimedSql = (where: string) => `
  SELECT instance_id FROM task WHERE due_at IS NOT NULL AND claimed_by IS NULL ${where}
  ORDER BY instance_id, due_at, run_key, slot LIMIT 1`;
/**
 * Selects instances, stepping from one to the next in the index `task_unclaimed_of_instance`. There is one step for each instance,
 * however many tasks it has. The order is that of the index, so that no other index is used.
 */
const SELECT_INSTANCES = statement(`
  WITH RECURSIVE open AS (
    (SELECT instance_id AS id FROM (${firstUnclaimedSql('')}) AS first)
    UNION ALL
    SELECT (${firstUnclaimedSql('AND instance_id > open.id')}) FROM open WHERE open.id IS NOT NULL
  )
  SELECT open.id FROM open CROSS JOIN LATERAL (
    SELECT 1 FROM task WHERE instance_id = open.id AND due_at >= $1 AND due_at <= $2 AND claimed_by IS NULL LIMIT 1
  ) AS t`);

/** Selects instances from distributed tables, with a plain read over all servers, which cannot step through the index. */
const SELECT_INSTANCES_ON_SERVERS = statement(`
  SELECT DISTINCT instance_id AS id FROM task WHERE due_at >= $1 AND due_at <= $2 AND claimed_by IS NULL ORDER BY 1`);

/** Returns the instances with unclaimed tasks due from `from` to `before`. */
export async function readDueInstances(session: Session, from: number, before: number): Promise<readonly string[]> {
  return (await session.query(session.engine.isDistributed ? SELECT_INSTANCES_ON_SERVERS : SELECT_INSTANCES, [from, before])).map(
    (row) => text(row, 'id'),
  );
}
