/** The connected workers of this process by queue instance and app. Chooses the worker that gets a request. */
import { parseWorkerUrl } from '@everstep/sdk/protocol';
import type { Clock } from '../ports/clock.js';
import {
  type FreedSlots,
  poolName,
  poolOf,
  type WorkerChange,
  type WorkerDelivery,
  type WorkerPresence,
  workersOf,
} from '../ports/workers.js';
import { ConnectionSlots } from './connection-slots.js';
import { ServedWorkflows } from './served-workflows.js';
import type { WorkerLink } from './worker-link.js';

/** Maximum number of runs per pool whose connection is remembered. */
const MAX_HELD_RUNS = 50_000;

/** A request to a worker. */
export interface WorkerTarget {
  readonly instanceId: string;
  readonly app: string;
  readonly workflow: string;
  /** Key of the run; empty if the request does not belong to a run that a worker may hold. */
  readonly runKey: string;
  /** Key of the delivery, under which a slot may be reserved. Absent if the request is not part of a delivery. */
  readonly deliveryKey?: string | undefined;
}

/** A request that waits for a free connection. */
interface WaitingRequest {
  readonly target: WorkerTarget;
  /** Assigns a connection, or null, and removes the request from the list. */
  readonly assign: (link: WorkerLink | null) => void;
}

interface Pool extends WorkerChange {
  /** Connections, keyed by their id. */
  readonly links: Map<string, WorkerLink>;
  /**
   * Id of the connection that last replied for a run, by run key: it holds the run in memory. The ids of ended connections are
   * ignored, so that the end of a connection costs nothing for the runs that it held.
   */
  readonly holders: Map<string, string>;
  /** Requests that wait for a free connection that serves their workflow, in order. */
  readonly waitingRequests: Set<WaitingRequest>;
}

export class WorkerPools implements WorkerPresence {
  private readonly startedAt: number;
  private readonly pools = new Map<string, Pool>();
  private readonly poolByLink = new Map<WorkerLink, Pool>();
  private readonly listeners: ((change: WorkerChange) => void)[] = [];
  private readonly slots = new ConnectionSlots();
  /** The workflows of the connections that accept work. */
  readonly servedWorkflows: ServedWorkflows;

  constructor(clock: Pick<Clock, 'now'>) {
    this.startedAt = clock.now();
    this.servedWorkflows = new ServedWorkflows(clock);
  }

  /** All connections. */
  get links(): readonly WorkerLink[] {
    return [...this.pools.values()].flatMap(({ links }) => [...links.values()]);
  }
  /** Returns the connections of an instance. */
  linksOf(instanceId: string): readonly WorkerLink[] {
    return this.links.filter((link) => link.instanceId === instanceId);
  }

  /** Names of the pools with connections. */
  get poolNames(): readonly WorkerChange[] {
    return [...this.pools.values()].map(({ instanceId, app }) => ({ instanceId, app }));
  }
  /** Returns the connections of a pool. */
  linksOfPool(pool: string): readonly WorkerLink[] {
    return [...(this.pools.get(pool)?.links.values() ?? [])];
  }

  onChange(listener: (change: WorkerChange) => void): void {
    this.listeners.push(listener);
  }

  add(link: WorkerLink): void {
    const { instanceId, profile } = link;
    const name = poolName(instanceId, profile.app);
    let pool = this.pools.get(name);
    if (!pool) {
      pool = { instanceId, app: profile.app, links: new Map(), holders: new Map(), waitingRequests: new Set() };
      this.pools.set(name, pool);
    }
    pool.links.set(link.connectionId, link);
    this.poolByLink.set(link, pool);
    if (link.isOpen) {
      this.servedWorkflows.add(link);
      this.slots.add(link);
    }
    this.assignWaiting(pool);
    this.notify(pool);
  }

  /** Called when the free slots of the connection, or whether it accepts work, have changed. */
  slotsChanged(link: WorkerLink): void {
    const pool = this.poolByLink.get(link);
    if (!pool) return;
    if (!link.isOpen) this.removeSlots(link);
    this.assignWaiting(pool, link);
    if (!link.isOpen) this.notify(pool);
  }

  /** Removes a connection that has ended. */
  remove(link: WorkerLink): void {
    const pool = this.poolByLink.get(link);
    if (!pool) return;
    this.poolByLink.delete(link);
    this.removeSlots(link);
    pool.links.delete(link.connectionId);
    if (pool.links.size === 0) this.pools.delete(poolName(pool.instanceId, pool.app));
    this.assignWaiting(pool);
    this.notify(pool);
  }

  missingSince(instanceId: string, url: string): number | null {
    const workers = workersOf(instanceId, url);
    if (!parseWorkerUrl(url) || this.slots.freeSlots(workers) !== Number.POSITIVE_INFINITY) return null;
    return this.servedWorkflows.lost.timeOf(workers) ?? this.startedAt;
  }

  freeSlots(workers: string): number {
    return this.slots.freeSlots(workers);
  }

  /** Reserves a slot of the connection that holds the run, otherwise one of the least loaded connection. */
  reserve(delivery: WorkerDelivery, heldKey?: string): boolean {
    const pool = this.pools.get(poolOf(delivery.workers));
    return this.slots.reserve(delivery, pool?.links.get(pool.holders.get(delivery.runKey) ?? ''), heldKey);
  }

  release(key: string): void {
    this.slots.release(key);
  }
  takeFreed(): readonly FreedSlots[] {
    return this.slots.takeFreed();
  }

  /**
   * Returns a connection that serves the workflow and can take a request: the one with the reserved slot, otherwise the one that
   * holds the run, otherwise the least loaded one. Returns 'busy' if all are full, and null if none serves it. Callers must send
   * the request before anything else happens, because the connection counts it only then.
   */
  pick(target: WorkerTarget): WorkerLink | 'busy' | null {
    const { deliveryKey, workflow } = target;
    if (deliveryKey === undefined) return this.choose(target);
    const reservedLink = this.slots.linkOf(deliveryKey);
    if (reservedLink && reservedLink.freeSlots > 0 && reservedLink.serves(workflow)) return reservedLink;
    const link = this.choose(target);
    if (link && link !== 'busy') this.slots.noteSent(deliveryKey, link);
    return link;
  }

  private choose({ instanceId, app, workflow, runKey }: WorkerTarget): WorkerLink | 'busy' | null {
    const pool = this.pools.get(poolName(instanceId, app));
    if (!pool) return null;
    const holder = pool.links.get(pool.holders.get(runKey) ?? '');
    if (holder && holder.freeSlots > 0 && holder.serves(workflow)) return holder;
    let isServed = false;
    let leastLoadedLink: WorkerLink | null = null;
    for (const link of pool.links.values()) {
      if (!link.isOpen || !link.serves(workflow)) continue;
      isServed = true;
      if (link.freeSlots > 0 && (leastLoadedLink === null || link.inFlight < leastLoadedLink.inFlight)) leastLoadedLink = link;
    }
    return leastLoadedLink ?? (isServed ? 'busy' : null);
  }

  /**
   * Calls `start` once, as soon as a connection is free for a request for which `pick` returned 'busy', in order of the
   * calls. `start` must send the request immediately. It is called with null if no connection serves the workflow any longer, or
   * if the signal aborts.
   */
  waitForFree(target: WorkerTarget, signal: AbortSignal, start: (link: WorkerLink | null) => void): void {
    const pool = this.pools.get(poolName(target.instanceId, target.app));
    if (!pool || signal.aborted) {
      start(null);
      return;
    }
    const onAborted = () => request.assign(null);
    const request: WaitingRequest = {
      target,
      assign: (link) => {
        pool.waitingRequests.delete(request);
        signal.removeEventListener('abort', onAborted);
        start(link);
      },
    };
    pool.waitingRequests.add(request);
    signal.addEventListener('abort', onAborted);
  }

  /** Called when the connection has replied to a request of the run. `holdsRun` is true if the worker keeps the run in memory. */
  recordReply(link: WorkerLink, runKey: string, holdsRun: boolean): void {
    const holders = this.poolByLink.get(link)?.holders;
    if (!holders) return;
    holders.delete(runKey);
    if (!holdsRun) return;
    holders.set(runKey, link.connectionId);
    const [oldest] = holders.keys();
    if (oldest !== undefined && holders.size > MAX_HELD_RUNS) holders.delete(oldest);
  }

  /** Assigns free connections to waiting requests, in order. If `changedLink` is set, only this connection has become free. */
  private assignWaiting({ waitingRequests }: Pool, changedLink?: WorkerLink): void {
    for (const request of waitingRequests) {
      // This is the usual reason to stop: one slot has become free, and the first request has taken it.
      if (changedLink?.isOpen && changedLink.freeSlots === 0) return;
      const link = this.pick(request.target);
      if (link !== 'busy') request.assign(link);
    }
  }

  private removeSlots(link: WorkerLink): void {
    this.servedWorkflows.remove(link);
    this.slots.remove(link);
  }

  private notify({ instanceId, app }: WorkerChange): void {
    for (const listener of this.listeners) listener({ instanceId, app });
  }
}
