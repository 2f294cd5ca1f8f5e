/**
 * Names of the workflows that the connected workers of this process serve. Their number is limited for each queue instance,
 * because every node keeps the names of all nodes in memory. Also records when workflows lose their last worker.
 */
import { workerUrl } from '@everstep/sdk/protocol';
import { LIMITS } from '../config/limits.js';
import type { Clock } from '../ports/clock.js';
import { poolName, workersOf } from '../ports/workers.js';
import type { WorkerLink } from './worker-link.js';

/** Maximum number of workflows whose last worker is remembered. Those that lost it first are forgotten first. */
const MAX_LOST_WORKFLOWS = 50_000;

interface PoolNames {
  /** Number of workers that serve each workflow. */
  readonly workers: Map<string, number>;
  /** Sorted names, until they change. */
  sorted: readonly string[] | null;
}

/** The app and the workflows of a worker that is not connected yet. */
export interface OfferedWorkflows {
  readonly instanceId: string;
  readonly app: string;
  readonly workflows: readonly string[];
}

/** Times when workflows lost their last worker, Unix ms, by name of their workers. */
export class LostWorkflows {
  private readonly times = new Map<string, number>();

  /** Called when the last of these workers was lost. */
  record(workers: string, at: number): void {
    this.times.delete(workers);
    this.times.set(workers, at);
    const [oldest] = this.times.keys();
    if (oldest !== undefined && this.times.size > MAX_LOST_WORKFLOWS) this.times.delete(oldest);
  }

  /** Returns null if the workflow has not lost a worker, or if this was forgotten. */
  timeOf(workers: string): number | null {
    return this.times.get(workers) ?? null;
  }
}

export class ServedWorkflows {
  private readonly clock: Pick<Clock, 'now'>;
  private readonly pools = new Map<string, PoolNames>();
  /** Number of names of all pools, by queue instance. */
  private readonly totals = new Map<string, number>();
  private readonly links = new Set<WorkerLink>();
  readonly lost = new LostWorkflows();

  constructor(clock: Pick<Clock, 'now'>) {
    this.clock = clock;
  }

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

  /** Counts the workflows of a worker that accepts work. */
  add(link: WorkerLink): void {
    if (this.links.has(link)) return;
    this.links.add(link);
    const { instanceId, profile } = link;
    const pool = poolName(instanceId, profile.app);
    const names = this.pools.get(pool) ?? { workers: new Map(), sorted: null };
    this.pools.set(pool, names);
    for (const workflow of new Set(profile.workflows)) {
      const workers = names.workers.get(workflow) ?? 0;
      names.workers.set(workflow, workers + 1);
      if (workers === 0) this.change(instanceId, names, 1);
    }
  }

  /** Called when a worker accepts no more work. Has no effect if its workflows are not counted. */
  remove(link: WorkerLink): void {
    if (!this.links.delete(link)) return;
    const { instanceId, profile } = link;
    const pool = poolName(instanceId, profile.app);
    const names = this.pools.get(pool);
    if (!names) return;
    for (const workflow of new Set(profile.workflows)) {
      const workers = names.workers.get(workflow) ?? 0;
      if (workers > 1) names.workers.set(workflow, workers - 1);
      else if (names.workers.delete(workflow)) {
        this.change(instanceId, names, -1);
        this.lost.record(workersOf(instanceId, workerUrl(profile.app, workflow)), this.clock.now());
      }
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
