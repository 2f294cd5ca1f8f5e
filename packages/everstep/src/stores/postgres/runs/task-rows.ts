/** Converts tasks to the rows that are written. */
import type { Task } from '../../../engine/runs/run.js';
import { taskColumnsOf } from '../../records/task-rows.js';
import type { RunInInstance } from '../commit/known-run.js';
import type { RowOf } from '../connection/row-sets.js';
import type { TASK } from './tables.js';

/** Values of columns that depend on more than the task. */
export interface TaskContext {
  /** Queue of its run, if the run is a message in a queue. */
  readonly queue: string | null;
  /** Id of the node that claims the task; null if it stays unclaimed. */
  readonly claimedBy: string | null;
}

export const taskRowOf = (
  { instanceId, runKey }: RunInInstance,
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
