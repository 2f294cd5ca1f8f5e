/**
 * Names of the workflows that the connected workers of this process serve. Their number is limited for each queue instance,
 * because every node keeps the names of all nodes in memory.
 */
import { LIMITS } from '../config/limits.js';
import { poolName } from '../ports/workers.js';
import type { WorkerLink } from './worker-link.js';

interface PoolNames {
  /** The workers that serve each workflow: their number, and the number of requests that they handle at the same time. */
  readonly workers: Map<string, { readonly count: number; readonly slots: number }>;
  /** Slots of all workers. */
  slots: number;
  /** Sorted names, until they change. */
  sorted: readonly string[] | null;
}

/** The app and the workflows of a worker that is not connected yet. */
export interface OfferedWorkflows {
  readonly instanceId: string;
  readonly app: string;
  readonly workflows: readonly string[];
}

export class ServedWorkflows {
  private readonly pools = new Map<string, PoolNames>();
  /** Number of names of all pools, by queue instance. */
  private readonly totals = new Map<string, number>();
  private readonly links = new Set<WorkerLink>();

  /** Returns whether the instance stays within its limit when this worker connects. */
  hasRoomFor({ instanceId, app, workflows }: OfferedWorkflows): boolean {
    const workers = this.pools.get(poolName(instanceId, app))?.workers;
    const newNames = new Set(workflows.filter((workflow) => !workers?.has(workflow)));
    return (this.totals.get(instanceId) ?? 0) + newNames.size <= LIMITS.maxServedWorkflowsOfInstance;
  }

  /** Returns the sorted names of the workflows that a pool serves. */
  namesOf(pool: string): readonly string[] {
    const names = this.pools.get(pool);
    if (!names) return [];
    names.sorted ??= [...names.workers.keys()].sort();
    return names.sorted;
  }

  /** Returns the slots of the workers that serve a workflow, for each workflow that only some workers of the pool serve. */
  limitedSlotsOf(pool: string): readonly (readonly [workflow: string, slots: number])[] {
    const names = this.pools.get(pool);
    const allSlots = [...(names?.workers ?? [])].map(([workflow, { slots }]) => [workflow, slots] as const);
    return allSlots.filter(([, slots]) => slots !== names?.slots);
  }

  /** Counts the workflows of a worker that accepts work. */
  add(link: WorkerLink): void {
    if (this.links.has(link)) return;
    this.links.add(link);
    const { instanceId, profile } = link;
    const pool = poolName(instanceId, profile.app);
    const names = this.pools.get(pool) ?? { workers: new Map(), slots: 0, sorted: null };
    this.pools.set(pool, names);
    const { maxConcurrency } = profile;
    names.slots += maxConcurrency;
    for (const workflow of new Set(profile.workflows)) {
      const { count, slots } = names.workers.get(workflow) ?? { count: 0, slots: 0 };
      names.workers.set(workflow, { count: count + 1, slots: slots + maxConcurrency });
      if (count === 0) this.change(instanceId, names, 1);
    }
  }

  /** Called when a worker accepts no more work. Has no effect if its workflows are not counted. */
  remove(link: WorkerLink): void {
    if (!this.links.delete(link)) return;
    const { instanceId, profile } = link;
    const pool = poolName(instanceId, profile.app);
    const names = this.pools.get(pool);
    if (!names) return;
    const { maxConcurrency } = profile;
    names.slots -= maxConcurrency;
    for (const workflow of new Set(profile.workflows)) {
      const { count, slots } = names.workers.get(workflow) ?? { count: 0, slots: 0 };
      if (count > 1) names.workers.set(workflow, { count: count - 1, slots: slots - maxConcurrency });
      else if (names.workers.delete(workflow)) this.change(instanceId, names, -1);
    }
    if (names.workers.size === 0) this.pools.delete(pool);
  }

  private change(instanceId: string, names: PoolNames, difference: 1 | -1): void {
    names.sorted = null;
    const total = (this.totals.get(instanceId) ?? 0) + difference;
    if (total === 0) this.totals.delete(instanceId);
    else this.totals.set(instanceId, total);
  }
}
