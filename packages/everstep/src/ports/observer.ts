/**
 * Observes the work of the server, for metrics and traces. Every method is cheap, never throws, and keeps no reference to its
 * arguments. The implementation limits the number of workflow names and of other labels.
 */
import type { Run } from '../engine/runs/run.js';
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { AttemptSpan } from './traces.js';

/** Purpose of a delivery. A `notice` reports an alert, a lifecycle event, a budget alert or entries of the audit log. */
export type DeliveryKind = 'step' | 'call' | 'message' | 'failure-callback' | 'notice';

export interface ObservedDelivery {
  readonly kind: DeliveryKind;
  /** URL of the request. */
  readonly url: string;
  readonly durationMs: number;
  /** HTTP status of the response, or the cause of a failure without one. */
  readonly outcome: number | string;
  /** HTTP method; not used for a request to a worker. */
  readonly method: string;
  /** Span of the attempt; absent if none is exported. */
  readonly span?: AttemptSpan;
  /** Whether the attempt belongs to the step of its message. If not, the code of the run was between steps. */
  readonly isOfStep: boolean;
}

/** Result of spans: `dropped` spans did not fit in the queue, `failed` spans were not accepted by the receiver. */
export type SpanResult = 'exported' | 'failed' | 'dropped';

/** Number of waiting deliveries, and number of deliveries in flight. */
export interface KeyCounts {
  readonly waiting: number;
  readonly inFlight: number;
}

/** A flow control key or a queue, with the numbers of its deliveries on this node. */
export interface GateCounts extends KeyCounts {
  readonly kind: 'key' | 'queue';
  readonly name: string;
  /** Time when the delivery that has waited longest was offered to the gate, Unix ms; null if none is waiting. */
  readonly oldestSince: number | null;
}

export interface Observer {
  /**
   * Called when units became durable. `runOf` returns a run if it is in memory. A run that has just ended is still in memory, with
   * its open tasks.
   */
  committed(units: readonly CommitUnit[], runOf: (runKey: string) => Run | null): void;
  /** Called when the store has finished a batch. `results` is null if it failed. */
  batchWritten(units: number, results: readonly CommitResult[] | null, durationMs: number): void;
  /** Called when the embedded store has synced its log to the disk. */
  logSynced(durationMs: number): void;
  /** Called when PostgreSQL has responded to a COMMIT and the statements that were sent with it. */
  databaseCommitted(durationMs: number): void;
  /** Called when this node has taken over the work of nodes whose lease expired. */
  nodesLost(count: number): void;
  /** Called when a call to the store has failed. `operation` is its name in the code. */
  storeFailed(operation: string): void;
  /** Called when an operation on the documents of search indexes has ended. */
  searched(operation: string, result: 'ok' | 'failed', durationMs: number): void;
  /** Called when a delivery was sent, with the time since it became due. */
  deliverySent(waitedMs: number): void;
  /** Called when a delivery has ended. */
  delivered(delivery: ObservedDelivery): void;
  /** Called when a tick of a schedule has started runs or was skipped, with the delay since the time of the tick. */
  scheduleTicked(result: 'started' | 'skipped', delayMs: number): void;
  /** Called when spans were exported or lost. */
  spansExported(result: SpanResult, count: number): void;
  /** Called when the HTTP API has responded to a request. `route` is null for an unknown path. */
  apiResponded(request: {
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
  nodesLost() {},
  storeFailed() {},
  searched() {},
  deliverySent() {},
  delivered() {},
  scheduleTicked() {},
  spansExported() {},
  apiResponded() {},
};

/** Returns an observer that passes events to the first observer, and some of them to the second. */
export function combineObservers(first: Observer, second: Pick<Observer, 'committed' | 'delivered'>): Observer {
  const { committed, delivered, ...otherMethods } = NO_OBSERVER;
  const methodNames = Object.keys(otherMethods) as (keyof typeof otherMethods)[];
  return {
    ...otherMethods,
    ...Object.fromEntries(methodNames.map((name) => [name, first[name].bind(first)])),
    committed(units, runOf) {
      first.committed(units, runOf);
      second.committed(units, runOf);
    },
    delivered(delivery) {
      first.delivered(delivery);
      second.delivered(delivery);
    },
  };
}
