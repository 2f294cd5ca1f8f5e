/** Operations on runs: start, fork, cancel, await, explain and check. */
import type { ForkDecision, ForkRequest } from '../../engine/runs/fork.js';
import type { Task } from '../../engine/runs/run.js';
import type { StartCommand } from '../../engine/runs/start.js';
import type { Submission } from '../../engine/runs/submissions.js';
import type { RunRecord, RunReference } from '../../ports/stores/store.js';
import type { Explanation, RunWait } from './explanation.js';

/** The input of a trigger, with which the engine starts a run. */
export type TriggerCommand = StartCommand;

export type TriggerOutcome =
  | { readonly kind: 'started'; readonly run: RunReference }
  | { readonly kind: 'deduplicated'; readonly run: RunReference };

export interface ForkCommand extends ForkRequest {
  readonly runKey: string;
  /** The caller as the audit log names it, and its address. */
  readonly by: { readonly actor: string; readonly address: string };
}

export type ForkOutcome =
  | { readonly kind: 'forked'; readonly run: RunReference }
  /** The run was removed. */
  | { readonly kind: 'not-found' }
  | { readonly kind: 'run-id-taken'; readonly run: RunReference }
  | Extract<ForkDecision, { readonly kind: 'refused' }>
  /** The fork would exceed the storage quota of the account. */
  | { readonly kind: 'over-quota'; readonly message: string };

/** Whether the current code of a run's endpoint would replay the run; `stepId` and `stepName` are the first difference. */
export interface CheckedRun {
  readonly outcome: 'fits' | 'differs' | 'cannot-tell';
  readonly stepId: number | null;
  readonly stepName: string | null;
  /** Human-readable text. */
  readonly message: string;
}

export type CancelOutcome = { readonly kind: 'canceled' } | { readonly kind: 'not-found' } | { readonly kind: 'not-active' };

/** The outcome is `end-not-requested` if the code cannot have ended, because the run waits for a step. Then nothing changes. */
export type SubmissionOutcome = 'taken' | 'not-active' | 'end-not-requested';

export interface RunService {
  trigger(command: TriggerCommand): Promise<TriggerOutcome>;
  /** Starts a new run from the middle of another run, which does not change. The fork is recorded in the audit log. */
  fork(command: ForkCommand): Promise<ForkOutcome>;
  /**
   * Records a submission of the endpoint of the active run with this id. Resolves when it is durable. A repeated submission of
   * the same steps is accepted and has no effect. The run id can be that of an earlier run that has ended: with `createdAt` (Unix
   * ms), only the run that was created at this time is considered. Without it, the submission is not recorded in a run of which
   * nothing was delivered.
   */
  submit(command: {
    readonly instanceId: string;
    readonly workflowRunId: string;
    readonly createdAt?: number;
    readonly submission: Submission;
  }): Promise<SubmissionOutcome | 'not-found'>;
  /** Cancels the active run with this id. */
  /** Cancels the run with this id. Without `createdAt` (Unix ms), this is the latest one. */
  cancel(command: {
    readonly instanceId: string;
    readonly workflowRunId: string;
    readonly createdAt?: number | undefined;
  }): Promise<CancelOutcome>;
  /** Cancels the active runs among these, and returns their number. */
  cancelAll(command: { readonly runKeys: readonly string[] }): Promise<number>;
  /** Resolves with the record of the run when it has ended; null on a timeout, if the signal aborts, or if the server stops. */
  awaitEnd(query: {
    readonly instanceId: string;
    readonly run: RunReference;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
  }): Promise<RunRecord | null>;
  /** Explains why the run waits; null if there is no such run. */
  explain(query: {
    readonly instanceId: string;
    readonly workflowRunId: string;
    readonly createdAt?: number;
  }): Promise<Explanation | null>;
  /** Time of the server's clock, Unix ms. Durations of active runs are measured up to this time. */
  now(): number;
  /**
   * Resolves with what these active runs wait for, by run key. A run is absent while one of its tasks is being processed or about
   * to be. It is also absent if another node holds its due delivery. `tasks` are its first open tasks.
   */
  waits(runs: readonly { readonly run: RunRecord; readonly tasks: readonly Task[] }[]): Promise<ReadonlyMap<string, RunWait>>;
  /** Checks whether the current code of the endpoints would replay these runs. Results have the order of the runs. */
  checkReplays(query: { readonly runKeys: readonly string[]; readonly signal: AbortSignal }): Promise<readonly CheckedRun[]>;
}
