/** The real store behind a connection that can fail, as seen by one life of the server. */

import type { SeededRandom } from '../clock/testing/seeded-random.js';
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Clock } from '../ports/clock.js';
import type { Store } from '../ports/stores/store.js';
import { StoreRefusesWritesError, StoreUnavailableError } from '../ports/stores/store-unavailable.js';

/** Probabilities of faults per commit. */
export interface StoreFaults {
  /** Probability that a commit is rejected and has no effect. */
  readonly rejectChance: number;
  /** Probability that a commit succeeds but its response is lost. */
  readonly loseReply: number;
  /** Probability of a long delay before or after a commit, as in a stalled process. */
  readonly stall?: number;
  /** Probability that the store starts to reject all writes with this commit, for up to `longestMs`. Default: 0. */
  readonly outage?: { readonly chance: number; readonly longestMs: number };
}

/** Periods in which a store rejects all writes, as seen by one life of the server. */
export class StoreOutages {
  private readonly clock: Pick<Clock, 'now'>;
  private readonly random: SeededRandom;
  private readonly faults: StoreFaults;
  private readonly onOutage: () => void;
  private outageEndsAt = Number.NEGATIVE_INFINITY;

  /** Creates the outages. `onOutage` is called when one of them starts. */
  constructor(clock: Pick<Clock, 'now'>, random: SeededRandom, faults: StoreFaults, onOutage: () => void) {
    this.clock = clock;
    this.random = random;
    this.faults = faults;
    this.onOutage = onOutage;
  }

  /** Whether the store currently rejects writes. An outage starts with a rejected write, so the server knows about it. */
  get isRejectingWrites(): boolean {
    return this.clock.now() < this.outageEndsAt;
  }

  /** Throws if a write is rejected. */
  checkWrite(canStart: boolean): void {
    const { outage } = this.faults;
    if (!outage) return;
    if (canStart && !this.isRejectingWrites && this.random.chance(outage.chance)) {
      this.onOutage();
      this.outageEndsAt = this.clock.now() + this.random.below(outage.longestMs);
    }
    if (this.isRejectingWrites) throw new StoreRefusesWritesError('simulated');
  }
}

/** Returns the store with faults. Once `isDead` returns true, no call reaches the store and no call returns. */
export function faultyStore(
  store: Store,
  random: SeededRandom,
  faults: StoreFaults,
  isDead: () => boolean,
  {
    waitOutStall = async () => {},
    outages,
  }: { readonly waitOutStall?: () => Promise<void>; readonly outages?: StoreOutages } = {},
): Store {
  const never = new Promise<never>(() => {});
  const commit = async (units: readonly CommitUnit[]): Promise<readonly CommitResult[]> => {
    if (isDead()) return never;
    const { stall = 0 } = faults;
    if (stall > 0 && random.chance(stall)) await waitOutStall();
    if (isDead()) return never;
    outages?.checkWrite(true);
    if (random.chance(faults.rejectChance)) throw new Error('simulated: the disk is full');
    const results = await store.commit(units);
    if (stall > 0 && random.chance(stall)) await waitOutStall();
    if (isDead()) return never;
    if (random.chance(faults.loseReply)) throw new StoreUnavailableError('simulated: the connection was lost at COMMIT');
    return results;
  };
  const probeWrites = async (): Promise<void> => {
    if (isDead()) return never;
    outages?.checkWrite(false);
    await store.probeWrites();
  };
  return new Proxy(store, {
    get(target, property, receiver) {
      if (property === 'commit') return commit;
      if (property === 'probeWrites') return probeWrites;
      const value: unknown = Reflect.get(target, property, receiver);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => (isDead() ? never : Reflect.apply(value, target, parameters));
    },
  });
}
