/**
 * What is due and waits for a place: tasks by destination, so that one slow
 * host holds up nobody else. What has begun is finished first (three in four
 * places), so that a burst of new runs does not make every run slow. At one
 * destination the instances take turns; one that has as many in flight as it
 * may is passed over, and keeps nobody else from a place.
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
  takeAll(): readonly Item[] {
    const all = this.items.slice(this.head);
    [this.items, this.head] = [[], 0];
    return all;
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

/** What goes on for one instance, at all destinations. */
interface InstanceLoad {
  readonly instanceId: string;
  inFlight: number;
  /** Counted starts that are queued. */
  counted: number;
  /** Others that are queued. */
  waiting: number;
  /** Places that are kept for counted starts to come. */
  promised: number;
  /** The last place went, or was promised, to a counted start. */
  lastCounted: boolean;
}

/** What is queued for one destination on behalf of one instance. */
interface Row {
  readonly instance: InstanceLoad;
  readonly counted: Fifo<Ready>;
  readonly begun: Fifo<Ready>;
  readonly fresh: Fifo<Ready & { readonly since: number }>;
  turn: number;
}

interface Lane {
  /** By instance; the one whose turn it is comes first. Rows that are empty are not kept. */
  readonly rows: Map<string, Row>;
  inFlight: number;
  /** Counted starts that are queued. */
  counted: number;
  /** Others that are queued. */
  waiting: number;
  /** Places that are kept for counted starts to come. */
  promised: number;
  /** The last place went, or was promised, to a counted start. */
  lastCounted: boolean;
}

const idOf = ({ runKey, slot }: Named): string => `${runKey}/${slot}`;

/** Of free places for which others wait, those for counted starts: every second one, and a single one by turns. */
const inTurn = (free: number, lastCounted: boolean): number =>
  Math.min(free, Math.max(Math.floor(free / 2), lastCounted ? 0 : 1));

const isIdle = ({ inFlight, counted, waiting, promised }: Omit<InstanceLoad, 'instanceId'>): boolean =>
  inFlight + counted + waiting + promised === 0;

function rowOf({ rows }: Lane, instance: InstanceLoad): Row {
  let row = rows.get(instance.instanceId);
  if (!row) {
    row = { instance, counted: new Fifo(), begun: new Fifo(), fresh: new Fifo(), turn: 0 };
    rows.set(instance.instanceId, row);
  }
  return row;
}

interface Next {
  readonly row: Row;
  readonly task: Ready;
  readonly urgency: Urgency;
}

export interface ReadyQueueLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerHost: number;
  /** Of one instance, at all destinations; null: no limit of its own. It may change at any time. */
  readonly maxInFlightOf?: (instanceId: string) => number | null;
}

export class ReadyQueue {
  private readonly limits: ReadyQueueLimits;
  private readonly lanes = new Map<string, Lane>();
  private readonly instances = new Map<string, InstanceLoad>();
  /** The instance of each task that is here, by the id of the task. */
  private readonly known = new Map<string, InstanceLoad>();
  private readonly flying = new Map<string, Ready>();
  private countedTotal = 0;
  private promisedTotal = 0;
  /** Some that could start at their destination wait because all places are taken. */
  private full = false;
  private lastCounted = false;

  constructor(limits: ReadyQueueLimits) {
    this.limits = limits;
  }

  get inFlight(): number {
    return this.flying.size;
  }
  get flights(): readonly Ready[] {
    return [...this.flying.values()];
  }
  /** Of one instance. */
  inFlightOf(instanceId: string): number {
    return this.instances.get(instanceId)?.inFlight ?? 0;
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

  /** Places for this host that are free, whoever waits for them. */
  free(host: string): number {
    const lane = this.lanes.get(host);
    const ofHost = this.limits.maxInFlightPerHost - (lane ? lane.inFlight + lane.counted : 0);
    const promisedElsewhere = this.promisedTotal - (lane?.promised ?? 0);
    const ofAll = this.limits.maxInFlight - this.flying.size - this.countedTotal - promisedElsewhere;
    return Math.max(0, Math.min(ofHost, ofAll));
  }

  /** How many of the free places may be promised to counted starts; those that are promised already are among them. */
  room(host: string): number {
    const lane = this.lanes.get(host);
    const free = this.free(host);
    const waiting = lane ? this.waitingForPlace(lane, free) : 0;
    if (!this.full && waiting === 0) return free;
    const turn = this.full ? this.lastCounted : (lane?.lastCounted ?? false);
    const shared = inTurn(free, turn);
    return this.full ? shared : Math.max(free - waiting, shared);
  }

  /** Like `free`, of what the instance may have in flight; infinite when it has no limit. */
  freeOf(instanceId: string): number {
    const most = this.mostOf(instanceId);
    if (most === Number.POSITIVE_INFINITY) return most;
    const instance = this.instances.get(instanceId);
    return Math.max(0, most - (instance ? instance.inFlight + instance.counted : 0));
  }

  /** Like `room`, of what the instance may have in flight; infinite when it has no limit. */
  roomOf(instanceId: string): number {
    const free = this.freeOf(instanceId);
    const instance = this.instances.get(instanceId);
    if (free === Number.POSITIVE_INFINITY || !instance || instance.waiting === 0) return free;
    return Math.max(free - instance.waiting, inTurn(free, instance.lastCounted));
  }

  /** So many more places are kept for counted starts of this instance to this host; fewer, when it is negative. */
  promise(host: string, instanceId: string, change: number): void {
    const lane = this.laneOf(host);
    const instance = this.loadOf(instanceId);
    lane.promised += change;
    instance.promised += change;
    this.promisedTotal += change;
    if (change > 0) this.served(lane, instance, true);
    else this.letGo(host, lane, instance);
  }

  /** False when the task is queued or in flight already. `since`: Unix ms at which it began to wait. */
  add(host: string, task: Ready, urgency: Urgency, since: number): boolean {
    const id = idOf(task);
    if (this.known.has(id)) return false;
    const lane = this.laneOf(host);
    const instance = this.loadOf(task.passage.instanceId);
    this.known.set(id, instance);
    const row = rowOf(lane, instance);
    if (urgency === 'fresh') row.fresh.push({ ...task, since });
    else row[urgency].push(task);
    const kind = urgency === 'counted' ? 'counted' : 'waiting';
    lane[kind]++;
    instance[kind]++;
    if (kind === 'counted') this.countedTotal++;
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
      if (this.flying.size >= this.limits.maxInFlight) {
        this.full = true;
        return;
      }
      if (lane.inFlight >= this.limits.maxInFlightPerHost) continue;
      const next = this.nextCounted(lane) ?? this.nextInTurn(lane, freshLeft);
      if (!next) continue;
      const { row, task, urgency } = next;
      const { instance } = row;
      if (urgency === 'fresh') freshLeft--;
      if (urgency === 'counted') this.countedTotal--;
      const kind = urgency === 'counted' ? 'counted' : 'waiting';
      lane[kind]--;
      instance[kind]--;
      this.served(lane, instance, kind === 'counted');
      lane.inFlight++;
      instance.inFlight++;
      this.flying.set(idOf(task), task);
      lane.rows.delete(instance.instanceId);
      if (row.counted.length + row.begun.length + row.fresh.length > 0) lane.rows.set(instance.instanceId, row);
      this.lanes.delete(host);
      this.lanes.set(host, lane);
      start(host, task);
    }
  }

  private nextCounted(lane: Lane): Next | null {
    if (lane.counted === 0) return null;
    for (const row of lane.rows.values()) {
      if (row.counted.length === 0 || row.instance.inFlight >= this.mostOf(row.instance.instanceId)) continue;
      const task = row.counted.shift();
      if (task) return { row, task, urgency: 'counted' };
    }
    return null;
  }

  /** Of those that wait for a place; a promised one is none for them. */
  private nextInTurn(lane: Lane, freshLeft: number): Next | null {
    const { maxInFlight, maxInFlightPerHost } = this.limits;
    if (lane.waiting === 0 || lane.inFlight + lane.promised >= maxInFlightPerHost) return null;
    const taken = this.flying.size + this.countedTotal + this.promisedTotal >= maxInFlight;
    for (const row of lane.rows.values()) {
      const { instance, begun, fresh } = row;
      if (begun.length + fresh.length === 0 || this.unpromisedOf(instance) <= 0) continue;
      if (taken) {
        this.full = true;
        return null;
      }
      const freshTurn = row.turn % 4 === 3 && fresh.length > 0 && freshLeft > 0;
      const urgency = freshTurn || begun.length === 0 ? 'fresh' : 'begun';
      if (urgency === 'fresh' && freshLeft <= 0) continue;
      const task = row[urgency].shift();
      if (!task) continue;
      row.turn++;
      return { row, task, urgency };
    }
    return null;
  }

  /** How many wait that only lack a place, counted up to `enough`: not those whose instance has as many as it may. */
  private waitingForPlace(lane: Lane, enough: number): number {
    if (lane.waiting === 0) return 0;
    let waiting = 0;
    for (const { instance, begun, fresh } of lane.rows.values()) {
      waiting += Math.max(0, Math.min(begun.length + fresh.length, this.unpromisedOf(instance)));
      if (waiting >= enough) break;
    }
    return waiting;
  }

  private mostOf(instanceId: string): number {
    return this.limits.maxInFlightOf?.(instanceId) ?? Number.POSITIVE_INFINITY;
  }

  /** What the instance may start besides counted starts. */
  private unpromisedOf({ instanceId, inFlight, counted, promised }: InstanceLoad): number {
    return this.mostOf(instanceId) - inFlight - counted - promised;
  }

  private served(lane: Lane, instance: InstanceLoad, counted: boolean): void {
    lane.lastCounted = counted;
    instance.lastCounted = counted;
    this.lastCounted = counted;
  }

  private laneOf(host: string): Lane {
    let lane = this.lanes.get(host);
    if (!lane) {
      lane = { rows: new Map(), inFlight: 0, counted: 0, waiting: 0, promised: 0, lastCounted: false };
      this.lanes.set(host, lane);
    }
    return lane;
  }

  private loadOf(instanceId: string): InstanceLoad {
    let instance = this.instances.get(instanceId);
    if (!instance) {
      instance = { instanceId, inFlight: 0, counted: 0, waiting: 0, promised: 0, lastCounted: false };
      this.instances.set(instanceId, instance);
    }
    return instance;
  }

  /** A lane, or an instance, at which nothing goes on is not kept. */
  private letGo(host: string, lane: Lane, instance: InstanceLoad): void {
    if (isIdle(lane)) this.lanes.delete(host);
    if (isIdle(instance)) this.instances.delete(instance.instanceId);
  }

  /** First deliveries that wait: how many, and since when the first of them does (Unix ms). */
  get fresh(): { readonly count: number; readonly oldestSince: number } {
    let count = 0;
    let oldestSince = Number.POSITIVE_INFINITY;
    for (const { rows, waiting } of this.lanes.values()) {
      if (waiting === 0) continue;
      for (const { fresh } of rows.values()) {
        count += fresh.length;
        oldestSince = Math.min(oldestSince, fresh.first?.since ?? Number.POSITIVE_INFINITY);
      }
    }
    return { count, oldestSince };
  }

  /** Forgets what waits; what is in flight stays. */
  clear(): void {
    for (const [host, lane] of [...this.lanes]) {
      for (const { instance, counted, begun, fresh } of [...lane.rows.values()]) {
        const starts = counted.takeAll();
        const others = [...begun.takeAll(), ...fresh.takeAll()];
        for (const task of [...starts, ...others]) this.known.delete(idOf(task));
        lane.counted -= starts.length;
        instance.counted -= starts.length;
        this.countedTotal -= starts.length;
        lane.waiting -= others.length;
        instance.waiting -= others.length;
        lane.rows.delete(instance.instanceId);
        this.letGo(host, lane, instance);
      }
    }
  }

  /** The task is no longer in flight. */
  done(host: string, task: Named): void {
    const id = idOf(task);
    const instance = this.known.get(id);
    const lane = this.lanes.get(host);
    if (!instance || !lane || !this.flying.delete(id)) return;
    this.known.delete(id);
    lane.inFlight--;
    instance.inFlight--;
    this.letGo(host, lane, instance);
  }
}
