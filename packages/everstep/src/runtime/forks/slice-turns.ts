/**
 * Whose slice of a long journal is copied next. One is written at a time, accounts take turns, and after each of them everything
 * else has the store for a multiple of the time that the slice took.
 */
import { Turns } from '../../fairness/turns.js';
import type { Clock } from '../../ports/clock.js';
import type { InstanceOwners } from '../../ports/instance-owners.js';

const PAUSE_RATIO = 4;
const MAX_PAUSE_MS = 1_000;

interface Waiting {
  readonly instanceId: string;
  readonly start: () => void;
}

export class SliceTurns {
  private readonly clock: Clock;
  private readonly turns: Turns;
  private readonly waiting = new Set<Waiting>();
  private isBusy = false;

  constructor(owners: InstanceOwners, clock: Clock) {
    this.turns = new Turns(owners);
    this.clock = clock;
  }

  /** Writes the slice when it is its turn. Rejects as the slice does. */
  async take<Result>(instanceId: string, slice: () => Promise<Result>): Promise<Result> {
    await new Promise<void>((start) => {
      this.waiting.add({ instanceId, start });
      this.next();
    });
    const startedAt = this.clock.now();
    try {
      return await slice();
    } finally {
      const now = this.clock.now();
      const pauseMs = Math.min(MAX_PAUSE_MS, (now - startedAt) * PAUSE_RATIO);
      this.clock.setTimer(now + pauseMs, () => {
        this.isBusy = false;
        this.next();
      });
    }
  }

  private next(): void {
    if (this.isBusy) return;
    const next = this.turns.next(this.waiting);
    if (!next) return;
    this.isBusy = true;
    this.waiting.delete(next);
    next.start();
  }
}
