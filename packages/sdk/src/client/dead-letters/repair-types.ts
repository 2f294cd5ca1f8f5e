/** Responses about repairs: bulk jobs over dead letters. Times are Unix milliseconds. */
import type { FailureFunctionState } from '../types.js';

/** Action that a repair applies to each entry. */
export type RepairAction = 'resume' | 'restart' | 'delete';
/**
 * State of a repair. `canary-passed`: waits for `continue`. `stopped`: too many entries of the canary failed again.
 * `undo-window`: a delete that has not deleted anything yet.
 */
export type RepairState =
  | 'planning'
  | 'planned'
  | 'canary'
  | 'canary-passed'
  | 'running'
  | 'paused'
  | 'stopped'
  | 'undo-window'
  | 'aborted'
  | 'done';
/** State of an entry of a repair. `gone`: the entry left the queue before its turn. */
export type RepairItemState = 'pending' | 'started' | 'succeeded' | 'failed' | 'canceled' | 'gone';
/** Reason why a repair is paused or has stopped. */
export type RepairStopReason =
  | 'canary-failed'
  | 'budget-exceeded'
  | 'daily-limit-reached'
  | 'storage-quota-exceeded'
  | 'too-many-active-runs'
  | 'paused-by-hand'
  | 'aborted-by-hand'
  | 'undone';

/** Filters of a repair. Filters are combined with AND, the values of one filter with OR. */
export interface RepairFilter {
  /** Only these entries, at most 1,000. Entries that are not in the queue are skipped. */
  readonly dlqIds?: readonly string[];
  /** Time at which the run failed, inclusive. */
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly workflowUrl?: readonly string[];
  /** Run id, or a prefix of it. */
  readonly workflowRunId?: string;
  readonly workflowCreatedAt?: number;
  readonly label?: readonly string[];
  readonly callerIp?: readonly string[];
  readonly flowControlKey?: readonly string[];
  readonly failureFunctionState?: readonly FailureFunctionState[];
  /** Fingerprints of groups of similar failures. */
  readonly fingerprint?: readonly string[];
}

/** Settings that the new runs override. */
export interface RepairOverrides {
  readonly retries?: number;
  /** Retry delay in milliseconds, as an expression over `retried`. */
  readonly retryDelay?: string;
  readonly labels?: readonly string[];
  /** Limits of the flow control key. Without `key`, they apply to the key of each run. */
  readonly flowControl?: {
    readonly key?: string;
    readonly parallelism?: number;
    /** Number of starts per period. */
    readonly rate?: number;
    /** Length of the period in milliseconds. Default: 1,000. */
    readonly periodMs?: number;
  };
}

/** Settings of a canary: a few entries that are tried first. */
export interface RepairCanary {
  /** Number of entries to start first, spread over the workflows. */
  readonly count: number;
  /** Maximum percentage of them that may fail again. The repair stops automatically above it. */
  readonly maxFailurePercent: number;
  /** Whether the repair continues automatically when the canary passes. */
  readonly thenContinue: boolean;
}

/** A repair: a bulk job over dead letters. */
export interface Repair {
  readonly repairId: string;
  readonly action: RepairAction;
  readonly filter: RepairFilter;
  readonly overrides: RepairOverrides;
  readonly state: RepairState;
  readonly createdAt: number;
  /** E-mail of a user, or name of a token. */
  readonly createdBy: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** For a delete: nothing is deleted before this time. */
  readonly undoUntil: number | null;
  readonly ratePerSecond: number | null;
  readonly canary:
    | (RepairCanary & { readonly total: number; readonly ended: number; readonly succeeded: number; readonly failed: number })
    | null;
  readonly counts: { readonly total: number } & Readonly<Record<RepairItemState, number>>;
  readonly plan: {
    readonly workflows: readonly { readonly workflowUrl: string; readonly count: number }[];
    readonly groups: readonly { readonly fingerprint: string; readonly message: string; readonly count: number }[];
    readonly oldestAt: number | null;
    readonly newestAt: number | null;
    /** There were more entries than one repair can contain. */
    readonly more: boolean;
    readonly stepsKept: number;
    readonly messagesAtLeast: number;
    readonly expectedDurationMs: number;
  };
  readonly stopReason: RepairStopReason | null;
  readonly stopMessage: string | null;
}

/** One page of repairs. `cursor` is empty at the end. */
export interface RepairPage {
  readonly cursor: string;
  readonly repairs: readonly Repair[];
}

/** An entry of a repair and its outcome. */
export interface RepairItem {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly state: RepairItemState;
  /** Fingerprint of its group, if it had one when the repair was planned. */
  readonly fingerprint: string | null;
  /** True for an entry of the canary. */
  readonly canary: boolean;
  readonly newWorkflowRunId: string | null;
  /** Entry of the new run, if it failed again. */
  readonly newDlqId: string | null;
  readonly error: string | null;
  readonly at: number | null;
}

/** One page of entries of a repair. `cursor` is empty at the end. */
export interface RepairItemPage {
  readonly cursor: string;
  readonly items: readonly RepairItem[];
}
