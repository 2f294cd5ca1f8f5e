/** Explains why a run waits: the conditions of each of its open tasks, in the order in which they must be met. */
import type { DestinationHold } from '../../engine/runs/run.js';
import type { RunRecord } from '../../ports/stores/store.js';

/** The reason why a due delivery has no slot. */
export type NoSlotReason =
  /** All slots are in use. */
  | 'slots'
  /** Its instance has as many deliveries in flight as its plan allows. */
  | 'plan'
  /** Its account or its instance has its fair share of the slots. */
  | 'fair-share'
  /** Its timeout is long, and its account or its instance has its share of the slots for such deliveries. */
  | 'long-deliveries'
  /** Its host has as many deliveries in flight as allowed, for all accounts together or for its own account. */
  | 'host'
  /** All slots of the workers that serve the workflow are in use. */
  | 'workers'
  /** Its run is so large that it must wait for memory. */
  | 'memory';

export type WaitReason =
  | { readonly kind: 'not-before'; readonly at: number }
  | { readonly kind: 'sleeping'; readonly until: number }
  | { readonly kind: 'waiting-for-event'; readonly eventIds: readonly string[]; readonly until: number }
  | { readonly kind: 'waiting-for-run'; readonly workflowRunId: string; readonly workflowCreatedAt: number }
  | {
      readonly kind: 'retry';
      /** Number of this retry, from 1. */
      readonly retry: number;
      readonly maxRetries: number;
      readonly at: number;
      readonly error: string | null;
    }
  | {
      readonly kind: 'flow-control';
      readonly key: string;
      /** Position in the wait list of the key, from 1. */
      readonly place: number;
      readonly waiting: number;
      readonly because: 'parallelism' | 'rate' | 'paused';
      /** When the key may admit the next delivery, Unix ms; null if this does not depend on the time. */
      readonly until: number | null;
    }
  | {
      readonly kind: 'queue';
      readonly queue: string;
      /** Position among the waiting messages, from 1. */
      readonly place: number;
      readonly waiting: number;
      /** Whether older messages come first, or the queue is paused. */
      readonly because: 'order' | 'paused';
    }
  | { readonly kind: 'destination-held'; readonly hold: DestinationHold; readonly probeAt: number | null }
  /** No worker that serves the URL has been connected since this time, Unix ms. */
  | { readonly kind: 'no-worker'; readonly url: string; readonly since: number }
  /** The delivery is due, and waits for a slot. `because` is absent when it is about to start, or waits on another node. */
  | { readonly kind: 'queued'; readonly because?: NoSlotReason }
  | { readonly kind: 'in-flight'; readonly url: string };

/** The condition that a run waits for now. */
export interface RunWait {
  readonly reason: Exclude<WaitReason, { readonly kind: 'in-flight' }>;
  /** Name of the step; absent for the code between steps and for a plain message. */
  readonly stepName?: string;
  /** Number of other open tasks of the run, which wait too. */
  readonly otherTasks: number;
}

/** A task and the conditions that it waits for. */
export interface ExplainedTask {
  /** Id of the step; absent for the code between steps, for a plain message and for a failure callback. */
  readonly stepId?: number;
  readonly stepName?: string;
  readonly stepType?: string;
  readonly what: 'workflow' | 'step' | 'message' | 'failure-callback';
  readonly reasons: readonly WaitReason[];
}

export interface Explanation {
  readonly run: RunRecord;
  /** Open tasks, by position; empty if the run has ended and nothing is pending. */
  readonly tasks: readonly ExplainedTask[];
  /** Whether the run has more open tasks than listed. */
  readonly shortened?: true;
}
