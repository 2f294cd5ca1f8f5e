/** Rows of tasks as they are written. */
import type { Task } from '../../../engine/runs/run.js';
import { taskColumnsOf } from '../../records/task-rows.js';
import type { RunPlace } from '../commit/known-run.js';
import type { Columns, RowOf } from '../connection/row-sets.js';

export const TASK = {
  instance_id: 'text',
  run_key: 'text',
  slot: 'integer',
  due_at: 'bigint',
  created_at: 'bigint',
  retried: 'integer',
  first_of_group: 'integer',
  concurrent: 'integer',
  sleep_ms: 'bigint',
  wake_at: 'bigint',
  kind: 'text',
  message_id: 'text',
  name: 'text',
  step_type: 'text',
  flow_key: 'text',
  queue: 'text',
  child_run_key: 'text',
  call_url: 'text',
  detail: 'text',
  claimed_by: 'text',
  wanted_by: 'text',
} as const satisfies Columns;

/** Columns that depend on more than the task. */
export interface TaskContext {
  /** Queue of its run, if the run is a message in a queue. */
  readonly queue: string | null;
  /** The node that acts on it, if it is due immediately. */
  readonly claimedBy: string | null;
}

export const taskRowOf = (
  { instanceId, runKey }: RunPlace,
  task: Task,
  { queue, claimedBy }: TaskContext,
): RowOf<typeof TASK> => ({
  instance_id: instanceId,
  run_key: runKey,
  ...taskColumnsOf(task),
  queue: task.kind === 'message' ? queue : null,
  claimed_by: claimedBy,
  wanted_by: null,
});
