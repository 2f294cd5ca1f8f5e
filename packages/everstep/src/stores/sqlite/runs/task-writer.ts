/** Writes tasks. Advances, steps and sleeps are on the hot path: they need one statement each. */
import type { StatementSync } from 'node:sqlite';
import { CALLBACK_SLOT, type Task } from '../../../engine/runs/run.js';
import { isWaitingForRun } from '../../../engine/writes/run-writes.js';
import type { WriteOf } from '../../../engine/writes.js';
import { columnList } from '../../records/columns.js';
import { SPECIAL_TASK_COLUMNS, TASK_COLUMNS, taskColumnsOf } from '../../records/task-rows.js';
import type { Applier } from '../commit/applier.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { RunEntry } from './run-directory.js';

type WaitTask = Extract<Task, { readonly kind: 'wait' }>;

const ALL_COLUMNS = [...TASK_COLUMNS, ...SPECIAL_TASK_COLUMNS, 'detail'] as const;

export class TaskWriter implements Applier<WriteOf<'task'>> {
  private readonly parts: StoreParts;
  private readonly replaceTask: StatementSync;
  private readonly replaceMessage: StatementSync;
  private readonly replaceSpecialTask: StatementSync;
  private readonly deleteTask: StatementSync;
  private readonly parkAllTasks: StatementSync;
  private readonly deleteAllTasks: StatementSync;
  private readonly wakeInvoker: StatementSync;
  private readonly insertWaiter: StatementSync;
  private readonly deleteWaiters: StatementSync;
  private readonly deleteAllWaiters: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    const replace = (columns: readonly string[]) =>
      connection.prepare(
        `INSERT OR REPLACE INTO task (run_seq, tenant, ${columnList(columns)}) VALUES (?, ?, ${columns.map(() => '?').join(', ')})`,
      );
    this.replaceTask = replace(TASK_COLUMNS);
    this.replaceSpecialTask = replace(ALL_COLUMNS);
    this.replaceMessage = connection.prepare(
      `INSERT OR REPLACE INTO task (run_seq, tenant, slot, kind, message_id, due_at, created_at, retried, queue)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT queue FROM run WHERE seq = ?))`,
    );
    this.deleteTask = connection.prepare('DELETE FROM task WHERE run_seq = ? AND slot = ?');
    this.parkAllTasks = connection.prepare(`UPDATE task SET due_at = NULL WHERE run_seq = ? AND slot > ${CALLBACK_SLOT}`);
    this.deleteAllTasks = connection.prepare('DELETE FROM task WHERE run_seq = ?');
    this.wakeInvoker = connection.prepare(
      `UPDATE task SET due_at = ?
       WHERE child_run_key = ? AND EXISTS (SELECT 1 FROM run r WHERE r.seq = task.run_seq AND r.status = 'active')`,
    );
    this.insertWaiter = connection.prepare(
      'INSERT OR IGNORE INTO waiter (run_seq, slot, event_id, tenant, since) VALUES (?, ?, ?, ?, ?)',
    );
    this.deleteWaiters = connection.prepare('DELETE FROM waiter WHERE run_seq = ? AND slot = ?');
    this.deleteAllWaiters = connection.prepare('DELETE FROM waiter WHERE run_seq = ?');
  }

  apply(write: WriteOf<'task'>): void {
    switch (write.kind) {
      case 'put-task':
        this.put(write.runKey, write.task);
        break;
      case 'delete-task':
        this.delete(write.runKey, write.slot);
        break;
      case 'park-tasks':
        this.parkAll(write.runKey);
        break;
      case 'delete-tasks':
        this.deleteAll(write.runKey);
        break;
      case 'wake-invoker':
        this.wakeInvoker.run(write.at, write.childRunKey);
        break;
      default:
        write satisfies never;
    }
  }

  private put(runKey: string, task: Task): void {
    const run = this.parts.runs.require(runKey);
    this.endWait(run, task.slot);
    if (task.kind === 'message') {
      const { slot, kind, messageId, dueAt, createdAt, retried } = task;
      this.replaceMessage.run(run.seq, run.tenant, slot, kind, messageId, dueAt, createdAt, retried, run.seq);
      return;
    }
    const columns = taskColumnsOf(this.dueIfEnded(task));
    if (columns.detail === null) this.replaceTask.run(run.seq, run.tenant, ...TASK_COLUMNS.map((name) => columns[name]));
    else this.replaceSpecialTask.run(run.seq, run.tenant, ...ALL_COLUMNS.map((name) => columns[name]));
    if (task.kind === 'wait' && task.dueAt !== null) this.startWait(run, task);
  }

  /** Returns the task, due if the run that it waits for has ended: the end of that run could not find the task. */
  private dueIfEnded(task: Task): Task {
    if (task.kind !== 'invoke' || !isWaitingForRun(task)) return task;
    return this.parts.runs.find(task.childRunKey)?.isActive === false ? { ...task, dueAt: task.createdAt } : task;
  }

  private delete(runKey: string, slot: number): void {
    const run = this.parts.runs.require(runKey);
    this.endWait(run, slot);
    this.deleteTask.run(run.seq, slot);
  }

  /** Parks all tasks except the failure callback. */
  private parkAll(runKey: string): void {
    const run = this.parts.runs.require(runKey);
    this.endAllWaits(run);
    this.parkAllTasks.run(run.seq);
  }

  private deleteAll(runKey: string): void {
    const run = this.parts.runs.require(runKey);
    this.endAllWaits(run);
    this.deleteAllTasks.run(run.seq);
  }

  private startWait(run: RunEntry, { slot, eventIds, createdAt }: WaitTask): void {
    for (const eventId of eventIds) this.insertWaiter.run(run.seq, slot, eventId, run.tenant, createdAt);
    run.waitSlots ??= new Set();
    run.waitSlots.add(slot);
  }

  /** Ends the wait in the slot. A slot without a wait costs no statement. */
  private endWait(run: RunEntry, slot: number): void {
    if (run.waitSlots?.delete(slot)) this.deleteWaiters.run(run.seq, slot);
  }

  private endAllWaits(run: RunEntry): void {
    if (!run.waitSlots) return;
    run.waitSlots = null;
    this.deleteAllWaiters.run(run.seq);
  }
}
