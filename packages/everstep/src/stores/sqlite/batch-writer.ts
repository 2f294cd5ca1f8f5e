/**
 * Applies batches of units: one transaction each, synchronous from the first
 * statement to the last, so that nothing else happens in between.
 */
import type { StatementSync } from 'node:sqlite';
import type { CommitResult, CommitUnit, StoreGuard, StoreWrite } from '../../ports/store.js';
import { integer, text } from './columns.js';
import { DeadLetterWriter } from './dead-letter-writer.js';
import { FACET } from './facets/facets.js';
import { ProgressWriter } from './progress-writer.js';
import { RunWriter } from './run-writer.js';
import { forgetUnwritten, type StoreParts } from './store-parts.js';
import type { TriggerRecords } from './trigger-records.js';

const APPLIED: CommitResult = Object.freeze({ kind: 'applied' });
const NOT_ACTIVE: CommitResult = Object.freeze({ kind: 'run-not-active' });

export class BatchWriter {
  private readonly parts: StoreParts;
  private readonly begin: StatementSync;
  private readonly commitBatch: StatementSync;
  private readonly selectRun: StatementSync;
  private readonly runWriter: RunWriter;
  private readonly progress: ProgressWriter;
  private readonly deadLetters: DeadLetterWriter;
  private readonly triggers: TriggerRecords;
  /** Runs of this batch, by instance and id: the facet index does not show them before it is flushed. */
  private readonly begun = new Map<string, string>();

  constructor(parts: StoreParts, triggers: TriggerRecords) {
    this.parts = parts;
    this.begin = parts.connection.prepare('BEGIN IMMEDIATE');
    this.commitBatch = parts.connection.prepare('COMMIT');
    this.selectRun = parts.connection.prepare('SELECT key, status, workflow_run_id, created_at FROM run WHERE seq = ?');
    this.runWriter = new RunWriter(parts);
    this.progress = new ProgressWriter(parts);
    this.deadLetters = new DeadLetterWriter(parts);
    this.triggers = triggers;
  }

  /** Throws when a write is faulty or the file cannot be written; then nothing of the batch has happened. */
  commit(units: readonly CommitUnit[]): readonly CommitResult[] {
    if (units.length === 0) return [];
    this.begin.run();
    try {
      const results = units.map((unit) => this.apply(unit));
      this.parts.facets.flush();
      this.parts.counters.flush();
      this.commitBatch.run();
      return results;
    } catch (error) {
      forgetUnwritten(this.parts);
      this.rollBack(error);
      throw error;
    } finally {
      this.begun.clear();
    }
  }

  private rollBack(cause: unknown): void {
    try {
      this.parts.connection.exec('ROLLBACK');
    } catch (error) {
      // SQLite undoes a transaction itself after some faults (disk full, I/O): then there is none to undo.
      if (!(error instanceof Error) || !error.message.includes('no transaction is active')) {
        throw new AggregateError([cause, error], 'a batch failed and could not be rolled back');
      }
    }
  }

  private apply(unit: CommitUnit): CommitResult {
    for (const guard of unit.guards) {
      const refusal = this.refusalOf(guard);
      if (refusal) return refusal;
    }
    for (const write of unit.writes) this.write(write);
    return APPLIED;
  }

  /** Null when the guard holds. */
  private refusalOf(guard: StoreGuard): CommitResult | null {
    switch (guard.kind) {
      case 'run-active':
        return this.parts.runs.find(guard.runKey)?.active ? null : NOT_ACTIVE;
      case 'run-id-free':
        return this.runIdTaken(guard.instanceId, guard.workflowRunId);
      case 'dead-letters-present': {
        const dlqIds = guard.dlqIds.filter((dlqId) => this.deadLetters.find(guard.instanceId, dlqId) === null);
        return dlqIds.length === 0 ? null : { kind: 'dead-letters-missing', dlqIds };
      }
      case 'not-duplicate': {
        const run = this.triggers.findDuplicate(guard.instanceId, guard.deduplicationId, guard.now);
        return run && { kind: 'duplicate', run };
      }
    }
  }

  /** Only the latest run of an id can be active: a new one begins when none is. */
  private runIdTaken(instanceId: string, workflowRunId: string): CommitResult | null {
    const { runs, tenants, facets } = this.parts;
    const tenant = tenants.find(instanceId);
    if (tenant === null) return null;
    const begun = this.begun.get(begunKey(instanceId, workflowRunId));
    const seq =
      begun === undefined ? facets.newest(tenant, { facet: FACET.runId, value: workflowRunId }) : runs.require(begun).seq;
    const row = seq === null ? undefined : this.selectRun.get(seq);
    if (!row || text(row, 'status') !== 'active') return null;
    const run = { runKey: text(row, 'key'), workflowRunId: text(row, 'workflow_run_id'), createdAt: integer(row, 'created_at') };
    return { kind: 'run-id-taken', run };
  }

  private write(write: StoreWrite): void {
    const { progress, runWriter, deadLetters, triggers } = this;
    this.parts.counters.raise('latest_time', timeOf(write));
    switch (write.kind) {
      case 'record-step':
        progress.recordStep(write.runKey, write.step);
        break;
      case 'put-task':
        progress.putTask(write.runKey, write.task);
        break;
      case 'delete-task':
        progress.deleteTask(write.runKey, write.slot);
        break;
      case 'create-run':
        this.begun.set(begunKey(write.run.instanceId, write.run.workflowRunId), write.run.key);
        runWriter.create(write.run, write.input);
        break;
      case 'end-run':
        runWriter.end(write.runKey, write.outcome, write.completedAt);
        break;
      case 'copy-journal':
        progress.copyJournal(write.fromRunKey, write.toRunKey);
        break;
      case 'park-tasks':
        progress.parkTasks(write.runKey);
        break;
      case 'delete-tasks':
        progress.deleteTasks(write.runKey);
        break;
      case 'record-attempt':
        progress.recordAttempt(write.runKey, write.attempt);
        break;
      case 'add-dead-letter':
        deadLetters.add(write.entry);
        break;
      case 'take-dead-letter':
        deadLetters.take(write.instanceId, write.dlqId, write.became);
        break;
      case 'remember-deduplication':
        triggers.rememberDeduplication(write.instanceId, write.deduplicationId, write.runKey, write.expiresAt);
        break;
      case 'put-flow-control':
        triggers.putFlowControl(write.instanceId, write.flowControl, write.at);
        break;
      default:
        write satisfies never;
    }
  }
}

/** The time at which the write was decided, as far as it tells; else 0. */
function timeOf(write: StoreWrite): number {
  switch (write.kind) {
    case 'record-step':
      return write.step.completedAt;
    case 'put-task':
      return write.task.createdAt;
    case 'create-run':
      return write.run.createdAt;
    case 'end-run':
      return write.completedAt;
    case 'record-attempt':
      return write.attempt.at;
    case 'add-dead-letter':
      return write.entry.createdAt;
    case 'put-flow-control':
      return write.at;
    default:
      return 0;
  }
}

const begunKey = (instanceId: string, workflowRunId: string): string => `${instanceId}\n${workflowRunId}`;
