/** Answers about repairs: bulk jobs over dead letters. Times are Unix ms. */
import type { FailureFunctionState } from './types.js';

export type RepairAction = 'resume' | 'restart' | 'delete';
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
export type RepairItemState = 'pending' | 'started' | 'succeeded' | 'failed' | 'canceled' | 'gone';
export type RepairStopReason =
  | 'canary-failed'
  | 'budget-exceeded'
  | 'daily-limit-reached'
  | 'storage-quota-exceeded'
  | 'too-many-active-runs'
  | 'paused-by-hand'
  | 'aborted-by-hand'
  | 'undone';

/** Filters are combined with AND; the values of one with OR. */
export interface RepairFilter {
  /** These entries alone, at most 1,000; those that are not in the queue are left out. */
  readonly dlqIds?: readonly string[];
  /** When the run failed, inclusive. */
  readonly fromDate?: number;
  readonly toDate?: number;
  readonly workflowUrl?: readonly string[];
  /** The id of a run, or what it begins with. */
  readonly workflowRunId?: string;
  readonly workflowCreatedAt?: number;
  readonly label?: readonly string[];
  readonly callerIp?: readonly string[];
  readonly flowControlKey?: readonly string[];
  readonly failureFunctionState?: readonly FailureFunctionState[];
  /** Of the error. */
  readonly fingerprint?: readonly string[];
}

/** What the new runs are to have otherwise than those that failed. */
export interface RepairOverrides {
  readonly retries?: number;
  /** Expression over `retried` whose value is ms. */
  readonly retryDelay?: string;
  readonly labels?: readonly string[];
  /** Limits without a key are for the own key of each run. */
  readonly flowControl?: {
    readonly key?: string;
    readonly parallelism?: number;
    /** Starts per period. */
    readonly rate?: number;
    /** Default a second. */
    readonly periodMs?: number;
  };
}

export interface RepairCanary {
  /** So many are begun first, spread over the workflows. */
  readonly count: number;
  /** The repair stops by itself when more than this share of them fails again. */
  readonly maxFailurePercent: number;
  /** Whether it goes on by itself when they did well. */
  readonly thenContinue: boolean;
}

export interface Repair {
  readonly repairId: string;
  readonly action: RepairAction;
  readonly filter: RepairFilter;
  readonly overrides: RepairOverrides;
  readonly state: RepairState;
  readonly createdAt: number;
  /** E-mail of a user, or the name of a token. */
  readonly createdBy: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Of a delete: nothing is deleted before. */
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
    /** There were more entries than one repair takes. */
    readonly more: boolean;
    readonly stepsKept: number;
    readonly messagesAtLeast: number;
    readonly expectedDurationMs: number;
  };
  readonly stopReason: RepairStopReason | null;
  readonly stopMessage: string | null;
}

export interface RepairPage {
  readonly cursor: string;
  readonly repairs: readonly Repair[];
}

/** What became of one entry. */
export interface RepairItem {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly state: RepairItemState;
  /** Of the error, where it had one when it was frozen. */
  readonly fingerprint: string | null;
  /** It is one of those that are tried first. */
  readonly canary: boolean;
  readonly newWorkflowRunId: string | null;
  /** The entry of the new run, where that has failed again. */
  readonly newDlqId: string | null;
  readonly error: string | null;
  readonly at: number | null;
}

export interface RepairItemPage {
  readonly cursor: string;
  readonly items: readonly RepairItem[];
}
