/** Applies batches of units: one transaction each. Keeps invariants 5 and 6. */
import type { StatementSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import type { CommitResult, CommitUnit, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';
import { activeRunsAdded, bytesAdded } from '../../../ports/stores/stored-bytes.js';
import type { AuditLog } from '../audit/audit-log.js';
import { integer, text } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { Transaction } from '../connection/transaction.js';
import type { FlowControlRecords } from '../control/flow-control-records.js';
import type { InstanceRecords } from '../control/instance-records.js';
import type { QueueRecords } from '../control/queue-records.js';
import type { ScheduleRecords } from '../control/schedule-records.js';
import type { UrlGroupRecords } from '../control/url-group-records.js';
import type { DeadLetterWriter } from '../dead-letters/dead-letter-writer.js';
import { FACET } from '../listing/facets/facets.js';
import type { RepairRecords } from '../repairs/repair-records.js';
import type { EventRecords } from '../runs/event-records.js';
import { RunWriter } from '../runs/run-writer.js';
import { TaskWriter } from '../runs/task-writer.js';
import type { TriggerRecords } from '../runs/trigger-records.js';
import { ProgressWriter } from './progress-writer.js';

const APPLIED: CommitResult = Object.freeze({ kind: 'applied' });
const RUN_GONE: CommitResult = Object.freeze({ kind: 'run-gone' });
const NOT_ACTIVE: CommitResult = Object.freeze({ kind: 'run-not-active' });
const TASK_GONE: CommitResult = Object.freeze({ kind: 'task-gone' });
const CHANGED: CommitResult = Object.freeze({ kind: 'changed' });
const SCHEDULE_MOVED: CommitResult = Object.freeze({ kind: 'schedule-moved' });
const REPAIR_MOVED: CommitResult = Object.freeze({ kind: 'repair-moved' });

/** What stands beside the runs. */
export interface Records {
  readonly triggers: TriggerRecords;
  readonly flowControls: FlowControlRecords;
  readonly queues: QueueRecords;
  readonly urlGroups: UrlGroupRecords;
  readonly schedules: ScheduleRecords;
  readonly instances: InstanceRecords;
  readonly events: EventRecords;
  readonly repairs: RepairRecords;
  readonly audit: AuditLog;
}

export class BatchWriter {
  private readonly parts: StoreParts;
  private readonly transaction: Transaction;
  private readonly selectRun: StatementSync;
  private readonly selectOpenTask: StatementSync;
  private readonly runWriter: RunWriter;
  private readonly progress: ProgressWriter;
  private readonly tasks: TaskWriter;
  private readonly deadLetters: DeadLetterWriter;
  private readonly records: Records;
  /** Runs of this batch, by instance and id: the facet index does not show them before it is flushed. */
  private readonly begun = new Map<string, string>();

  constructor(parts: StoreParts, transaction: Transaction, deadLetters: DeadLetterWriter, records: Records) {
    this.parts = parts;
    this.transaction = transaction;
    this.selectRun = parts.connection.prepare('SELECT key, status, workflow_run_id, created_at FROM run WHERE seq = ?');
    this.selectOpenTask = parts.connection.prepare('SELECT message_id FROM task WHERE run_seq = ? AND slot = ?');
    this.runWriter = new RunWriter(parts);
    this.progress = new ProgressWriter(parts);
    this.tasks = new TaskWriter(parts);
    this.deadLetters = deadLetters;
    this.records = records;
  }

  /** Throws when a write is faulty or the file cannot be written; then nothing of the batch has happened. */
  commit(units: readonly CommitUnit[]): readonly CommitResult[] {
    if (units.length === 0) return [];
    try {
      return this.transaction.run(() => units.map((unit) => this.apply(unit)));
    } finally {
      this.begun.clear();
    }
  }

  private apply(unit: CommitUnit): CommitResult {
    for (const guard of unit.guards) {
      const refusal = this.refusalOf(guard);
      if (refusal) return refusal;
    }
    for (const write of unit.writes) {
      this.write(write);
      const [bytes, activeRuns] = [bytesAdded(write), activeRunsAdded(write)];
      if (bytes !== 0 || activeRuns !== 0)
        this.parts.stored.add(this.parts.runs.require(runKeyOf(write)).tenant, bytes, activeRuns);
    }
    return APPLIED;
  }

  /** Null when the guard holds. */
  private refusalOf(guard: StoreGuard): CommitResult | null {
    switch (guard.kind) {
      case 'run-active':
        return this.parts.runs.find(guard.runKey)?.active ? null : NOT_ACTIVE;
      case 'run-present':
        return this.parts.runs.find(guard.runKey) ? null : RUN_GONE;
      case 'run-id-free':
        return this.runIdTaken(guard.instanceId, guard.workflowRunId);
      case 'dead-letters-present': {
        const dlqIds = guard.dlqIds.filter((dlqId) => this.deadLetters.find(guard.instanceId, dlqId) === null);
        return dlqIds.length === 0 ? null : { kind: 'dead-letters-missing', dlqIds };
      }
      case 'not-duplicate': {
        const run = this.records.triggers.findDuplicate(guard.instanceId, guard.deduplicationId, guard.now);
        return run && { kind: 'duplicate', run };
      }
      case 'task-open':
        return this.isOpen(guard.runKey, guard.slot, guard.messageId) ? null : TASK_GONE;
      case 'schedule-due':
        return this.records.schedules.isDueAt(guard.instanceId, guard.scheduleId, guard.nextAt) ? null : SCHEDULE_MOVED;
      case 'repair-at':
        return this.records.repairs.isAt(guard.instanceId, guard.repairId, guard.version) ? null : REPAIR_MOVED;
      case 'queue-unchanged':
        return isDeepStrictEqual(this.records.queues.find(guard.instanceId, guard.name), guard.was) ? null : CHANGED;
      case 'url-group-unchanged':
        return isDeepStrictEqual(this.records.urlGroups.find(guard.instanceId, guard.name), guard.was) ? null : CHANGED;
      case 'schedule-unchanged':
        return isDeepStrictEqual(this.records.schedules.find(guard.instanceId, guard.scheduleId), guard.was) ? null : CHANGED;
      case 'schedules-below': {
        const count = this.records.schedules.count(guard.instanceId);
        return count < guard.most ? null : { kind: 'too-many-schedules', count };
      }
    }
  }

  private isOpen(runKey: string, slot: number, messageId: string): boolean {
    const run = this.parts.runs.find(runKey);
    const row = run ? this.selectOpenTask.get(run.seq, slot) : undefined;
    return row !== undefined && text(row, 'message_id') === messageId;
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
    const { progress, tasks, runWriter, deadLetters, records } = this;
    this.parts.counters.raise('latest_time', timeOf(write));
    switch (write.kind) {
      case 'record-step':
        progress.recordStep(write.runKey, write.step);
        break;
      case 'put-task':
        tasks.put(write.runKey, write.task);
        break;
      case 'delete-task':
        tasks.delete(write.runKey, write.slot);
        break;
      case 'create-run':
        this.begun.set(begunKey(write.run.instanceId, write.run.workflowRunId), write.run.key);
        runWriter.create(write.run, write.input);
        break;
      case 'end-run':
        runWriter.end(write.runKey, write.outcome, write.completedAt);
        break;
      case 'copy-journal':
        progress.copyJournal(write);
        break;
      case 'stage-journal':
        progress.stageJournal(write);
        break;
      case 'adopt-journal':
        this.parts.staged.adopt(write.runKey, write.steps);
        break;
      case 'abandon-journal':
        this.parts.staged.abandon(write.runKey);
        break;
      case 'park-tasks':
        tasks.parkAll(write.runKey);
        break;
      case 'delete-tasks':
        tasks.deleteAll(write.runKey);
        break;
      case 'keep-event':
        records.events.keep(write.runKey, write.event);
        break;
      case 'drop-event':
        records.events.drop(write.runKey, write.eventKey);
        break;
      case 'note-failure-function':
        runWriter.noteFailureFunction(write.runKey);
        break;
      case 'wake-invoker':
        tasks.wakeInvoker(write.childRunKey, write.at);
        break;
      case 'set-failure-function-state':
        deadLetters.setState(write.instanceId, write.dlqId, write.state);
        break;
      case 'record-attempt':
        progress.recordAttempt(write.runKey, write.attempt);
        break;
      case 'add-dead-letter':
        deadLetters.add(write.entry, write.group);
        break;
      case 'take-dead-letter':
        deadLetters.take(write.instanceId, write.dlqId, write.became);
        break;
      case 'set-repair-item':
        records.repairs.setItem(write);
        break;
      case 'remember-deduplication':
        records.triggers.rememberDeduplication(write.instanceId, write.deduplicationId, write.runKey, write.expiresAt);
        break;
      case 'put-flow-control':
        records.flowControls.put(write.instanceId, write.flowControl, write.at);
        break;
      case 'set-flow-control':
        records.flowControls.set(write.instanceId, write.state, write.at);
        break;
      case 'set-flow-window':
        records.flowControls.setWindow(write.instanceId, write.key, write.window);
        break;
      case 'register-queue':
        records.queues.register(write.instanceId, write.name, write.at);
        break;
      case 'put-queue':
        records.queues.put(write.instanceId, write.queue);
        break;
      case 'delete-queue':
        records.queues.delete(write.instanceId, write.name);
        break;
      case 'put-url-group':
        records.urlGroups.put(write.instanceId, write.group);
        break;
      case 'delete-url-group':
        records.urlGroups.delete(write.instanceId, write.name);
        break;
      case 'put-schedule':
        records.schedules.put(write.schedule);
        break;
      case 'delete-schedule':
        records.schedules.delete(write.instanceId, write.scheduleId);
        break;
      case 'set-hold':
        records.instances.setHold(write.instanceId, write.origin, write.hold);
        break;
      case 'set-instance-settings':
        records.instances.setSettings(write.instanceId, write.settings);
        break;
      case 'count-messages':
        this.parts.usage.add(write.instanceId, write.messages, write.at);
        break;
      case 'count-of-day':
        this.parts.days.add(write);
        break;
      case 'add-audit':
        records.audit.add(write.entry);
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
    case 'keep-event':
      return write.event.receivedAt;
    case 'put-flow-control':
    case 'set-flow-control':
    case 'register-queue':
    case 'wake-invoker':
    case 'count-messages':
    case 'count-of-day':
    case 'set-repair-item':
      return write.at;
    case 'add-audit':
      return write.entry.at;
    case 'set-flow-window':
      return write.window?.startedAt ?? 0;
    case 'put-queue':
      return write.queue.updatedAt;
    case 'put-url-group':
      return write.group.updatedAt;
    case 'put-schedule':
      return Math.max(write.schedule.createdAt, write.schedule.lastFiredAt ?? 0);
    case 'set-hold':
      return write.hold?.since ?? 0;
    default:
      return 0;
  }
}

/** The run that a write which adds bytes belongs to. */
function runKeyOf(write: StoreWrite): string {
  if (write.kind === 'create-run') return write.run.key;
  if (write.kind === 'add-dead-letter') return write.entry.runKey;
  if ('runKey' in write) return write.runKey;
  throw new Error(`${write.kind} belongs to no run`);
}

const begunKey = (instanceId: string, workflowRunId: string): string => `${instanceId}\n${workflowRunId}`;
