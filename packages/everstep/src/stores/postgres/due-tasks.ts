/** What is read of a task that is due. */
import type { DueTask } from '../../ports/store.js';
import { integer, type Row, text, textOrNull } from './columns.js';
import { taskKindOf } from './task-rows.js';

/** Where a task is delivered, and what holds it there; `t` are tasks, `r` their runs. */
export const DUE_COLUMNS = `t.due_at, t.run_key, t.slot, t.kind, t.instance_id,
    CASE t.kind WHEN 'call' THEN t.call_url
      WHEN 'callback' THEN coalesce(r.settings::json #>> '{failureCallback,url}', r.workflow_url)
      ELSE r.workflow_url END AS url,
    CASE t.kind WHEN 'call' THEN t.flow_key WHEN 'advance' THEN r.flow_key WHEN 'step' THEN r.flow_key WHEN 'message' THEN r.flow_key END AS flow_key,
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
