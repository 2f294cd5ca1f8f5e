/**
 * What is due and waits for a place: tasks by destination, so that one slow
 * host holds up nobody else. What has begun is finished first (three in four
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

interface Lane {
  readonly begun: Fifo<Ready>;
  readonly fresh: Fifo<Ready & { readonly since: number }>;
  inFlight: number;
  turn: number;
}

const idOf = ({ runKey, slot }: Named): string => `${runKey}/${slot}`;

export interface ReadyQueueLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerHost: number;
}

export class ReadyQueue {
  private readonly limits: ReadyQueueLimits;
  private readonly lanes = new Map<string, Lane>();
  /** Whether a task that is here is in flight, by its id. */
  private readonly known = new Map<string, boolean>();
  private inFlightTotal = 0;

  constructor(limits: ReadyQueueLimits) {
    this.limits = limits;
  }

  get inFlight(): number {
    return this.inFlightTotal;
  }
  /** Tasks queued or in flight. */
  get size(): number {
    return this.known.size;
  }

  has(task: Named): boolean {
    return this.known.has(idOf(task));
  }
  isInFlight(task: Named): boolean {
    return this.known.get(idOf(task)) ?? false;
  }

  /** How many tasks for this host, added now, could start at once. */
  room(host: string): number {
    const lane = this.lanes.get(host);
    const ofHost = this.limits.maxInFlightPerHost - (lane ? lane.inFlight + lane.begun.length + lane.fresh.length : 0);
    return Math.max(0, Math.min(ofHost, this.limits.maxInFlight - this.known.size));
  }

  /** False when the task is queued or in flight already. `since`: Unix ms at which it began to wait. */
  add(host: string, task: Ready, begun: boolean, since: number): boolean {
    const id = idOf(task);
    if (this.known.has(id)) return false;
    this.known.set(id, false);
    let lane = this.lanes.get(host);
    if (!lane) {
      lane = { begun: new Fifo(), fresh: new Fifo(), inFlight: 0, turn: 0 };
      this.lanes.set(host, lane);
    }
    if (begun) lane.begun.push(task);
    else lane.fresh.push({ ...task, since });
    return true;
  }

  /**
   * Takes tasks that have a place, at most `freshAllowed` of them first deliveries, and hands each to `start`.
   * Destinations take turns: one that was served goes behind the others, also from one call to the next.
   */
  drain(freshAllowed: number, start: (host: string, task: Ready) => void): void {
    let freshLeft = freshAllowed;
    // A lane that is put behind the others comes up again in this very loop.
    for (const [host, lane] of this.lanes) {
      if (this.inFlightTotal >= this.limits.maxInFlight) return;
      if (lane.inFlight >= this.limits.maxInFlightPerHost) continue;
      const freshTurn = lane.turn % 4 === 3 && lane.fresh.length > 0 && freshLeft > 0;
      const fresh = freshTurn || lane.begun.length === 0;
      if (fresh && freshLeft <= 0) continue;
      const task = fresh ? lane.fresh.shift() : lane.begun.shift();
      if (!task) continue;
      if (fresh) freshLeft--;
      lane.turn++;
      lane.inFlight++;
      this.inFlightTotal++;
      this.known.set(idOf(task), true);
      this.lanes.delete(host);
      this.lanes.set(host, lane);
      start(host, task);
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
  done(host: string, task: Named): void {
    this.known.delete(idOf(task));
    this.inFlightTotal--;
    const lane = this.lanes.get(host);
    if (!lane) return;
    lane.inFlight--;
    if (lane.inFlight === 0 && lane.begun.length === 0 && lane.fresh.length === 0) this.lanes.delete(host);
  }
}
