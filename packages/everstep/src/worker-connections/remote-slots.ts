/** The slots of workers that are connected to other nodes, for the deliveries of this node that those nodes make. */
import type { NodePool } from '../ports/node-workers.js';
import { type FreedSlots, poolName } from '../ports/workers.js';

/** A pool of another node. */
export interface RemotePool extends Omit<NodePool, 'workflows'> {
  /** Names of the workers of each workflow that the pool serves. */
  readonly workers: ReadonlySet<string>;
}

interface PoolLoad {
  /** The pool as its node has published it last. */
  pool: RemotePool;
  taken: number;
  wasLastCounted: boolean;
}

const keyOf = ({ nodeId, instanceId, app }: RemotePool): string => `${nodeId} ${poolName(instanceId, app)}`;

export class RemoteSlots {
  private readonly loads = new Map<string, PoolLoad>();
  private readonly reservations = new Map<string, PoolLoad>();
  /** Pools with slots that have been released, and whether a rate counted the last start that took one. */
  private readonly freedPools = new Map<RemotePool, boolean>();

  /** Returns the free slots of all pools together. Those that are reserved beyond the slots of a pool count at the others. */
  freeSlots(pools: readonly RemotePool[]): number {
    const freeCount = pools.reduce((sum, pool) => sum + pool.slots - (this.loads.get(keyOf(pool))?.taken ?? 0), 0);
    return Math.max(0, freeCount);
  }

  /** Reserves a slot, whether or not one is free. */
  reserve(key: string, pool: RemotePool, isCounted: boolean): void {
    const load = this.loads.get(keyOf(pool)) ?? { pool, taken: 0, wasLastCounted: isCounted };
    this.loads.set(keyOf(pool), load);
    load.pool = pool;
    load.taken++;
    load.wasLastCounted = isCounted;
    this.reservations.set(key, load);
  }

  /** Returns whether a slot was reserved under the key. */
  release(key: string): boolean {
    const load = this.reservations.get(key);
    if (!load) return false;
    this.reservations.delete(key);
    load.taken--;
    const { pool, taken, wasLastCounted } = load;
    if (taken === 0) this.loads.delete(keyOf(pool));
    this.freedPools.set(pool, wasLastCounted);
    return true;
  }

  /** Called when a node has published, changed or removed a pool. If it has changed, this is called with the new pool last. */
  poolChanged(pool: RemotePool): void {
    const load = this.loads.get(keyOf(pool));
    if (load) load.pool = pool;
    if (!this.freedPools.has(pool)) this.freedPools.set(pool, false);
  }

  takeFreed(): readonly FreedSlots[] {
    const freedSlots = [...this.freedPools].map(([{ instanceId, workers }, wasLastCounted]) => ({
      ...{ instanceId, workers, wasLastCounted },
    }));
    this.freedPools.clear();
    return freedSlots;
  }
}
