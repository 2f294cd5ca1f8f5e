/**
 * Writes tasks and event waiters. For each slot, only the last task of the batch is written, or the slot is emptied.
 * Keeps invariant 27.
 */
import { CALLBACK_SLOT, type Task } from '../../../engine/runs/run.js';
import { isWaitingForRun } from '../../../engine/writes/run-writes.js';
import type { WriteOf } from '../../../engine/writes.js';
import type { Applier, BatchContext } from '../commit/batch-context.js';
import type { BatchRun, RunInInstance } from '../commit/known-run.js';
import { statement, type TransactionSession, tableWrite } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, insertInto, type RowOf, unnest } from '../connection/row-sets.js';
import { RUN_KEY, TASK, WAITER } from './tables.js';
import { taskRowOf } from './task-rows.js';

const SLOT = { ...RUN_KEY, slot: 'integer' } as const satisfies Columns;
const WAKE_UP = { instance_id: 'text', child_run_key: 'text', at: 'bigint' } as const satisfies Columns;

const { instance_id: _instance, run_key: _run, slot: _slot, ...REPLACED_COLUMNS } = TASK;
const usingRunsSql = (table: string) => `USING ${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)})
  WHERE ${table}.instance_id = u.instance_id AND ${table}.run_key = u.run_key`;
const usingSlotsSql = (table: string) => `USING ${unnest(SLOT)} AS u(${columnNames(SLOT)})
  WHERE ${table}.instance_id = u.instance_id AND ${table}.run_key = u.run_key AND ${table}.slot = u.slot`;

const DELETE_TASKS_OF_RUNS = tableWrite('task', `DELETE FROM task ${usingRunsSql('task')}`);
const DELETE_WAITERS_OF_RUNS = statement(`DELETE FROM waiter ${usingRunsSql('waiter')}`);
const DELETE_TASKS = statement(`DELETE FROM task ${usingSlotsSql('task')}`);
const DELETE_WAITERS = statement(`DELETE FROM waiter ${usingSlotsSql('waiter')}`);
const PARK_TASKS = statement(`
  UPDATE task SET due_at = NULL FROM ${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)})
  WHERE task.instance_id = u.instance_id AND task.run_key = u.run_key AND task.slot > ${CALLBACK_SLOT}
    AND task.due_at IS NOT NULL`);
const PUT_TASKS = tableWrite(
  'task',
  `
  ${insertInto('task', TASK)} ON CONFLICT (instance_id, run_key, slot)
  DO UPDATE SET ${Object.keys(REPLACED_COLUMNS)
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`,
);
const INSERT_WAITERS = statement(insertInto('waiter', WAITER));
const WAKE_INVOKERS = statement(`
  UPDATE task t SET due_at = u.at, claimed_by = $4, wanted_by = NULL FROM ${unnest(WAKE_UP)} AS u(${columnNames(WAKE_UP)})
  WHERE t.instance_id = u.instance_id AND t.child_run_key = u.child_run_key AND EXISTS (
    SELECT 1 FROM active_run a WHERE a.instance_id = t.instance_id AND a.run_key = t.run_key)`);

/** Changes of a batch to the tasks of one run. All tasks are deleted or parked before the new tasks are written. */
interface RunTaskChanges {
  readonly run: RunInInstance;
  /** Whether the run may have had waiters before the batch, or before the writes that are not sent yet. */
  mayHaveWaiters: boolean;
  queue: string | null;
  /** Whether the batch created the run. */
  isNew: boolean;
  mustDeleteAll: boolean;
  mustParkAll: boolean;
  /** Slots with due tasks that no node claims yet. */
  readonly overdueSlots: Set<number>;
  /** New task of each changed slot; null empties the slot. */
  readonly newTasks: Map<number, Task | null>;
}

/** Returns whether the task is a message in a queue. */
const isQueued = ({ kind }: Task, queue: string | null): boolean => kind === 'message' && queue !== null;

const park = (task: Task): Task => ({ ...task, dueAt: null });

/** The node that writes a batch, if several nodes use the store. */
export interface WritingNode {
  /** Id of the node, for its claims; null if it must not claim tasks, because it is stopping or has lost its lease. */
  readonly claimant: string | null;
  /** Unix ms by the clock from which the due times of tasks come. Tasks with this or an earlier due time are due immediately. */
  readonly now: number;
  /** Unix ms by the clock of the database, read within the transaction. */
  readonly databaseNow: number;
}

export class TaskWrites implements Applier<WriteOf<'task'>> {
  private readonly writingNode: WritingNode | null;
  private readonly changesByRun = new Map<string, RunTaskChanges>();
  private readonly wakeUps = new Map<string, RowOf<typeof WAKE_UP>>();

  /** `writingNode` is null if no other process uses the store. */
  constructor(writingNode: WritingNode | null) {
    this.writingNode = writingNode;
  }

  apply(write: WriteOf<'task'>, batch: BatchContext): void {
    const { state } = batch;
    switch (write.kind) {
      case 'put-task': {
        const { runKey, task } = write;
        const run = state.requireRun(runKey);
        // A pending wake-up is sent before this task is put, so that it does not make this task due.
        if (task.kind === 'invoke' && this.wakeUps.has(task.childRunKey)) batch.flush();
        // The invoked run ended before this task existed, so its end has not made the task due.
        if (isWaitingForRun(task) && task.kind === 'invoke' && state.hasEnded(task.childRunKey))
          this.putOverdue(run, { ...task, dueAt: task.createdAt });
        else this.put(run, task);
        if (task.kind === 'wait') run.mayHaveWaiters = true;
        state.putTask(runKey, task);
        break;
      }
      case 'delete-task': {
        const run = state.requireRun(write.runKey);
        this.delete(run, write.slot, run.mayHaveWaiters);
        state.deleteTask(write.runKey, write.slot);
        break;
      }
      case 'park-tasks':
        this.parkAll(state.requireRun(write.runKey));
        break;
      case 'delete-tasks':
        this.deleteAll(state.requireRun(write.runKey));
        state.deleteTasks(write.runKey);
        break;
      case 'wake-invoker': {
        const { childRunKey, at } = write;
        const instanceId = state.instanceOf(childRunKey);
        if (instanceId !== null) this.wakeUps.set(childRunKey, { instance_id: instanceId, child_run_key: childRunKey, at });
        break;
      }
      default:
        write satisfies never;
    }
  }

  private isDueNow({ dueAt }: Task): boolean {
    return this.writingNode !== null && dueAt !== null && dueAt <= this.writingNode.now;
  }

  /** Returns the id of this node if the task is due immediately. Other tasks are claimed by the first node that finds them due. */
  private claimantOf(task: Task): string | null {
    return this.isDueNow(task) ? (this.writingNode?.claimant ?? null) : null;
  }

  /**
   * Sets the position of a new message in its queue. The position is the due time, which is read from the clock of the database
   * within the transaction. A message that is published after the response to another one is therefore behind that one, even if
   * the clocks of the nodes differ. Returns other tasks unchanged.
   */
  private withQueuePosition(task: Task, { queue, isNew }: RunTaskChanges): Task {
    return this.writingNode && isNew && isQueued(task, queue) && this.isDueNow(task)
      ? { ...task, dueAt: this.writingNode.databaseNow }
      : task;
  }

  private put(run: BatchRun, task: Task): void {
    const changes = this.changesOf(run, run.mayHaveWaiters);
    changes.queue = run.queue;
    changes.isNew = run.isNew;
    changes.overdueSlots.delete(task.slot);
    changes.newTasks.set(task.slot, task);
  }

  /** Puts a task that is due. No node claims it until a scan finds it. */
  private putOverdue(run: BatchRun, task: Task): void {
    this.put(run, task);
    this.changesOf(run, run.mayHaveWaiters).overdueSlots.add(task.slot);
  }

  /** Empties the slot of a run, which may have waiters. */
  delete(run: RunInInstance, slot: number, mayHaveWaiters: boolean): void {
    this.changesOf(run, mayHaveWaiters).newTasks.set(slot, null);
  }

  private parkAll(run: BatchRun): void {
    const changes = this.changesOf(run, run.mayHaveWaiters);
    changes.mustParkAll = true;
    for (const [slot, task] of changes.newTasks) if (task && slot > CALLBACK_SLOT) changes.newTasks.set(slot, park(task));
  }

  private deleteAll(run: BatchRun): void {
    const changes = this.changesOf(run, run.mayHaveWaiters);
    changes.mustDeleteAll = true;
    changes.mustParkAll = false;
    changes.newTasks.clear();
  }

  send(session: TransactionSession): void {
    const emptiedRuns: RowOf<typeof RUN_KEY>[] = [];
    const parkedRuns: RowOf<typeof RUN_KEY>[] = [];
    const runsWithEndedWaits: RowOf<typeof RUN_KEY>[] = [];
    const deletedSlots: RowOf<typeof SLOT>[] = [];
    const slotsWithChangedWaits: RowOf<typeof SLOT>[] = [];
    const taskRows: RowOf<typeof TASK>[] = [];
    const waiters: RowOf<typeof WAITER>[] = [];
    for (const changes of this.changesByRun.values()) {
      const { run, mayHaveWaiters, queue, mustDeleteAll, mustParkAll, overdueSlots, newTasks } = changes;
      const row = { instance_id: run.instanceId, run_key: run.runKey };
      if (mustDeleteAll) emptiedRuns.push(row);
      else if (mustParkAll) parkedRuns.push(row);
      const areWaitsEnded = mustDeleteAll || mustParkAll;
      if (mayHaveWaiters && areWaitsEnded) runsWithEndedWaits.push(row);
      for (const [slot, task] of newTasks) {
        if (!task && !mustDeleteAll) deletedSlots.push({ ...row, slot });
        if (mayHaveWaiters && !areWaitsEnded) slotsWithChangedWaits.push({ ...row, slot });
        // The node that holds the gates of a queue claims all due messages of the queue in order, whichever node wrote them.
        const claimedBy = task && !isQueued(task, queue) && !overdueSlots.has(slot) ? this.claimantOf(task) : null;
        if (task) taskRows.push(taskRowOf(run, this.withQueuePosition(task, changes), { queue, claimedBy }));
        if (task?.kind === 'wait' && task.dueAt !== null) {
          for (const event_id of new Set(task.eventIds)) waiters.push({ ...row, slot, event_id, since: task.createdAt });
        }
      }
    }
    this.changesByRun.clear();
    if (emptiedRuns.length > 0) session.sendJoined(DELETE_TASKS_OF_RUNS, columnArrays(RUN_KEY, emptiedRuns));
    if (parkedRuns.length > 0) session.send(PARK_TASKS, columnArrays(RUN_KEY, parkedRuns));
    if (deletedSlots.length > 0) session.send(DELETE_TASKS, columnArrays(SLOT, deletedSlots));
    if (taskRows.length > 0) session.sendJoined(PUT_TASKS, columnArrays(TASK, taskRows));
    if (runsWithEndedWaits.length > 0) session.send(DELETE_WAITERS_OF_RUNS, columnArrays(RUN_KEY, runsWithEndedWaits));
    if (slotsWithChangedWaits.length > 0) session.send(DELETE_WAITERS, columnArrays(SLOT, slotsWithChangedWaits));
    if (waiters.length > 0) session.send(INSERT_WAITERS, columnArrays(WAITER, waiters));
  }

  /** Sends the wake-ups. Must be called after the ends of runs are sent, because tasks of ended runs must not become due. */
  sendWakes(session: TransactionSession): void {
    if (this.wakeUps.size > 0)
      session.send(WAKE_INVOKERS, [...columnArrays(WAKE_UP, [...this.wakeUps.values()]), this.writingNode?.claimant ?? null]);
    this.wakeUps.clear();
  }

  private changesOf(run: RunInInstance, mayHaveWaiters: boolean): RunTaskChanges {
    let changes = this.changesByRun.get(run.runKey);
    if (!changes) {
      changes = {
        run,
        mayHaveWaiters,
        queue: null,
        isNew: false,
        mustDeleteAll: false,
        mustParkAll: false,
        overdueSlots: new Set(),
        newTasks: new Map(),
      };
      this.changesByRun.set(run.runKey, changes);
    }
    changes.mayHaveWaiters ||= mayHaveWaiters;
    return changes;
  }
}
