/** The real store behind a connection that can fail, as seen by one life of the service. */
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Store } from '../ports/store.js';
import type { SeededRandom } from './seeded-random.js';

export interface StoreFaults {
  /** A commit that is refused: nothing of it happened. */
  readonly refuse: number;
  /** A commit that happened, but is reported as failed. */
  readonly loseAnswer: number;
  /** A commit that waits for long, as where a process stands still, before or after it is made. */
  readonly stall?: number;
}

/** Once `dead` returns true, nothing reaches the store any more and nothing is ever answered. */
export function faultyStore(
  store: Store,
  random: SeededRandom,
  faults: StoreFaults,
  dead: () => boolean,
  stalled = async () => {},
): Store {
  const never = new Promise<never>(() => {});
  const commit = async (units: readonly CommitUnit[]): Promise<readonly CommitResult[]> => {
    if (dead()) return never;
    const { stall = 0 } = faults;
    if (stall > 0 && random.chance(stall)) await stalled();
    if (dead()) return never;
    if (random.chance(faults.refuse)) throw new Error('simulated: the disk is full');
    const results = await store.commit(units);
    if (stall > 0 && random.chance(stall)) await stalled();
    if (dead()) return never;
    if (random.chance(faults.loseAnswer)) throw new Error('simulated: the answer to a commit was lost');
    return results;
  };
  return new Proxy(store, {
    get(target, property, receiver) {
      if (property === 'commit') return commit;
      const value: unknown = Reflect.get(target, property, receiver);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => (dead() ? never : Reflect.apply(value, target, parameters));
    },
  });
}
