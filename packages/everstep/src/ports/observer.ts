/**
 * Observes the work of the service, for metrics. Every method is cheap, never throws and keeps nothing of its arguments. The
 * names of workflows and other labels are bounded by the implementation.
 */
import type { CommitResult, CommitUnit } from '../engine/writes.js';

/** What is known about a run in memory. */
export interface ObservedRun {
  readonly workflowUrl: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly isMessage: boolean;
}

export type DeliveryKind = 'step' | 'call' | 'message' | 'failure-callback' | 'check';

export interface ObservedDelivery {
  readonly kind: DeliveryKind;
  /** URL of the request. */
  readonly url: string;
  readonly durationMs: number;
  /** HTTP status of the response, or the cause of a failure without one. */
  readonly outcome: number | string;
}

/** How many deliveries wait and are in flight. */
export interface KeyCounts {
  readonly waiting: number;
  readonly inFlight: number;
}

/** A flow control key or a queue with its deliveries on this node. */
export interface GateCounts extends KeyCounts {
  readonly kind: 'key' | 'queue';
  readonly name: string;
  /** When the one that waits longest was offered, Unix ms; null if none waits. */
  readonly oldestSince: number | null;
}

export interface Observer {
  /** Units became durable. `runOf` returns a run that is in memory. */
  committed(units: readonly CommitUnit[], runOf: (runKey: string) => ObservedRun | null): void;
  /** The store finished a batch. `results` is null if it failed. */
  batchWritten(units: number, results: readonly CommitResult[] | null, durationMs: number): void;
  /** The embedded store has synced its log to the disk. */
  logSynced(durationMs: number): void;
  /** PostgreSQL has answered a COMMIT and the statements that were sent with it. */
  databaseCommitted(durationMs: number): void;
  /** A call of the store failed. `operation` is its name in the code. */
  storeFailed(operation: string): void;
  /** An operation on the documents of search indexes has ended. */
  searched(operation: string, result: 'ok' | 'failed', durationMs: number): void;
  /** A delivery was sent, so many milliseconds after it was due. */
  deliverySent(waitedMs: number): void;
  /** A delivery has ended. */
  delivered(delivery: ObservedDelivery): void;
  /** A tick of a schedule has started runs so many milliseconds after its time, or was skipped. */
  scheduleTicked(result: 'started' | 'skipped', delayMs: number): void;
  /** A request of the HTTP API was answered. `route` is null for an unknown path. */
  answered(request: {
    readonly method: string;
    readonly route: string | null;
    readonly status: number;
    readonly durationMs: number;
  }): void;
}

export const NO_OBSERVER: Observer = {
  committed() {},
  batchWritten() {},
  logSynced() {},
  databaseCommitted() {},
  storeFailed() {},
  searched() {},
  deliverySent() {},
  delivered() {},
  scheduleTicked() {},
  answered() {},
};
