/** Reads of single runs and of what is due. */
import type { StatementSync } from 'node:sqlite';
import { ADVANCE_SLOT, type RecordedStep, type Run, type RunPayload, type Task } from '../../engine/run.js';
import type { RunHistory, RunRecord, TaskReference } from '../../ports/store.js';
import { integer, text } from './columns.js';
import {
  failedAttemptOf,
  payloadOf,
  RUN_RECORD_COLUMNS,
  RUN_RECORD_TABLES,
  recordedStepOf,
  runIdentityOf,
  runRecordOf,
  taskOf,
} from './rows.js';
import type { StoreParts } from './store-parts.js';

export class RunReader {
  private readonly parts: StoreParts;
  private readonly selectIdentity: StatementSync;
  private readonly selectRecord: StatementSync;
  private readonly selectJournalSize: StatementSync;
  private readonly selectSteps: StatementSync;
  private readonly selectTasks: StatementSync;
  private readonly selectAttempts: StatementSync;
  private readonly selectPayload: StatementSync;
  private readonly selectDueTasks: StatementSync;
  private readonly selectNextDue: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.selectIdentity = connection.prepare(
      'SELECT r.*, t.instance_id FROM run r JOIN tenant t ON t.seq = r.tenant WHERE r.seq = ?',
    );
    this.selectRecord = connection.prepare(`SELECT ${RUN_RECORD_COLUMNS} FROM ${RUN_RECORD_TABLES} WHERE r.seq = ?`);
    this.selectJournalSize = connection.prepare(
      `SELECT count(*) AS entries, coalesce(max(step_id), 0) AS last_step_id, coalesce(sum(octet_length(out)), 0) AS result_bytes
       FROM step WHERE run_seq = ?`,
    );
    this.selectSteps = connection.prepare('SELECT * FROM step WHERE run_seq = ? AND idx >= ? ORDER BY idx');
    this.selectTasks = connection.prepare('SELECT * FROM task WHERE run_seq = ? ORDER BY slot');
    this.selectAttempts = connection.prepare('SELECT * FROM attempt WHERE run_seq = ? ORDER BY seq');
    this.selectPayload = connection.prepare('SELECT * FROM payload WHERE run_seq = ?');
    this.selectDueTasks = connection.prepare(
      `SELECT t.due_at, t.run_seq, t.slot, r.key FROM task t JOIN run r ON r.seq = t.run_seq
       WHERE t.due_at <= ? AND (t.due_at, t.run_seq, t.slot) > (?, ?, ?) AND r.status = 'active'
       ORDER BY t.due_at, t.run_seq, t.slot LIMIT ?`,
    );
    this.selectNextDue = connection.prepare(`SELECT t.due_at FROM task t JOIN run r ON r.seq = t.run_seq
       WHERE t.due_at > ? AND r.status = 'active' ORDER BY t.due_at LIMIT 1`);
  }

  loadRun(runKey: string): Run | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    const row = seq === undefined ? undefined : this.selectIdentity.get(seq);
    if (seq === undefined || !row) return null;
    const size = this.selectJournalSize.get(seq) ?? {};
    const tasks = this.tasksOf(seq);
    const journalLength = integer(size, 'entries');
    const highestSlot = tasks.at(-1)?.slot ?? 0;
    return {
      ...runIdentityOf(row),
      known: Math.max(integer(size, 'last_step_id'), highestSlot) + 1,
      journalLength,
      journalBytes: integer(size, 'result_bytes'),
      quietAt: tasks[0]?.slot === ADVANCE_SLOT ? -1 : journalLength,
      tasks: new Map(tasks.map((task) => [task.slot, task])),
    };
  }

  loadPayload(runKey: string): RunPayload | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    const row = seq === undefined ? undefined : this.selectPayload.get(seq);
    return row ? payloadOf(row) : null;
  }

  loadJournal(runKey: string, from: number): readonly RecordedStep[] {
    const seq = this.parts.runs.find(runKey)?.seq;
    return seq === undefined ? [] : this.selectSteps.all(seq, from).map(recordedStepOf);
  }

  record(seq: number): RunRecord | null {
    const row = this.selectRecord.get(seq);
    return row ? runRecordOf(row) : null;
  }

  recordOf(runKey: string): RunRecord | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    return seq === undefined ? null : this.record(seq);
  }

  history(runKey: string): RunHistory | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    const run = seq === undefined ? null : this.record(seq);
    if (seq === undefined || !run) return null;
    return {
      run,
      steps: this.selectSteps.all(seq, 0).map(recordedStepOf),
      tasks: this.tasksOf(seq),
      attempts: this.selectAttempts.all(seq).map(failedAttemptOf),
    };
  }

  dueTasks(before: number, after: TaskReference | null, limit: number): readonly TaskReference[] {
    const [dueAt, seq, slot] = after ? [after.dueAt, this.parts.runs.placeOf(after.runKey), after.slot] : [-1, 0, 0];
    return this.selectDueTasks
      .all(before, dueAt, seq, slot, limit)
      .map((row) => ({ runKey: text(row, 'key'), slot: integer(row, 'slot'), dueAt: integer(row, 'due_at') }));
  }

  nextDueAt(after: number): number | null {
    const row = this.selectNextDue.get(after);
    return row ? integer(row, 'due_at') : null;
  }

  private tasksOf(seq: number): readonly Task[] {
    return this.selectTasks.all(seq).map(taskOf);
  }
}
