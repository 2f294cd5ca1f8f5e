/** Dependencies of the gates of all instances, and of the keys and destinations in them. */
import type { CommitResult, CommitUnit, ControlWrite } from '../../engine/writes.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/stores/store.js';
import type { WorkerPresence } from '../../ports/workers.js';
import type { SlotAllocator } from './slot-allocator.js';
import type { GatedDelivery } from './wait-list.js';

/** The part of the store that the gates read. */
export type GateStore = Pick<
  Store,
  'findFlowControl' | 'listFlowControls' | 'listHolds' | 'instanceSettings' | 'findQueue' | 'retriedInQueue'
>;

/** Receives the deliveries that have passed every gate. */
export interface GateListener {
  onPassedAllGates(delivery: GatedDelivery): void;
}

export interface GateDeps {
  readonly store: GateStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly control: ControlWrites;
  readonly slots: SlotAllocator;
  readonly listener: GateListener;
  readonly workers: Pick<WorkerPresence, 'missingSince'>;
  /** Returns how long requests may take to arrive, for a rate with this period. */
  readonly transitMs: (periodMs: number) => number;
}

/** Makes the writes of the gates durable. */
export interface ControlCommits {
  commitControl(unit: CommitUnit): Promise<CommitResult>;
}

const RETRY_AFTER_FAULT_MS = 1_000;

/** Writes of the gates that are in progress, and operations to repeat after a fault. */
export class ControlWrites {
  private readonly commits: ControlCommits;
  private readonly clock: Clock;
  private readonly writesInProgress = new Set<Promise<unknown>>();
  /** Cancel functions of the operations to repeat. */
  private readonly retries = new Set<() => void>();
  private isStopped = false;

  constructor(commits: ControlCommits, clock: Clock) {
    this.commits = commits;
    this.clock = clock;
  }

  /** Resolves when the write is durable. */
  async write(write: ControlWrite): Promise<void> {
    const commit = this.commits.commitControl({ guards: [], writes: [write] });
    this.writesInProgress.add(commit);
    try {
      await commit;
    } finally {
      this.writesInProgress.delete(commit);
    }
  }

  /** Repeats the operation a second later, unless the gates are stopped. */
  retryLater(operation: () => void): void {
    if (this.isStopped) return;
    const cancel = this.clock.setTimer(this.clock.now() + RETRY_AFTER_FAULT_MS, () => {
      this.retries.delete(cancel);
      operation();
    });
    this.retries.add(cancel);
  }

  /**
   * Runs the operation, again a second after each failure. Resolves when it succeeds or is no longer needed, and never if the gates
   * stop first.
   */
  async repeat(isNeeded: () => boolean, operation: () => Promise<void>, onFailed: (error: unknown) => void): Promise<void> {
    while (isNeeded()) {
      try {
        return await operation();
      } catch (error) {
        onFailed(error);
        await new Promise<void>((resolve) => this.retryLater(resolve));
      }
    }
  }

  /** Cancels the operations to repeat. Resolves when no write is in progress. */
  async stop(): Promise<void> {
    this.isStopped = true;
    for (const cancel of this.retries) cancel();
    this.retries.clear();
    await Promise.allSettled([...this.writesInProgress]);
  }
}
