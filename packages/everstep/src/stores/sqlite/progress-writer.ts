/** Writes of a run's progress: the hot path. */
import type { StatementSync } from 'node:sqlite';
import type { FailedAttempt, RecordedStep, Task } from '../../engine/run.js';
import type { StoreParts } from './store-parts.js';

export class ProgressWriter {
  private readonly parts: StoreParts;
  private readonly insertStep: StatementSync;
  private readonly copySteps: StatementSync;
  private readonly replaceTask: StatementSync;
  private readonly deleteOneTask: StatementSync;
  private readonly parkAllTasks: StatementSync;
  private readonly deleteAllTasks: StatementSync;
  private readonly insertAttempt: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    const stepColumns =
      'step_id, name, type, message_id, first_of_group, concurrent, created_at, completed_at, sleep_ms, wake_at, out';
    this.insertStep = connection.prepare(
      `INSERT INTO step (run_seq, idx, ${stepColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.copySteps = connection.prepare(
      `INSERT INTO step (run_seq, idx, ${stepColumns})
       SELECT ?, idx, ${stepColumns} FROM step WHERE run_seq = ? ORDER BY idx`,
    );
    this.replaceTask = connection.prepare(
      `INSERT OR REPLACE INTO task
         (run_seq, slot, kind, message_id, due_at, created_at, retried, name, first_of_group, concurrent, step_type, sleep_ms, wake_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.deleteOneTask = connection.prepare('DELETE FROM task WHERE run_seq = ? AND slot = ?');
    this.parkAllTasks = connection.prepare('UPDATE task SET due_at = NULL WHERE run_seq = ?');
    this.deleteAllTasks = connection.prepare('DELETE FROM task WHERE run_seq = ?');
    this.insertAttempt = connection.prepare(
      `INSERT INTO attempt (run_seq, slot, name, message_id, retried, at, cause, status, retry_at, message)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  recordStep(runKey: string, step: RecordedStep): void {
    this.insertStep.run(
      this.seqOf(runKey),
      step.index,
      step.stepId,
      step.name,
      step.type,
      step.messageId,
      step.group,
      step.concurrent,
      step.createdAt,
      step.completedAt,
      step.sleepMs,
      step.wakeAt,
      step.out,
    );
  }

  copyJournal(fromRunKey: string, toRunKey: string): void {
    this.copySteps.run(this.seqOf(toRunKey), this.seqOf(fromRunKey));
  }

  putTask(runKey: string, task: Task): void {
    const place = [this.seqOf(runKey), task.slot, task.kind, task.messageId, task.dueAt, task.createdAt] as const;
    switch (task.kind) {
      case 'advance':
        this.replaceTask.run(...place, task.retried, null, null, null, null, null, null);
        return;
      case 'step':
        this.replaceTask.run(...place, task.retried, task.name, task.group, task.concurrent, null, null, null);
        return;
      case 'sleep':
        this.replaceTask.run(...place, null, task.name, task.group, task.concurrent, task.stepType, task.sleepMs, task.wakeAt);
        return;
    }
  }

  deleteTask(runKey: string, slot: number): void {
    this.deleteOneTask.run(this.seqOf(runKey), slot);
  }

  parkTasks(runKey: string): void {
    this.parkAllTasks.run(this.seqOf(runKey));
  }

  deleteTasks(runKey: string): void {
    this.deleteAllTasks.run(this.seqOf(runKey));
  }

  recordAttempt(runKey: string, attempt: FailedAttempt): void {
    this.insertAttempt.run(
      this.seqOf(runKey),
      attempt.slot,
      attempt.name,
      attempt.messageId,
      attempt.retried,
      attempt.at,
      attempt.cause,
      attempt.status,
      attempt.retryAt,
      attempt.message,
    );
  }

  private seqOf(runKey: string): number {
    return this.parts.runs.require(runKey).seq;
  }
}
