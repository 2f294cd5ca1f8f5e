/**
 * Several simulated nodes that share a store with versions of runs, and claims that do not exclude other nodes. Tasks
 * are taken over from their node after a while, and sometimes immediately, so that two nodes work on the same step.
 */

import type { SeededRandom } from '../clock/testing/seeded-random.js';
import type { Task } from '../engine/runs/run.js';
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Clock } from '../ports/clock.js';
import type { ClaimQuery, Cluster } from '../ports/cluster.js';
import type { DueTask, Store } from '../ports/stores/store.js';

/** Faults of several nodes. */
export interface NodeFaults {
  readonly count: number;
  /** Age at which a claim expires, because its node may be gone. */
  readonly claimMs: number;
  /** Probability that a node takes over a claim of another node immediately, per scan. */
  readonly steal: number;
}

/** Adds versions of runs to the store of a single process, as in a store that several processes share. */
export class SharedStore {
  readonly store: Store;
  private readonly versions = new Map<string, number>();
  private latestWork: Promise<unknown> = Promise.resolve();

  constructor(store: Store) {
    this.store = {
      ...store,
      commit: (units) => this.inTurn(() => this.commit(store, units)),
      loadRun: (query) =>
        this.inTurn(async () => {
          const run = await store.loadRun(query);
          return run && { ...run, version: this.versionOf(run.key) };
        }),
    };
  }

  versionOf(runKey: string): number {
    return this.versions.get(runKey) ?? 0;
  }

  /** Serializes reads and writes, so that a run is always read together with its version. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const outcome = this.latestWork.then(work);
    this.latestWork = outcome.catch(() => {});
    return outcome;
  }

  private async commit(store: Store, units: readonly CommitUnit[]): Promise<readonly CommitResult[]> {
    const nextVersions = new Map<string, number>();
    const passesGuards = units.map(({ guards }) => {
      for (const guard of guards) {
        if (guard.kind !== 'run-active' || guard.version === undefined) continue;
        if (guard.version !== (nextVersions.get(guard.runKey) ?? this.versionOf(guard.runKey))) return false;
      }
      for (const guard of guards) {
        if (guard.kind === 'run-active' && guard.next !== undefined) nextVersions.set(guard.runKey, guard.next);
      }
      return true;
    });
    const results = [...(await store.commit(units.filter((_, index) => passesGuards[index])))];
    return units.map(({ guards }, index) => {
      const result = passesGuards[index] ? results.shift() : undefined;
      if (!result) return { kind: 'run-moved' };
      for (const guard of guards) {
        if (result.kind !== 'applied' || guard.kind !== 'run-active' || guard.next === undefined) continue;
        this.versions.set(guard.runKey, guard.next);
      }
      return result;
    });
  }
}

/** The node that last claimed each task, and when. */
export type SimulatedClaims = Map<string, { readonly nodeId: string; readonly at: number }>;

export interface SimulatedNodeOptions {
  readonly nodeId: string;
  readonly shared: SharedStore;
  readonly claims: SimulatedClaims;
  readonly faults: NodeFaults;
  readonly clock: Clock;
  readonly random: SeededRandom;
  /** Returns whether the node was killed, after which it claims nothing. */
  readonly isDead: () => boolean;
}

const claimKeyOf = (runKey: string, { slot, dueAt }: Pick<Task, 'slot' | 'dueAt'>): string => `${runKey}/${slot}/${dueAt}`;

export class SimulatedNode implements Cluster {
  readonly nodeId: string;
  readonly canStartWork = true;
  private readonly options: SimulatedNodeOptions;

  constructor(options: SimulatedNodeOptions) {
    this.options = options;
    this.nodeId = options.nodeId;
  }

  async join(): Promise<void> {}

  /**
   * Returns the store as this node sees it: it claims the tasks that it writes, and reads only tasks that it has
   * claimed.
   */
  viewOf(store: Store): Store {
    const { claims, clock } = this.options;
    return {
      ...store,
      commit: async (units) => {
        const results = await store.commit(units);
        for (const [index, { writes }] of units.entries()) {
          if (results[index]?.kind !== 'applied') continue;
          for (const write of writes) {
            if (write.kind === 'put-task')
              claims.set(claimKeyOf(write.runKey, write.task), { nodeId: this.nodeId, at: clock.now() });
          }
        }
        return results;
      },
      dueTasks: async (query) => {
        const dueTasks = await store.dueTasks(query);
        return dueTasks.filter((task) => claims.get(claimKeyOf(task.runKey, task))?.nodeId === this.nodeId);
      },
    };
  }

  async claimDue(query: ClaimQuery): Promise<readonly DueTask[]> {
    const dueTasks = await this.options.shared.store.dueTasks({ ...query, after: null });
    if (this.options.isDead()) return [];
    return dueTasks
      .filter((task) => this.claim(task))
      .map((task) => ({ ...task, runVersion: this.options.shared.versionOf(task.runKey) }));
  }

  private claim(task: DueTask): boolean {
    const { claims, clock, random, nodeId, faults } = this.options;
    const claimKey = claimKeyOf(task.runKey, task);
    const currentClaim = claims.get(claimKey);
    const isOwn = currentClaim?.nodeId === nodeId;
    if (currentClaim && clock.now() - currentClaim.at < faults.claimMs && (isOwn || !random.chance(faults.steal))) return false;
    claims.set(claimKey, { nodeId, at: clock.now() });
    return true;
  }

  now(): number {
    return this.options.clock.now();
  }
  /** Returns no messages, because there are no queued messages here. */
  async claimQueued(): Promise<readonly []> {
    return [];
  }
  async handOver(): Promise<void> {}
  async openLoans(): Promise<readonly []> {
    return [];
  }
  wake(): void {}
  /** Returns this node, because there are no limits and no queued messages here. */
  async gateHolderOf(): Promise<string> {
    return this.nodeId;
  }
  async publishGateStatus(): Promise<void> {}
  async gateStatusOf(): Promise<null> {
    return null;
  }
  async nodes(): Promise<readonly []> {
    return [];
  }
  notify(): void {}
  async confirm(): Promise<void> {}
  async tryExclusively(_name: string, work: () => Promise<void>): Promise<boolean> {
    await work();
    return true;
  }
  async release(): Promise<void> {}
  async leave(): Promise<void> {}
}
