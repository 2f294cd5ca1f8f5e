/** Writes of tasks. Advances, steps and sleeps are on the hot path: they need one statement each. */
import type { StatementSync } from 'node:sqlite';
import { CALLBACK_SLOT, type Task } from '../../../engine/runs/run.js';
import { isWaitingForRun } from '../../../engine/writes/run-writes.js';
import type { WriteOf } from '../../../engine/writes.js';
import type { Applier } from '../commit/applier.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { RunEntry } from './run-directory.js';
import type { TaskDetail } from './task-rows.js';

type WaitTask = Extract<Task, { readonly kind: 'wait' }>;

/** Columns that only some kinds use. */
interface SpecialColumns {
  readonly flowKey?: string | undefined;
  readonly childRunKey?: string;
  readonly callUrl?: string;
  readonly detail: TaskDetail[keyof TaskDetail];
}

const COLUMNS =
  'run_seq, tenant, slot, kind, message_id, due_at, created_at, retried, name, first_of_group, concurrent, step_type, sleep_ms, wake_at';

export class TaskWriter implements Applier<WriteOf<'task'>> {
  private readonly parts: StoreParts;
  private readonly replaceTask: StatementSync;
  private readonly replaceMessage: StatementSync;
  private readonly replaceSpecialTask: StatementSync;
  private readonly deleteOneTask: StatementSync;
  private readonly parkAllTasks: StatementSync;
  private readonly deleteAllTasks: StatementSync;
  private readonly wakeParent: StatementSync;
  private readonly insertWaiter: StatementSync;
  private readonly deleteWaiters: StatementSync;
  private readonly deleteAllWaiters: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.replaceTask = connection.prepare(
      `INSERT OR REPLACE INTO task (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.replaceMessage = connection.prepare(
      `INSERT OR REPLACE INTO task (run_seq, tenant, slot, kind, message_id, due_at, created_at, retried, queue)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT queue FROM run WHERE seq = ?))`,
    );
    this.replaceSpecialTask = connection.prepare(
      `INSERT OR REPLACE INTO task (${COLUMNS}, flow_key, child_run_key, call_url, detail)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.deleteOneTask = connection.prepare('DELETE FROM task WHERE run_seq = ? AND slot = ?');
    this.parkAllTasks = connection.prepare(`UPDATE task SET due_at = NULL WHERE run_seq = ? AND slot > ${CALLBACK_SLOT}`);
    this.deleteAllTasks = connection.prepare('DELETE FROM task WHERE run_seq = ?');
    this.wakeParent = connection.prepare(
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
        this.wakeParent.run(write.at, write.childRunKey);
        break;
      default:
        write satisfies never;
    }
  }

  private put(runKey: string, task: Task): void {
    const run = this.parts.runs.require(runKey);
    this.endWait(run, task.slot);
    const key = [run.seq, run.tenant, task.slot, task.kind, task.messageId, task.dueAt, task.createdAt] as const;
    switch (task.kind) {
      case 'advance':
        this.replaceTask.run(...key, task.retried, null, null, null, null, null, null);
        return;
      case 'message':
        this.replaceMessage.run(...key, task.retried, run.seq);
        return;
      case 'step':
        this.replaceTask.run(...key, task.retried, task.name, task.group, task.concurrent, task.stepType ?? null, null, null);
        return;
      case 'sleep':
        this.replaceTask.run(...key, null, task.name, task.group, task.concurrent, task.stepType, task.sleepMs, task.wakeAt);
        return;
      case 'wait':
        this.putSpecial(run, task, { detail: { eventIds: task.eventIds } });
        if (task.dueAt !== null) this.startWait(run, task);
        return;
      case 'call': {
        const { url, ...detail } = task.call;
        this.putSpecial(run, task, { callUrl: url, flowKey: detail.flowControl?.key, detail });
        return;
      }
      case 'notify': {
        const { eventId, workflowRunId, content } = task;
        this.putSpecial(run, task, { detail: { eventId, workflowRunId, content } });
        return;
      }
      case 'invoke': {
        const { childRunKey, childWorkflowRunId, childCreatedAt, invoke } = task;
        // The end of the other run did not find the task, because it did not exist yet.
        const late = isWaitingForRun(task) && this.parts.runs.find(childRunKey)?.active === false;
        const put = late ? { ...task, dueAt: task.createdAt } : task;
        this.putSpecial(run, put, { childRunKey, detail: { childWorkflowRunId, childCreatedAt, invoke } });
        return;
      }
      case 'callback':
        this.putSpecial(run, task, { detail: { dlqId: task.dlqId } });
        return;
    }
  }

  private delete(runKey: string, slot: number): void {
    const run = this.parts.runs.require(runKey);
    this.endWait(run, slot);
    this.deleteOneTask.run(run.seq, slot);
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

  private putSpecial(
    run: RunEntry,
    task: Extract<Task, { readonly kind: keyof TaskDetail }>,
    { flowKey, childRunKey, callUrl, detail }: SpecialColumns,
  ): void {
    const step = task.kind === 'callback' ? null : task;
    const wait = task.kind === 'wait' ? task : null;
    this.replaceSpecialTask.run(
      run.seq,
      run.tenant,
      task.slot,
      task.kind,
      task.messageId,
      task.dueAt,
      task.createdAt,
      'retried' in task ? task.retried : null,
      step?.name ?? null,
      step?.group ?? null,
      step?.concurrent ?? null,
      wait?.stepType ?? null,
      null,
      wait?.deadlineAt ?? null,
      flowKey ?? null,
      childRunKey ?? null,
      callUrl ?? null,
      JSON.stringify(detail),
    );
  }

  private startWait(run: RunEntry, { slot, eventIds, createdAt }: WaitTask): void {
    for (const eventId of eventIds) this.insertWaiter.run(run.seq, slot, eventId, run.tenant, createdAt);
    run.waitSlots ??= new Set();
    run.waitSlots.add(slot);
  }

  /** A slot without a wait costs no statement. */
  private endWait(run: RunEntry, slot: number): void {
    if (run.waitSlots?.delete(slot)) this.deleteWaiters.run(run.seq, slot);
  }

  private endAllWaits(run: RunEntry): void {
    if (!run.waitSlots) return;
    run.waitSlots = null;
    this.deleteAllWaiters.run(run.seq);
  }
}
