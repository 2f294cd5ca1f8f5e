/**
 * What is due and waits for a place: tasks by destination and instance, so that
 * one slow host holds up nobody else, and an instance that has as many in
 * flight as it may holds up no other. What has begun is finished first (three in four
 * places), so that a burst of new runs does not make every run slow.
 */
import type { TaskReference } from '../ports/store.js';
import type { Passage } from './gates/delivery-gates.js';

export type Ready = Pick<TaskReference, 'runKey' | 'slot'> & { readonly passage: Passage };

type Named = Pick<TaskReference, 'runKey' | 'slot'>;

/** A first-in-first-out list whose front is taken in constant time. */
class Fifo<Item> {
  private items: Item[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }
  get first(): Item | undefined {
    return this.items[this.head];
  }
  push(item: Item): void {
    this.items.push(item);
  }
  shift(): Item | undefined {
    const item = this.items[this.head];
    if (this.head < this.items.length) this.head++;
    if (this.head > 1024 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }
}

/** How many tasks of a destination or of an instance are queued or in flight, and in flight alone. */
interface Load {
  known: number;
  inFlight: number;
}

/** What waits for one destination on behalf of one instance. */
interface Lane {
  readonly host: Load;
  readonly instance: Load;
  readonly hostName: string;
  readonly instanceId: string;
  readonly begun: Fifo<Ready>;
  readonly fresh: Fifo<Ready & { readonly since: number }>;
  inFlight: number;
  turn: number;
}

const idOf = ({ runKey, slot }: Named): string => `${runKey}/${slot}`;
/** An origin has no space in it. */
const laneIdOf = (instanceId: string, host: string): string => `${host} ${instanceId}`;

function loadIn(loads: Map<string, Load>, name: string): Load {
  let load = loads.get(name);
  if (!load) {
    load = { known: 0, inFlight: 0 };
    loads.set(name, load);
  }
  return load;
}

function forgetIdle(loads: Map<string, Load>, name: string): void {
  if (loads.get(name)?.known === 0) loads.delete(name);
}

export interface ReadyQueueLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerHost: number;
  /** Of one instance, in all; it may change at any time. Absent: none but the others. */
  readonly maxInFlightOf?: (instanceId: string) => number;
}

export class ReadyQueue {
  private readonly limits: ReadyQueueLimits;
  private readonly lanes = new Map<string, Lane>();
  private readonly hosts = new Map<string, Load>();
  private readonly instances = new Map<string, Load>();
  /** The lane of each task that is here, by the id of the task. */
  private readonly known = new Map<string, Lane>();
  private readonly flying = new Set<string>();

  constructor(limits: ReadyQueueLimits) {
    this.limits = limits;
  }

  get inFlight(): number {
    return this.flying.size;
  }
  /** Tasks queued or in flight. */
  get size(): number {
    return this.known.size;
  }

  has(task: Named): boolean {
    return this.known.has(idOf(task));
  }
  isInFlight(task: Named): boolean {
    return this.flying.has(idOf(task));
  }

  /** How many tasks for this host, added now, could start at once, as far as the instance allows it. */
  room(host: string): number {
    const ofHost = this.limits.maxInFlightPerHost - (this.hosts.get(host)?.known ?? 0);
    return Math.max(0, Math.min(ofHost, this.limits.maxInFlight - this.known.size));
  }

  /** How many tasks of this instance, added now, could start at once, as far as their hosts allow it. */
  roomOf(instanceId: string): number {
    return Math.max(0, this.mostOf(instanceId) - (this.instances.get(instanceId)?.known ?? 0));
  }

  /** False when the task is queued or in flight already. `since`: Unix ms at which it began to wait. */
  add(host: string, task: Ready, begun: boolean, since: number): boolean {
    const id = idOf(task);
    if (this.known.has(id)) return false;
    const lane = this.lane(host, task.passage.instanceId);
    this.known.set(id, lane);
    lane.host.known++;
    lane.instance.known++;
    if (begun) lane.begun.push(task);
    else lane.fresh.push({ ...task, since });
    return true;
  }

  /**
   * Takes tasks that have a place, at most `freshAllowed` of them first deliveries, and hands each to `start`.
   * Destinations take turns, and at one destination its instances: one that was served goes behind the others, also from
   * one call to the next.
   */
  drain(freshAllowed: number, start: (host: string, task: Ready) => void): void {
    let freshLeft = freshAllowed;
    // A lane that is put behind the others comes up again in this very loop.
    for (const [laneId, lane] of this.lanes) {
      if (this.flying.size >= this.limits.maxInFlight) return;
      if (lane.host.inFlight >= this.limits.maxInFlightPerHost) continue;
      if (lane.instance.inFlight >= this.mostOf(lane.instanceId)) continue;
      const freshTurn = lane.turn % 4 === 3 && lane.fresh.length > 0 && freshLeft > 0;
      const fresh = freshTurn || lane.begun.length === 0;
      if (fresh && freshLeft <= 0) continue;
      const task = fresh ? lane.fresh.shift() : lane.begun.shift();
      if (!task) continue;
      if (fresh) freshLeft--;
      lane.turn++;
      lane.inFlight++;
      lane.host.inFlight++;
      lane.instance.inFlight++;
      this.flying.add(idOf(task));
      this.lanes.delete(laneId);
      this.lanes.set(laneId, lane);
      start(lane.hostName, task);
    }
  }

  /** First deliveries that wait: how many, and since when the first of them does (Unix ms). */
  get fresh(): { readonly count: number; readonly oldestSince: number } {
    let count = 0;
    let oldestSince = Number.POSITIVE_INFINITY;
    for (const { fresh } of this.lanes.values()) {
      count += fresh.length;
      oldestSince = Math.min(oldestSince, fresh.first?.since ?? Number.POSITIVE_INFINITY);
    }
    return { count, oldestSince };
  }

  /** The task is no longer in flight. */
  done(task: Named): void {
    const id = idOf(task);
    const lane = this.known.get(id);
    if (!lane || !this.flying.delete(id)) return;
    this.known.delete(id);
    for (const load of [lane, lane.host, lane.instance]) load.inFlight--;
    for (const load of [lane.host, lane.instance]) load.known--;
    const { hostName, instanceId } = lane;
    forgetIdle(this.hosts, hostName);
    forgetIdle(this.instances, instanceId);
    if (lane.inFlight === 0 && lane.begun.length === 0 && lane.fresh.length === 0) {
      this.lanes.delete(laneIdOf(instanceId, hostName));
    }
  }

  private mostOf(instanceId: string): number {
    return Math.min(this.limits.maxInFlight, this.limits.maxInFlightOf?.(instanceId) ?? this.limits.maxInFlight);
  }

  private lane(hostName: string, instanceId: string): Lane {
    const laneId = laneIdOf(instanceId, hostName);
    let lane = this.lanes.get(laneId);
    if (!lane) {
      const [host, instance] = [loadIn(this.hosts, hostName), loadIn(this.instances, instanceId)];
      lane = { host, instance, hostName, instanceId, begun: new Fifo(), fresh: new Fifo(), inFlight: 0, turn: 0 };
      this.lanes.set(laneId, lane);
    }
    return lane;
  }
}
