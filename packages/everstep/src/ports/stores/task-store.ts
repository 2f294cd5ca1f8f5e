/** Due tasks in the store. */
import type { Task } from '../../engine/runs/run.js';

/** Identifies a task. */
export interface TaskReference {
  readonly runKey: string;
  readonly slot: number;
  readonly dueAt: number;
}

/**
 * A due task. It includes the properties that gates need, so that a hundred thousand waiting tasks can be counted
 * without loading them.
 */
export interface DueTask extends TaskReference {
  readonly kind: Task['kind'];
  readonly instanceId: string;
  readonly workflowUrl: string;
  /** The flow control key of its delivery; null if there is none, or if the task is not a delivery. */
  readonly flowControlKey: string | null;
  /** The queue of a plain message. */
  readonly queue?: string;
  /** The node whose gates have admitted the task and count it until it ends; absent if the gates of this node decide. */
  readonly lentBy?: string;
  /** Version of the run; a cached state with a lower version is stale. */
  readonly runVersion: number;
}

/** Reads due tasks. */
export interface TaskStore {
  /**
   * Lists tasks due at or before `before`, after `after`: by due time, then by creation of their runs, then by slot. If the run of
   * `after` no longer exists, its key sorts after all smaller keys. With `instanceId`, lists only tasks of this instance, at a cost
   * that does not depend on the due tasks of others.
   */
  dueTasks(query: {
    readonly before: number;
    readonly after: TaskReference | null;
    readonly limit: number;
    readonly instanceId?: string;
  }): Promise<readonly DueTask[]>;
  /**
   * Lists instances that have tasks due from `from` to `before`, both Unix ms and inclusive. If several nodes share the store,
   * only unclaimed tasks count. The cost is one lookup for each instance with open tasks, however many tasks it has.
   */
  dueInstances(query: { readonly from: number; readonly before: number }): Promise<readonly string[]>;
  /** Returns the earliest due time after `after`; null if no task is due later. */
  nextDueAt(query: { readonly after: number }): Promise<number | null>;
}
