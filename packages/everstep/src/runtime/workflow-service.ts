/**
 * What the service can be asked to do with runs: the interface between the
 * HTTP API (and anything else that speaks for users) and the runtime. Inputs
 * are already validated; expected outcomes are values, not exceptions. Every
 * promise that resolves with a change does so after the change is durable.
 */
import type { Overrides, StartCommand } from '../engine/start.js';
import type { RunRecord, RunReference } from '../ports/store.js';

/** What a trigger asks for: what the engine starts a run with. */
export type TriggerCommand = StartCommand;

export type TriggerOutcome =
  | { readonly kind: 'started'; readonly run: RunReference }
  | { readonly kind: 'deduplicated'; readonly run: RunReference };

/** Overrides of a resume or restart; what is undefined stays as it was. */
export type RunOverrides = Overrides;

export interface RecoverCommand {
  readonly kind: 'resume' | 'restart';
  readonly instanceId: string;
  readonly dlqIds: readonly string[];
  /** `fail`: one missing entry and nothing happens. `skip`: those that others took meanwhile are left out. */
  readonly whenMissing: 'fail' | 'skip';
  readonly overrides: RunOverrides;
  /** Only with one dlqId. */
  readonly workflowRunId?: string;
}

export type RecoverOutcome =
  | { readonly kind: 'recovered'; readonly runs: readonly RunReference[] }
  | { readonly kind: 'missing'; readonly dlqIds: readonly string[] }
  | { readonly kind: 'run-id-taken'; readonly run: RunReference }
  /** Flow control limits were given for a run that has no key, and none was given. */
  | { readonly kind: 'no-flow-control-key'; readonly dlqId: string };

export type CancelOutcome = { readonly kind: 'canceled' } | { readonly kind: 'not-found' } | { readonly kind: 'not-active' };

export interface WorkflowService {
  trigger(command: TriggerCommand): Promise<TriggerOutcome>;
  recover(command: RecoverCommand): Promise<RecoverOutcome>;
  deleteDeadLetters(command: {
    readonly instanceId: string;
    readonly dlqIds: readonly string[];
    readonly whenMissing: 'fail' | 'skip';
  }): Promise<
    { readonly kind: 'deleted'; readonly count: number } | { readonly kind: 'missing'; readonly dlqIds: readonly string[] }
  >;
  /** Cancels the active run with this id. */
  cancel(command: { readonly instanceId: string; readonly workflowRunId: string }): Promise<CancelOutcome>;
  /** Cancels active runs among those named; returns how many it canceled. */
  cancelRuns(command: { readonly instanceId: string; readonly runKeys: readonly string[] }): Promise<number>;
  /** Resolves when the run has ended, with its record; null when the time is up, the signal aborts, or the service stops. */
  awaitEnd(query: {
    readonly instanceId: string;
    readonly run: RunReference;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
  }): Promise<RunRecord | null>;
  /** Unix ms on the service's clock. */
  now(): number;
  newId(prefix: 'wfr' | 'msg' | 'dlq'): string;
}
