/** The lock set of a batch: what must be read and locked before its guards and writes are applied. */

import type { ConflictKeys, ConflictObject } from '../../../engine/writes/facts.js';
import { reportConflicts } from '../../../engine/writes/unit-facts.js';
import { type CommitUnit, guardFacts, type StoreGuard, type StoreWrite, writeFacts } from '../../../engine/writes.js';
import type { RepairId } from '../../../ports/stores/repair-store.js';
import type { ScheduleReference } from '../control/schedule-records.js';
import type { DeduplicationId } from '../runs/deduplication-ids.js';

export const scopedKey = (instanceId: string, id: string): string => `${instanceId}\n${id}`;

export class LockSet {
  readonly runs = new Set<string>();
  /** Invoked runs whose end makes a task of their invoker due. */
  readonly children = new Set<string>();
  /** Runs that must not be removed before the batch is written. */
  readonly presentRuns = new Set<string>();
  /** Runs that deduplication ids refer to, except those that an earlier write of the batch creates. */
  readonly rememberedRuns = new Set<string>();
  /** Instance ids of the runs that the batch creates, by run key. No other transaction can see these runs yet. */
  readonly createdRuns = new Map<string, string>();
  readonly runIds = new Map<string, { readonly instance_id: string; readonly workflow_run_id: string }>();
  readonly deadLetters = new Map<string, { readonly instance_id: string; readonly dlq_id: string }>();
  readonly slots = new Map<string, { readonly run_key: string; readonly slot: number }>();
  readonly deduplicationIds = new Map<string, DeduplicationId>();
  readonly schedules = new Map<string, ScheduleReference>();
  readonly repairs = new Map<string, RepairId>();
  /** Whether a message is added to a queue. */
  hasQueuedMessage = false;

  constructor(units: readonly CommitUnit[]) {
    const conflictKeys: ConflictKeys = {
      run: (runKey) => void this.runs.add(runKey),
      namedRun: () => {},
      object: (objectKind, instanceId, id) => this.addObject(objectKind, instanceId, id),
    };
    for (const { guards, writes } of units) {
      for (const guard of guards) {
        reportConflicts(guardFacts(guard), guard, conflictKeys);
        this.addGuard(guard);
      }
      for (const write of writes) {
        // A new entry has no row to lock.
        if (write.kind === 'add-dead-letter') this.runs.add(write.entry.runKey);
        else reportConflicts(writeFacts(write), write, conflictKeys);
        this.addWrite(write);
      }
    }
  }

  /** Keys of the runs whose instances must be looked up. */
  get runKeys(): ReadonlySet<string> {
    const keys = new Set([...this.runs, ...this.children, ...this.presentRuns, ...this.rememberedRuns]);
    for (const runKey of this.createdRuns.keys()) keys.delete(runKey);
    return keys;
  }

  private addObject(objectKind: ConflictObject, instanceId: string, id: string): void {
    const key = scopedKey(instanceId, id);
    if (objectKind === 'run-id') this.runIds.set(key, { instance_id: instanceId, workflow_run_id: id });
    else if (objectKind === 'dead-letter') this.deadLetters.set(key, { instance_id: instanceId, dlq_id: id });
    else if (objectKind === 'deduplication') this.deduplicationIds.set(key, { instanceId, deduplicationId: id });
  }

  private addGuard(guard: StoreGuard): void {
    switch (guard.kind) {
      case 'run-present':
        this.presentRuns.add(guard.runKey);
        break;
      case 'task-open':
      case 'slot-free':
        this.slots.set(`${guard.runKey}\n${guard.slot}`, { run_key: guard.runKey, slot: guard.slot });
        break;
      case 'schedule-due':
        this.schedules.set(scopedKey(guard.instanceId, guard.scheduleId), guard);
        break;
      case 'repair-at':
        this.repairs.set(scopedKey(guard.instanceId, guard.repairId), guard);
        break;
      default:
    }
  }

  private addWrite(write: StoreWrite): void {
    switch (write.kind) {
      case 'create-run':
        this.createdRuns.set(write.run.key, write.run.instanceId);
        if ((write.run.settings.message?.queue ?? null) !== null) this.hasQueuedMessage = true;
        break;
      case 'wake-invoker':
        this.children.add(write.childRunKey);
        break;
      case 'remember-deduplication':
        if (!this.createdRuns.has(write.runKey)) this.rememberedRuns.add(write.runKey);
        break;
      default:
    }
  }
}
