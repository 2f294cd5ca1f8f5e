/** The real store behind a connection that can fail, as seen by one life of the service. */
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Clock } from '../ports/clock.js';
import type { Store } from '../ports/store.js';
import { StoreRefusesWritesError, StoreUnavailableError } from '../ports/store-unavailable.js';
import type { SeededRandom } from './seeded-random.js';

export interface StoreFaults {
  /** A commit that is refused: nothing of it happened. */
  readonly refuse: number;
  /** A commit that happened, and whose outcome nobody knows because the connection was lost. */
  readonly loseAnswer: number;
  /** A commit that waits for long, as where a process stands still, before or after it is made. */
  readonly stall?: number;
  /** A commit with which the store begins to refuse all writes, for up to `longestMs`; absent: it never does. */
  readonly outage?: { readonly chance: number; readonly longestMs: number };
}

/** Times in which a store refuses all writes, as one life of the service sees them. */
export class StoreOutages {
  private readonly clock: Pick<Clock, 'now'>;
  private readonly random: SeededRandom;
  private readonly faults: StoreFaults;
  private readonly begun: () => void;
  private until = Number.NEGATIVE_INFINITY;

  /** `begun` is called for each of them. */
  constructor(clock: Pick<Clock, 'now'>, random: SeededRandom, faults: StoreFaults, begun: () => void) {
    this.clock = clock;
    this.random = random;
    this.faults = faults;
    this.begun = begun;
  }

  /** The store refuses writes, and has refused one: the service knows. */
  get isNoticed(): boolean {
    return this.clock.now() < this.until;
  }

  /** Throws when a write is refused. */
  write(mayBegin: boolean): void {
    const { outage } = this.faults;
    if (!outage) return;
    if (mayBegin && !this.isNoticed && this.random.chance(outage.chance)) {
      this.begun();
      this.until = this.clock.now() + this.random.below(outage.longestMs);
    }
    if (this.isNoticed) throw new StoreRefusesWritesError('simulated');
  }
}

/** Once `dead` returns true, nothing reaches the store any more and nothing is ever answered. */
export function faultyStore(
  store: Store,
  random: SeededRandom,
  faults: StoreFaults,
  dead: () => boolean,
  { stalled = async () => {}, outages }: { readonly stalled?: () => Promise<void>; readonly outages?: StoreOutages } = {},
): Store {
  const never = new Promise<never>(() => {});
  const commit = async (units: readonly CommitUnit[]): Promise<readonly CommitResult[]> => {
    if (dead()) return never;
    const { stall = 0 } = faults;
    if (stall > 0 && random.chance(stall)) await stalled();
    if (dead()) return never;
    outages?.write(true);
    if (random.chance(faults.refuse)) throw new Error('simulated: the disk is full');
    const results = await store.commit(units);
    if (stall > 0 && random.chance(stall)) await stalled();
    if (dead()) return never;
    if (random.chance(faults.loseAnswer)) throw new StoreUnavailableError('simulated: the connection was lost at COMMIT');
    return results;
  };
  const probeWrites = async (): Promise<void> => {
    if (dead()) return never;
    outages?.write(false);
    await store.probeWrites();
  };
  return new Proxy(store, {
    get(target, property, receiver) {
      if (property === 'commit') return commit;
      if (property === 'probeWrites') return probeWrites;
      const value: unknown = Reflect.get(target, property, receiver);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => (dead() ? never : Reflect.apply(value, target, parameters));
    },
  });
}
