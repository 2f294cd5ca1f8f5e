/**
 * Runs slices of work that keep the process busy: pages of a search, or parts of a long response or a copied journal. One slice
 * runs at a time, and accounts take turns. If other accounts are active, or if the slice is `unhurried`, all other work gets
 * three times as long before the next slice.
 */

import type { EventLoop } from '../ports/event-loop.js';
import type { InstanceOwners } from '../ports/stores/instance-owners.js';
import { RoundRobin } from './round-robin.js';

/** Number of bytes below which work takes at most a few ms and needs no separate slice. */
export const LONG_BYTES = 256 * 1024;

const PAUSE_RATIO = 3;
const MAX_PAUSE_MS = 1_000;
/** Maximum time that slices take together without a pause. */
const MAX_UNPAUSED_MS = 2;
/** Maximum time that a slice delays others while it waits for a database. */
const MAX_ALONE_MS = 50;

interface WaitingSlice {
  readonly instanceId: string;
  readonly isUnhurried: boolean;
  /** Lets the work start. The promise resolves when the work has ended. */
  readonly start: () => Promise<void>;
}

/** Runs all work immediately, for runtimes that do not share their process. */
export const NO_SLICES: Pick<WorkSlices, 'run'> = Object.freeze({ run: (_instanceId, work) => work() });

/** A queue of slices, in turns by account and instance. */
export class WorkSlices {
  private readonly owners: InstanceOwners;
  private readonly time: EventLoop;
  private readonly turns: RoundRobin;
  private readonly waitingSlices = new Set<WaitingSlice>();
  private isWorking = false;

  constructor(owners: InstanceOwners, time: EventLoop) {
    this.owners = owners;
    this.time = time;
    this.turns = new RoundRobin(owners);
  }

  /**
   * Runs the work when it is its turn. The promise settles like the work. If `unhurried` is true, the work also yields to
   * other work of the same account, because no client waits for the next slice alone.
   */
  async run<Result>(instanceId: string, work: () => Promise<Result>, { unhurried = false } = {}): Promise<Result> {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    // The work starts here and not in the loop, so that it belongs to the request that wants it.
    await new Promise<void>((resolve) => {
      const start = (): Promise<void> => {
        resolve();
        return ended;
      };
      this.waitingSlices.add({ instanceId, isUnhurried: unhurried, start });
      if (!this.isWorking) void this.runWaitingSlices();
    });
    try {
      return await work();
    } finally {
      end();
    }
  }

  private async runWaitingSlices(): Promise<void> {
    this.isWorking = true;
    // Short slices add up, so that many of them do not occupy the process without a pause either.
    let unpausedMs = 0;
    for (let nextSlice = this.turns.next(this.waitingSlices); nextSlice; nextSlice = this.turns.next(this.waitingSlices)) {
      this.waitingSlices.delete(nextSlice);
      const busyBefore = this.time.busyMs();
      // The time limit starts after the first part of the work, which may itself take longer.
      await Promise.race([nextSlice.start(), this.time.wait(MAX_ALONE_MS)]);
      if (nextSlice.isUnhurried || this.owners.othersAreActive(nextSlice.instanceId))
        unpausedMs += this.time.busyMs() - busyBefore;
      const isPaused = unpausedMs >= MAX_UNPAUSED_MS;
      await this.time.wait(isPaused ? Math.min(MAX_PAUSE_MS, unpausedMs * PAUSE_RATIO) : 0);
      if (isPaused) unpausedMs = 0;
    }
    this.isWorking = false;
  }
}
