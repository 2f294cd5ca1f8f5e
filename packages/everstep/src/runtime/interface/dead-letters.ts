/** Operations on dead letters, and on the failure callbacks of their runs. */
import type { Overrides } from '../../engine/runs/settings.js';
import type { DeadLetterGroupStore, MarkOutcome } from '../../ports/stores/dead-letter-groups.js';
import type { RunReference } from '../../ports/stores/store.js';

/** Overrides of a resume or restart. Absent settings do not change. */
export type RunOverrides = Overrides;

/** What to do if an entry is missing. With `fail`, nothing is changed; with `skip`, the entry is skipped. */
export type MissingEntryPolicy = 'fail' | 'skip';

export interface RecoverCommand {
  /** `retry` restarts messages and resumes runs. */
  readonly kind: 'resume' | 'restart' | 'retry';
  readonly instanceId: string;
  readonly dlqIds: readonly string[];
  readonly onMissing: MissingEntryPolicy;
  readonly overrides: RunOverrides;
  /** Id of the new run; only with one dlqId. */
  readonly workflowRunId?: string;
  /**
   * Time when the runs were admitted, Unix ms. They count toward the daily limit of this day. If this is absent or null, they
   * count toward the daily limit of the day on which they start.
   */
  readonly admittedAt?: number | null;
}

export type RecoverOutcome =
  | { readonly kind: 'recovered'; readonly runs: readonly RunReference[] }
  | { readonly kind: 'missing'; readonly dlqIds: readonly string[] }
  | { readonly kind: 'run-id-taken'; readonly run: RunReference }
  /** The overrides contain flow control limits without a key, and the run has no key. */
  | { readonly kind: 'no-flow-control-key'; readonly dlqId: string };

export type MarkGroupCommand = Parameters<DeadLetterGroupStore['mark']>[0];

export interface DeadLetterService {
  recover(command: RecoverCommand): Promise<RecoverOutcome>;
  delete(command: {
    readonly instanceId: string;
    readonly dlqIds: readonly string[];
    readonly onMissing: MissingEntryPolicy;
  }): Promise<
    { readonly kind: 'deleted'; readonly count: number } | { readonly kind: 'missing'; readonly dlqIds: readonly string[] }
  >;
  /** Acknowledges, resolves, assigns or snoozes a group, or changes its notes. */
  markGroup(command: MarkGroupCommand): Promise<MarkOutcome>;
}

export type CallbackOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'not-found' }
  /** There is no failure callback, or the state of the callback does not allow this. */
  | { readonly kind: 'not-possible'; readonly why: string };

export interface DeadLetterId {
  readonly instanceId: string;
  readonly dlqId: string;
}

export interface FailureCallbackService {
  /** Calls the failure callback of the entry again. */
  retry(command: DeadLetterId): Promise<CallbackOutcome>;
  cancel(command: DeadLetterId): Promise<CallbackOutcome>;
}
