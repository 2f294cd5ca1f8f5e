/**
 * What is due and waits for a place: tasks by destination, so that one slow
 * host holds up nobody else. What has begun is finished first (three in four
 * places), so that a burst of new runs does not make every run slow.
 *
 * Starts that a rate counts are made at once, or they would be made in another
 * window: places are promised to them before they come. Of the places for
 * which others wait they get every second one at the most, so that neither
 * starves the other.
 */
import type { TaskReference } from '../ports/store.js';
import type { Passage } from './gates/delivery-gates.js';

export type Ready = Pick<TaskReference, 'runKey' | 'slot'> & { readonly passage: Passage };

/** How soon: `counted` has a place that was promised, `begun` goes on with a run, `fresh` is the first delivery of one. */
export type Urgency = 'counted' | 'begun' | 'fresh';

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
  readonly counted: Fifo<Ready>;
  readonly begun: Fifo<Ready>;
  readonly fresh: Fifo<Ready & { readonly since: number }>;
  inFlight: number;
  turn: number;
  /** Places that are kept for counted starts to come. */
  promised: number;
  /** The last place went, or was promised, to a counted start. */
  lastCounted: boolean;
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
  private countedTotal = 0;
  private promisedTotal = 0;
  /** Some that could start at their destination wait because all places are taken. */
  private full = false;
  private lastCounted = false;

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

  /** Places for this host that are free, whoever waits for them. */
  free(host: string): number {
    const lane = this.lanes.get(host);
    const ofHost = this.limits.maxInFlightPerHost - (lane ? lane.inFlight + lane.counted.length : 0);
    const promisedElsewhere = this.promisedTotal - (lane?.promised ?? 0);
    const ofAll = this.limits.maxInFlight - this.inFlightTotal - this.countedTotal - promisedElsewhere;
    return Math.max(0, Math.min(ofHost, ofAll));
  }

  /** How many of the free places may be promised to counted starts; those that are promised already are among them. */
  room(host: string): number {
    const lane = this.lanes.get(host);
    const free = this.free(host);
    const waiting = lane ? lane.begun.length + lane.fresh.length : 0;
    if (!this.full && waiting === 0) return free;
    const turn = this.full ? this.lastCounted : (lane?.lastCounted ?? false);
    const inTurn = Math.min(free, Math.max(Math.floor(free / 2), turn ? 0 : 1));
    return this.full ? inTurn : Math.max(free - waiting, inTurn);
  }

  /** So many more places are kept for counted starts to this host; fewer, when it is negative. */
  promise(host: string, change: number): void {
    const lane = this.laneOf(host);
    lane.promised += change;
    this.promisedTotal += change;
    if (change > 0) this.served(lane, true);
    else this.letGo(host, lane);
  }

  /** False when the task is queued or in flight already. `since`: Unix ms at which it began to wait. */
  add(host: string, task: Ready, urgency: Urgency, since: number): boolean {
    const id = idOf(task);
    if (this.known.has(id)) return false;
    this.known.set(id, false);
    const lane = this.laneOf(host);
    if (urgency === 'fresh') lane.fresh.push({ ...task, since });
    else lane[urgency].push(task);
    if (urgency === 'counted') this.countedTotal++;
    return true;
  }

  /**
   * Takes tasks that have a place, at most `freshAllowed` of them first deliveries, and hands each to `start`.
   * Destinations take turns: one that was served goes behind the others, also from one call to the next.
   */
  drain(freshAllowed: number, start: (host: string, task: Ready) => void): void {
    let freshLeft = freshAllowed;
    this.full = false;
    // A lane that is put behind the others comes up again in this very loop.
    for (const [host, lane] of this.lanes) {
      if (this.inFlightTotal >= this.limits.maxInFlight) {
        this.full = true;
        return;
      }
      if (lane.inFlight >= this.limits.maxInFlightPerHost) continue;
      const counted = lane.counted.shift();
      if (counted) this.countedTotal--;
      const inTurn = counted ? null : this.nextInTurn(lane, freshLeft);
      const task = counted ?? inTurn?.task;
      if (!task) continue;
      if (inTurn?.fresh) freshLeft--;
      this.served(lane, counted !== undefined);
      lane.inFlight++;
      this.inFlightTotal++;
      this.known.set(idOf(task), true);
      this.lanes.delete(host);
      this.lanes.set(host, lane);
      start(host, task);
    }
  }

  /** Of those that wait for a place; a promised one is none for them. */
  private nextInTurn(lane: Lane, freshLeft: number): { readonly task: Ready; readonly fresh: boolean } | null {
    const { maxInFlight, maxInFlightPerHost } = this.limits;
    if (lane.begun.length + lane.fresh.length === 0 || lane.inFlight + lane.promised >= maxInFlightPerHost) return null;
    if (this.inFlightTotal + this.countedTotal + this.promisedTotal >= maxInFlight) {
      this.full = true;
      return null;
    }
    const freshTurn = lane.turn % 4 === 3 && lane.fresh.length > 0 && freshLeft > 0;
    const fresh = freshTurn || lane.begun.length === 0;
    if (fresh && freshLeft <= 0) return null;
    const task = fresh ? lane.fresh.shift() : lane.begun.shift();
    if (!task) return null;
    lane.turn++;
    return { task, fresh };
  }

  private served(lane: Lane, counted: boolean): void {
    lane.lastCounted = counted;
    this.lastCounted = counted;
  }

  private laneOf(host: string): Lane {
    let lane = this.lanes.get(host);
    if (!lane) {
      lane = {
        counted: new Fifo(),
        begun: new Fifo(),
        fresh: new Fifo(),
        inFlight: 0,
        turn: 0,
        promised: 0,
        lastCounted: false,
      };
      this.lanes.set(host, lane);
    }
    return lane;
  }

  /** A lane at which nothing goes on is not kept. */
  private letGo(host: string, lane: Lane): void {
    const { inFlight, promised, counted, begun, fresh } = lane;
    if (inFlight + promised + counted.length + begun.length + fresh.length === 0) this.lanes.delete(host);
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
    this.letGo(host, lane);
  }
}
