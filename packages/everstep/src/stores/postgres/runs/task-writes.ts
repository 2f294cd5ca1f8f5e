/**
 * Writes of tasks and of those who wait for events. What a batch does to one slot comes down to what it is in the end:
 * the last task put there, or none.
 * Keeps invariant 27.
 */
import { CALLBACK_SLOT, type Task } from '../../../engine/runs/run.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, insertInto, names, type RowOf, unnest } from '../connection/row-sets.js';
import type { RunPlace } from './run-writes.js';
import { TASK, taskRowOf } from './task-rows.js';

const RUN = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;
const SLOT = { ...RUN, slot: 'integer' } as const satisfies Columns;
const WAITER = { ...SLOT, event_id: 'text', since: 'bigint' } as const satisfies Columns;
const WAKE = { instance_id: 'text', child_run_key: 'text', at: 'bigint' } as const satisfies Columns;

const { instance_id: _instance, run_key: _run, slot: _slot, ...REPLACED } = TASK;
const onRuns = (table: string) => `USING ${unnest(RUN)} AS u(${names(RUN)})
  WHERE ${table}.instance_id = u.instance_id AND ${table}.run_key = u.run_key`;
const onSlots = (table: string) => `USING ${unnest(SLOT)} AS u(${names(SLOT)})
  WHERE ${table}.instance_id = u.instance_id AND ${table}.run_key = u.run_key AND ${table}.slot = u.slot`;

const DELETE_ALL = statement(`DELETE FROM task ${onRuns('task')}`);
const DELETE_ALL_WAITERS = statement(`DELETE FROM waiter ${onRuns('waiter')}`);
const DELETE = statement(`DELETE FROM task ${onSlots('task')}`);
const DELETE_WAITERS = statement(`DELETE FROM waiter ${onSlots('waiter')}`);
const PARK_ALL = statement(`
  UPDATE task SET due_at = NULL FROM ${unnest(RUN)} AS u(${names(RUN)})
  WHERE task.instance_id = u.instance_id AND task.run_key = u.run_key AND task.slot > ${CALLBACK_SLOT}
    AND task.due_at IS NOT NULL`);
const PUT = statement(`
  ${insertInto('task', TASK)} ON CONFLICT (instance_id, run_key, slot)
  DO UPDATE SET ${Object.keys(REPLACED)
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`);
const INSERT_WAITERS = statement(insertInto('waiter', WAITER));
const WAKE_INVOKERS = statement(`
  UPDATE task t SET due_at = u.at, claimed_by = $4, wanted_by = NULL FROM ${unnest(WAKE)} AS u(${names(WAKE)})
  WHERE t.instance_id = u.instance_id AND t.child_run_key = u.child_run_key AND EXISTS (
    SELECT 1 FROM active_run a WHERE a.instance_id = t.instance_id AND a.run_key = t.run_key)`);

/** What a batch does to the tasks of one run, in this order. */
interface RunTasks {
  readonly run: RunPlace;
  /** Whether it may have had waiters before the batch, or an earlier part of it. */
  waits: boolean;
  queue: string | null;
  begun: boolean;
  deleteAll: boolean;
  parkAll: boolean;
  /** Slots with tasks that are nobody's, though they are due. */
  readonly overdue: Set<number>;
  /** Null: the slot is emptied. */
  readonly slots: Map<number, Task | null>;
}

const isInLine = ({ kind }: Task, queue: string | null): boolean => kind === 'message' && queue !== null;

const parked = (task: Task): Task => ({ ...task, dueAt: null });

/** One of several nodes that writes, and when it does. */
export interface Writer {
  /** Null when it may claim nothing: it leaves, or has lost its lease. */
  readonly claimant: string | null;
  /** Unix ms as the node believes: what is not due later by that is due at once. */
  readonly now: number;
  /** Unix ms by the clock of the database, read in the transaction. */
  readonly databaseNow: number;
}

/** The run of a task. */
export interface TaskOwner extends RunPlace {
  /** Of a message that is in one. */
  readonly queue: string | null;
  /** It was made in the batch. */
  readonly begun: boolean;
}

export class TaskWrites {
  private readonly writer: Writer | null;
  private readonly runs = new Map<string, RunTasks>();
  private readonly wakes = new Map<string, RowOf<typeof WAKE>>();

  /** `writer` null: nobody else uses the store. */
  constructor(writer: Writer | null) {
    this.writer = writer;
  }

  private isDueAtOnce({ dueAt }: Task): boolean {
    return this.writer !== null && dueAt !== null && dueAt <= this.writer.now;
  }

  /** What is due at once is acted on by who writes it; what is due later by who finds it then. */
  private claimantOf(task: Task): string | null {
    return this.isDueAtOnce(task) ? (this.writer?.claimant ?? null) : null;
  }

  /**
   * A message that is new in its queue has its place there by its due time: one clock tells it for all nodes, in the
   * transaction, so that what is sent after the answer to another is behind that, whatever nodes believe of the time.
   */
  private inItsPlace(task: Task, { queue, begun }: RunTasks): Task {
    return this.writer && begun && isInLine(task, queue) && this.isDueAtOnce(task)
      ? { ...task, dueAt: this.writer.databaseNow }
      : task;
  }

  /** `waits`: whether the run has waiters now. */
  put(run: TaskOwner, task: Task, waits: boolean): void {
    const tasks = this.of(run, waits);
    tasks.queue = run.queue;
    tasks.begun = run.begun;
    tasks.overdue.delete(task.slot);
    tasks.slots.set(task.slot, task);
  }

  /** Puts a task that is due although who writes it believes that it is not: it is nobody's until a scan finds it. */
  putOverdue(run: TaskOwner, task: Task, waits: boolean): void {
    this.put(run, task, waits);
    this.of(run, waits).overdue.add(task.slot);
  }

  delete(run: RunPlace, slot: number, waits: boolean): void {
    this.of(run, waits).slots.set(slot, null);
  }

  parkAll(run: RunPlace, waits: boolean): void {
    const tasks = this.of(run, waits);
    tasks.parkAll = true;
    for (const [slot, task] of tasks.slots) if (task && slot > CALLBACK_SLOT) tasks.slots.set(slot, parked(task));
  }

  deleteAll(run: RunPlace, waits: boolean): void {
    const tasks = this.of(run, waits);
    tasks.deleteAll = true;
    tasks.parkAll = false;
    tasks.slots.clear();
  }

  wakeInvoker(child: RunPlace, at: number): void {
    this.wakes.set(child.runKey, { instance_id: child.instanceId, child_run_key: child.runKey, at });
  }

  /** Whether a task is still to be woken for the end of this run: one that is put afterwards must not be. */
  isWaking(childRunKey: string): boolean {
    return this.wakes.has(childRunKey);
  }

  send(session: TransactionSession): void {
    const emptied: RowOf<typeof RUN>[] = [];
    const parkedRuns: RowOf<typeof RUN>[] = [];
    const endedWaits: RowOf<typeof RUN>[] = [];
    const deleted: RowOf<typeof SLOT>[] = [];
    const changedWaits: RowOf<typeof SLOT>[] = [];
    const put: RowOf<typeof TASK>[] = [];
    const waiters: RowOf<typeof WAITER>[] = [];
    for (const tasks of this.runs.values()) {
      const { run, waits, queue, deleteAll, parkAll, overdue, slots } = tasks;
      const row = { instance_id: run.instanceId, run_key: run.runKey };
      if (deleteAll) emptied.push(row);
      else if (parkAll) parkedRuns.push(row);
      const endsWaits = deleteAll || parkAll;
      if (waits && endsWaits) endedWaits.push(row);
      for (const [slot, task] of slots) {
        if (!task && !deleteAll) deleted.push({ ...row, slot });
        if (waits && !endsWaits) changedWaits.push({ ...row, slot });
        // Of a queue the node that has its gates takes all that is due, in its order, whoever wrote it.
        const claimedBy = task && !isInLine(task, queue) && !overdue.has(slot) ? this.claimantOf(task) : null;
        if (task) put.push(taskRowOf(run, this.inItsPlace(task, tasks), { queue, claimedBy }));
        if (task?.kind === 'wait' && task.dueAt !== null) {
          for (const event_id of new Set(task.eventIds)) waiters.push({ ...row, slot, event_id, since: task.createdAt });
        }
      }
    }
    this.runs.clear();
    if (emptied.length > 0) session.send(DELETE_ALL, columnArrays(RUN, emptied));
    if (parkedRuns.length > 0) session.send(PARK_ALL, columnArrays(RUN, parkedRuns));
    if (deleted.length > 0) session.send(DELETE, columnArrays(SLOT, deleted));
    if (put.length > 0) session.send(PUT, columnArrays(TASK, put));
    if (endedWaits.length > 0) session.send(DELETE_ALL_WAITERS, columnArrays(RUN, endedWaits));
    if (changedWaits.length > 0) session.send(DELETE_WAITERS, columnArrays(SLOT, changedWaits));
    if (waiters.length > 0) session.send(INSERT_WAITERS, columnArrays(WAITER, waiters));
  }

  /** To be sent behind the ends of runs: of a run that has ended no task is woken. */
  sendWakes(session: TransactionSession): void {
    if (this.wakes.size > 0)
      session.send(WAKE_INVOKERS, [...columnArrays(WAKE, [...this.wakes.values()]), this.writer?.claimant ?? null]);
    this.wakes.clear();
  }

  private of(run: RunPlace, waits: boolean): RunTasks {
    let tasks = this.runs.get(run.runKey);
    if (!tasks) {
      tasks = { run, waits, queue: null, begun: false, deleteAll: false, parkAll: false, overdue: new Set(), slots: new Map() };
      this.runs.set(run.runKey, tasks);
    }
    tasks.waits ||= waits;
    return tasks;
  }
}
