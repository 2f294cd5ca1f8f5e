/** What the guards and writes of a batch name: what has to be read and locked for it. */
import type { RepairId } from '../../../ports/stores/repair-store.js';
import type { CommitUnit, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';
import type { ScheduleReference } from '../control/schedule-records.js';
import { type DeduplicationId, keyOf } from '../runs/deduplication-writes.js';
import { isWaitingForRun } from '../runs/task-rows.js';

export const pairOf = (instanceId: string, id: string): string => `${instanceId}\n${id}`;

export class BatchNames {
  readonly runs = new Set<string>();
  readonly children = new Set<string>();
  /** Runs that must not be removed before this is written. */
  readonly present = new Set<string>();
  /** Runs that are named by deduplication ids and not begun in the batch before. */
  readonly remembered = new Set<string>();
  /** Runs that the batch begins, and their instances: nobody else knows of them. */
  readonly begun = new Map<string, string>();
  readonly runIds = new Map<string, { readonly instance_id: string; readonly workflow_run_id: string }>();
  readonly entries = new Map<string, { readonly instance_id: string; readonly dlq_id: string }>();
  readonly slots = new Map<string, { readonly run_key: string; readonly slot: number }>();
  readonly deduplicationIds = new Map<string, DeduplicationId>();
  readonly schedules = new Map<string, ScheduleReference>();
  readonly repairs = new Map<string, RepairId>();
  /** Whether a message comes into a queue. */
  queued = false;

  constructor(units: readonly CommitUnit[]) {
    for (const { guards, writes } of units) {
      for (const guard of guards) this.ofGuard(guard);
      for (const write of writes) this.ofWrite(write);
    }
  }

  /** Runs that it needs to know the instances of. */
  get runKeys(): ReadonlySet<string> {
    const keys = new Set([...this.runs, ...this.children, ...this.present, ...this.remembered]);
    for (const { run_key } of this.slots.values()) keys.add(run_key);
    for (const runKey of this.begun.keys()) keys.delete(runKey);
    return keys;
  }

  private ofGuard(guard: StoreGuard): void {
    switch (guard.kind) {
      case 'run-active':
        this.runs.add(guard.runKey);
        break;
      case 'run-present':
        this.runs.add(guard.runKey);
        this.present.add(guard.runKey);
        break;
      case 'run-id-free':
        this.runIds.set(pairOf(guard.instanceId, guard.workflowRunId), {
          instance_id: guard.instanceId,
          workflow_run_id: guard.workflowRunId,
        });
        break;
      case 'dead-letters-present':
        for (const dlqId of guard.dlqIds) this.entry(guard.instanceId, dlqId);
        break;
      case 'not-duplicate':
        this.deduplicationIds.set(keyOf(guard), guard);
        break;
      case 'task-open':
        this.slots.set(`${guard.runKey}\n${guard.slot}`, { run_key: guard.runKey, slot: guard.slot });
        break;
      case 'schedule-due':
        this.schedules.set(pairOf(guard.instanceId, guard.scheduleId), guard);
        break;
      case 'repair-at':
        this.repairs.set(pairOf(guard.instanceId, guard.repairId), guard);
        break;
      case 'queue-unchanged':
      case 'url-group-unchanged':
      case 'schedule-unchanged':
      case 'schedules-below':
        break;
      default:
        guard satisfies never;
    }
  }

  private ofWrite(write: StoreWrite): void {
    if ('runKey' in write && write.kind !== 'abandon-journal') this.runs.add(write.runKey);
    switch (write.kind) {
      case 'create-run':
        this.begun.set(write.run.key, write.run.instanceId);
        if ((write.run.settings.message?.queue ?? null) !== null) this.queued = true;
        if ('copyOf' in write.input) this.runs.add(write.input.copyOf);
        break;
      case 'put-task':
        // Whether that has ended must not change while it is decided when the task is due.
        if (isWaitingForRun(write.task)) this.runs.add(write.task.childRunKey);
        break;
      case 'copy-journal':
        this.runs.add(write.fromRunKey).add(write.toRunKey);
        break;
      case 'stage-journal':
        this.runs.add(write.fromRunKey);
        break;
      case 'wake-invoker':
        this.children.add(write.childRunKey);
        break;
      case 'add-dead-letter':
        this.runs.add(write.entry.runKey);
        break;
      case 'set-failure-function-state':
      case 'take-dead-letter':
        this.entry(write.instanceId, write.dlqId);
        break;
      case 'remember-deduplication':
        this.deduplicationIds.set(keyOf(write), write);
        if (!this.begun.has(write.runKey)) this.remembered.add(write.runKey);
        break;
      default:
    }
  }

  private entry(instanceId: string, dlqId: string): void {
    this.entries.set(pairOf(instanceId, dlqId), { instance_id: instanceId, dlq_id: dlqId });
  }
}
