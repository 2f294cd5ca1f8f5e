/** Guards: the conditions of units. */
import type { Queue, Schedule, UrlGroup } from '../runs/run.js';
import { type GuardFactsOf, INSTANCE_FACTS, RUN_FACTS } from './facts.js';

/** A condition that must hold when a unit is written. */
export type StoreGuard =
  /** No active run has this id in this instance. */
  | { readonly kind: 'run-id-free'; readonly instanceId: string; readonly workflowRunId: string }
  /**
   * The run exists and is active. With `version`, it must also be at that version, so no other decision was made
   * since. With `next`, the unit moves it to that version.
   */
  | { readonly kind: 'run-active'; readonly runKey: string; readonly version?: number; readonly next?: number }
  /**
   * The task is open with this message and, if given, this number of retries. This guard is for runs that have ended, where
   * `run-active` does not apply.
   */
  | {
      readonly kind: 'task-open';
      readonly runKey: string;
      readonly slot: number;
      readonly messageId: string;
      readonly retried?: number;
    }
  /** No task of the run is in this slot. The unit must also have a guard of the dead letter, which every such task belongs to. */
  | { readonly kind: 'slot-free'; readonly runKey: string; readonly slot: number }
  /** The schedule exists and its next tick is this one. Null means that it has no next tick. */
  | { readonly kind: 'schedule-due'; readonly instanceId: string; readonly scheduleId: string; readonly nextAt: number | null }
  /** The object has not changed in any field since it was read. Null means that it did not exist, and still does not. */
  | { readonly kind: 'queue-unchanged'; readonly instanceId: string; readonly name: string; readonly was: Queue | null }
  | { readonly kind: 'url-group-unchanged'; readonly instanceId: string; readonly name: string; readonly was: UrlGroup | null }
  | {
      readonly kind: 'schedule-unchanged';
      readonly instanceId: string;
      readonly scheduleId: string;
      readonly was: Schedule | null;
    }
  /** The instance has fewer schedules than this. */
  | { readonly kind: 'schedules-below'; readonly instanceId: string; readonly max: number }
  /** All these entries exist in this instance. */
  | { readonly kind: 'dead-letters-present'; readonly instanceId: string; readonly dlqIds: readonly string[] }
  /** The repair is at this version, so no other decision was made since. */
  | { readonly kind: 'repair-at'; readonly instanceId: string; readonly repairId: string; readonly version: number }
  /** The run exists in any state: it was not removed. */
  | { readonly kind: 'run-present'; readonly runKey: string }
  /** There is no unexpired trigger with this deduplication id. */
  | { readonly kind: 'not-duplicate'; readonly instanceId: string; readonly deduplicationId: string; readonly now: number };

export const GUARD_FACTS = {
  'run-active': RUN_FACTS,
  'run-present': RUN_FACTS,
  'task-open': RUN_FACTS,
  'slot-free': RUN_FACTS,
  'run-id-free': {
    ...INSTANCE_FACTS,
    conflicts: ({ instanceId, workflowRunId }, keys) => keys.object('run-id', instanceId, workflowRunId),
  },
  'not-duplicate': {
    ...INSTANCE_FACTS,
    conflicts: ({ instanceId, deduplicationId }, keys) => keys.object('deduplication', instanceId, deduplicationId),
  },
  'dead-letters-present': {
    ...INSTANCE_FACTS,
    conflicts: ({ instanceId, dlqIds }, keys) => {
      for (const dlqId of dlqIds) keys.object('dead-letter', instanceId, dlqId);
    },
  },
  // The repair is only read: many of its units can be written at the same time.
  'repair-at': { ...INSTANCE_FACTS, conflicts: () => {} },
  'schedule-due': {
    ...INSTANCE_FACTS,
    conflicts: ({ instanceId, scheduleId }, keys) => keys.object('schedule', instanceId, scheduleId),
  },
  'schedule-unchanged': {
    ...INSTANCE_FACTS,
    conflicts: ({ instanceId, scheduleId }, keys) => keys.object('schedule', instanceId, scheduleId),
  },
  'schedules-below': { ...INSTANCE_FACTS, conflicts: ({ instanceId }, keys) => keys.object('schedules', instanceId, '') },
  'queue-unchanged': { ...INSTANCE_FACTS, conflicts: ({ instanceId, name }, keys) => keys.object('queue', instanceId, name) },
  'url-group-unchanged': {
    ...INSTANCE_FACTS,
    conflicts: ({ instanceId, name }, keys) => keys.object('url-group', instanceId, name),
  },
} satisfies GuardFactsOf<StoreGuard>;
