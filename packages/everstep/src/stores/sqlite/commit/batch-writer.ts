/** Applies batches of units. Each batch is one transaction. Keeps invariants 5 and 6. */
import type { StatementSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import type { Aggregate } from '../../../engine/writes/facts.js';
import { type CommitResult, type CommitUnit, type StoreGuard, type StoreWrite, writeFacts } from '../../../engine/writes.js';
import { activeRunsAdded } from '../../../ports/stores/stored-bytes.js';
import { addAlertEvent } from '../../shared/alerts/alerts.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { countObjects } from '../../shared/control/controls.js';
import { findQueue } from '../../shared/control/queues.js';
import { findSchedule } from '../../shared/control/schedules.js';
import { writeHold, writeSettings } from '../../shared/control/settings.js';
import { findUrlGroup, writeUrlGroup } from '../../shared/control/url-groups.js';
import { setItem } from '../../shared/repairs/repair-items.js';
import { versionOf } from '../../shared/repairs/repairs.js';
import type { Procedure } from '../../shared/sql/procedure.js';
import { integerOrNull, type Row, text } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { Transaction } from '../connection/transaction.js';
import type { FlowControlRecords } from '../control/flow-control-records.js';
import type { QueueRecords } from '../control/queue-records.js';
import type { ScheduleRecords } from '../control/schedule-records.js';
import type { DeadLetterWriter } from '../dead-letters/dead-letter-writer.js';
import type { EventRecords } from '../runs/event-records.js';
import { JournalWriter } from '../runs/journal-writer.js';
import { RunWriter } from '../runs/run-writer.js';
import { TaskWriter } from '../runs/task-writer.js';
import type { TriggerRecords } from '../runs/trigger-records.js';
import type { Applier, Appliers } from './applier.js';

const APPLIED: CommitResult = Object.freeze({ kind: 'applied' });
const RUN_GONE: CommitResult = Object.freeze({ kind: 'run-gone' });
const NOT_ACTIVE: CommitResult = Object.freeze({ kind: 'run-not-active' });
const TASK_GONE: CommitResult = Object.freeze({ kind: 'task-gone' });
const SLOT_TAKEN: CommitResult = Object.freeze({ kind: 'slot-taken' });
const CHANGED: CommitResult = Object.freeze({ kind: 'changed' });
const SCHEDULE_MOVED: CommitResult = Object.freeze({ kind: 'schedule-moved' });
const REPAIR_MOVED: CommitResult = Object.freeze({ kind: 'repair-moved' });

/** Records other than runs. */
export interface Records {
  readonly triggers: TriggerRecords;
  readonly flowControls: FlowControlRecords;
  readonly queues: QueueRecords;
  readonly schedules: ScheduleRecords;
  readonly events: EventRecords;
}

export class BatchWriter {
  private readonly parts: StoreParts;
  private readonly transaction: Transaction;
  private readonly selectTask: StatementSync;
  private readonly appliers: Appliers;
  private readonly deadLetters: DeadLetterWriter;
  private readonly records: Records;
  /** Runs that the batch created, by instance and id. The facet index contains them only after it is flushed. */
  private readonly createdRunKeys = new Map<string, string>();

  constructor(parts: StoreParts, transaction: Transaction, deadLetters: DeadLetterWriter, records: Records) {
    this.parts = parts;
    this.transaction = transaction;
    this.selectTask = parts.connection.prepare('SELECT message_id, retried FROM task WHERE run_seq = ? AND slot = ?');
    this.deadLetters = deadLetters;
    this.records = records;
    this.appliers = appliersOf(parts, deadLetters, records);
  }

  /** Commits the batch. Throws, and writes nothing of the batch, if a write is invalid or the file cannot be written. */
  commit(units: readonly CommitUnit[]): readonly CommitResult[] {
    if (units.length === 0) return [];
    try {
      return this.transaction.run(() => units.map((unit) => this.apply(unit)));
    } finally {
      this.createdRunKeys.clear();
    }
  }

  private apply(unit: CommitUnit): CommitResult {
    for (const guard of unit.guards) {
      const rejection = this.rejectionOf(guard);
      if (rejection) return rejection;
    }
    for (const write of unit.writes) this.write(write);
    return APPLIED;
  }

  private write(write: StoreWrite): void {
    const { counters, storedBytes, runs } = this.parts;
    const facts = writeFacts(write);
    counters.raise('latest_time', facts.time(write));
    if (write.kind === 'create-run') this.createdRunKeys.set(idKey(write.run.instanceId, write.run.workflowRunId), write.run.key);
    applierOf(this.appliers, facts.aggregate).apply(write);
    const [bytes, activeRuns] = [facts.storedBytes(write), activeRunsAdded(write)];
    if (bytes !== 0 || activeRuns !== 0) storedBytes.add(runs.require(facts.runKey(write) ?? '').tenant, bytes, activeRuns);
  }

  /** Returns the result for a guard that does not hold; null if it holds. */
  private rejectionOf(guard: StoreGuard): CommitResult | null {
    switch (guard.kind) {
      case 'run-active':
        return this.parts.runs.find(guard.runKey)?.isActive ? null : NOT_ACTIVE;
      case 'run-present':
        return this.parts.runs.find(guard.runKey) ? null : RUN_GONE;
      case 'run-id-free':
        return this.runIdConflict(guard.instanceId, guard.workflowRunId);
      case 'dead-letters-present': {
        const dlqIds = guard.dlqIds.filter((dlqId) => this.deadLetters.find(guard.instanceId, dlqId) === null);
        return dlqIds.length === 0 ? null : { kind: 'dead-letters-missing', dlqIds };
      }
      case 'not-duplicate': {
        const run = this.records.triggers.findDuplicate(guard.instanceId, guard.deduplicationId, guard.now);
        return run && { kind: 'duplicate', run };
      }
      case 'task-open':
        return this.isTaskOpen(guard) ? null : TASK_GONE;
      case 'slot-free':
        return this.findTask(guard) ? SLOT_TAKEN : null;
      case 'schedule-due':
        return this.records.schedules.isDueAt(guard.instanceId, guard.scheduleId, guard.nextAt) ? null : SCHEDULE_MOVED;
      case 'repair-at':
        return this.parts.sql.run(versionOf(guard)) === guard.version ? null : REPAIR_MOVED;
      case 'queue-unchanged':
        return this.isUnchanged(findQueue(guard.instanceId, guard.name), guard.was) ? null : CHANGED;
      case 'url-group-unchanged':
        return this.isUnchanged(findUrlGroup(guard.instanceId, guard.name), guard.was) ? null : CHANGED;
      case 'schedule-unchanged':
        return this.isUnchanged(findSchedule(guard.instanceId, guard.scheduleId), guard.was) ? null : CHANGED;
      case 'schedules-below': {
        const count = this.parts.sql.run(countObjects({ instanceId: guard.instanceId, objectKind: 'schedule' }));
        return count < guard.max ? null : { kind: 'too-many-schedules', count };
      }
    }
  }

  private isUnchanged<Found>(find: Procedure<Found | null>, expected: Found | null): boolean {
    return isDeepStrictEqual(this.parts.sql.run(find), expected);
  }

  private findTask({ runKey, slot }: { readonly runKey: string; readonly slot: number }): Row | undefined {
    const run = this.parts.runs.find(runKey);
    return run ? this.selectTask.get(run.seq, slot) : undefined;
  }

  private isTaskOpen(guard: Extract<StoreGuard, { kind: 'task-open' }>): boolean {
    const row = this.findTask(guard);
    if (row === undefined || text(row, 'message_id') !== guard.messageId) return false;
    return guard.retried === undefined || integerOrNull(row, 'retried') === guard.retried;
  }

  /** Returns the rejection if a run with this id is active; null otherwise. */
  private runIdConflict(instanceId: string, workflowRunId: string): CommitResult | null {
    const { runs, tenants, activeRunIds } = this.parts;
    const tenant = tenants.find(instanceId);
    if (tenant === null) return null;
    // A run that the batch created was created while no other run with the id was active.
    const createdRunKey = this.createdRunKeys.get(idKey(instanceId, workflowRunId));
    const activeRun =
      createdRunKey === undefined
        ? activeRunIds.find(tenant, workflowRunId)
        : activeRunIds.activeAt(runs.require(createdRunKey).seq);
    if (!activeRun) return null;
    const { seq: _, ...run } = activeRun;
    return { kind: 'run-id-taken', run };
  }
}

const idKey = (instanceId: string, workflowRunId: string): string => `${instanceId}\n${workflowRunId}`;

const applierOf = (appliers: Appliers, aggregate: Aggregate): Applier<StoreWrite> => appliers[aggregate];

function appliersOf(parts: StoreParts, deadLetters: DeadLetterWriter, records: Records): Appliers {
  const { triggers, events, flowControls, queues, schedules } = records;
  const procedureApplier = <Write>(procedureOf: (write: Write) => Procedure<void>): Applier<Write> => ({
    apply: (write) => parts.sql.run(procedureOf(write)),
  });
  const instanceApplier = <Write extends { readonly instanceId: string }>(
    procedureOf: (write: Write) => Procedure<void>,
  ): Applier<Write> => ({
    apply(write) {
      parts.tenants.findOrCreate(write.instanceId);
      parts.sql.run(procedureOf(write));
    },
  });
  return {
    run: new RunWriter(parts),
    journal: new JournalWriter(parts),
    task: new TaskWriter(parts),
    event: events,
    deduplication: triggers,
    'dead-letter': deadLetters,
    repair: procedureApplier(setItem),
    'flow-control': flowControls,
    queue: queues,
    'url-group': instanceApplier(writeUrlGroup),
    schedule: schedules,
    hold: instanceApplier(writeHold),
    settings: instanceApplier(writeSettings),
    usage: { apply: ({ instanceId, messages, at }) => parts.usage.add(instanceId, messages, at) },
    'day-count': { apply: (write) => parts.dayCounts.add(write) },
    insights: { apply: (write) => parts.insights.add(write) },
    audit: procedureApplier(({ entry }) => addSealedAudit(entry)),
    alert: procedureApplier(addAlertEvent),
  };
}
