/** Writes to the dead letter queue and to the entries of repairs. */
import type { FailureGroup } from '../dead-letters/dead-letter-groups.js';
import type { RepairItemState } from '../dead-letters/repair.js';
import type { DeadLetter, FailureFunctionState } from '../runs/run.js';
import { alwaysFalse, alwaysTrue, alwaysZero, INSTANCE_FACTS, SMALL_WRITE_FACTS, type WriteFactsOf } from './facts.js';
import { contentBytes, RECORD_BYTES, toJson } from './stored-size.js';

export type DeadLetterWrite =
  /** Adds a dead letter. Its `group` is null if a version without groups created it; it is grouped later. */
  | { readonly kind: 'add-dead-letter'; readonly entry: DeadLetter; readonly group: FailureGroup | null }
  | {
      readonly kind: 'set-failure-function-state';
      readonly instanceId: string;
      readonly dlqId: string;
      /** State of the notification; null if there is no failure callback and no failure function. */
      readonly state: FailureFunctionState | null;
    }
  /**
   * Removes the entry from the DLQ, together with the callback task of its run. `recoveredAs` identifies the new run, and
   * the time at which it was created (Unix ms). It is null if the entry is deleted. A group whose last entry is recovered is
   * resolved.
   */
  | {
      readonly kind: 'take-dead-letter';
      readonly instanceId: string;
      readonly dlqId: string;
      readonly recoveredAs: { readonly kind: 'resume' | 'restart'; readonly runKey: string; readonly at: number } | null;
    }
  /** Sets the outcome of a repair entry. An entry that is no longer pending does not change. */
  | {
      readonly kind: 'set-repair-item';
      readonly instanceId: string;
      readonly repairId: string;
      /** Index of the entry in the repair. */
      readonly n: number;
      readonly state: RepairItemState;
      /** Run that was created from the entry. */
      readonly newRun: { readonly runKey: string; readonly workflowRunId: string } | null;
      readonly error: string | null;
      /** Time of the change, Unix ms. */
      readonly at: number;
    };

const ENTRY_WRITE = {
  ...INSTANCE_FACTS,
  ...SMALL_WRITE_FACTS,
  aggregate: 'dead-letter',
  topic: 'dlq',
  isSelfContained: alwaysFalse,
  time: alwaysZero,
} as const;

export const DEAD_LETTER_WRITE_FACTS = {
  'add-dead-letter': {
    aggregate: 'dead-letter',
    topic: 'dlq',
    instanceId: ({ entry }) => entry.instanceId,
    runKey: ({ entry }) => entry.runKey,
    isSelfContained: alwaysTrue,
    time: ({ entry }) => entry.createdAt,
    weight: ({ entry }) => entry.responseBody.length,
    storedBytes: ({ entry }) => RECORD_BYTES + contentBytes(entry.responseBody, toJson(entry.failedBy)),
    conflicts: ({ entry }, keys) => keys.object('dead-letter', entry.instanceId, entry.dlqId),
  },
  'set-failure-function-state': {
    ...ENTRY_WRITE,
    conflicts: ({ instanceId, dlqId }, keys) => keys.object('dead-letter', instanceId, dlqId),
  },
  'take-dead-letter': {
    ...ENTRY_WRITE,
    conflicts: ({ instanceId, dlqId }, keys) => keys.object('dead-letter', instanceId, dlqId),
  },
  'set-repair-item': {
    ...INSTANCE_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'repair',
    topic: 'repairs',
    isSelfContained: alwaysFalse,
    time: ({ at }) => at,
    conflicts: ({ instanceId, repairId, n }, keys) => keys.object('repair-item', instanceId, `${repairId}\n${n}`),
  },
} satisfies WriteFactsOf<DeadLetterWrite>;
