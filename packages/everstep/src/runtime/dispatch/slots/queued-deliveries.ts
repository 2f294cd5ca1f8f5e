/** The queued deliveries of one queue instance: by urgency, and within that by host, so no host delays others. */
import { NameTurns } from '../../../fairness/name-turns.js';
import { type Delivery, hostOf } from '../../gates/delivery.js';
import { Fifo } from './fifo.js';

/** `counted` has a reserved slot, `continuing` continues a run, `fresh` is the first delivery of a run. */
export type Urgency = 'counted' | 'continuing' | 'fresh';

export interface QueuedDelivery {
  readonly delivery: Delivery;
  readonly urgency: Urgency;
  /** Time since which it has waited, Unix ms. */
  readonly since: number;
  isQueued: boolean;
}

/** If both kinds wait, every fourth slot is for a first delivery. */
const FRESH_EVERY = 4;
/** Maximum number of entries in the list of first deliveries that have already left the queue. */
const MAX_STALE = 1_024;

/** Returns whether the host may be called now. */
type HostCheck = (host: string) => boolean;

/** Deliveries by host. Hosts take turns: one that was served moves behind the others. */
class Lines {
  private readonly isFull: HostCheck;
  private readonly lines = new Map<string, Fifo<QueuedDelivery>>();
  private readonly turns = new NameTurns();

  constructor(isFull: HostCheck) {
    this.isFull = isFull;
  }

  add(host: string, queuedDelivery: QueuedDelivery): void {
    const line = this.lines.get(host) ?? new Fifo<QueuedDelivery>();
    line.push(queuedDelivery);
    this.lines.set(host, line);
    this.turns.add(host);
  }

  /** Takes the next delivery to a free host; null if there is none. Hosts that are full are passed over until `wake` is called. */
  take(isFree: HostCheck): QueuedDelivery | null {
    for (const host of this.turns.names()) {
      if (!isFree(host)) {
        if (this.isFull(host)) this.turns.park(host);
        continue;
      }
      const line = this.lines.get(host);
      const queuedDelivery = line?.shift();
      if (line && line.length > 0) this.turns.moveBehind(host);
      else this.remove(host);
      if (queuedDelivery) return queuedDelivery;
    }
    return null;
  }

  wake(hosts: ReadonlySet<string>): boolean {
    return this.turns.wake(hosts).length > 0;
  }

  takeAll(): readonly QueuedDelivery[] {
    const all = [...this.lines.values()].flatMap((line) => line.takeAll());
    for (const host of [...this.lines.keys()]) this.remove(host);
    return all;
  }

  private remove(host: string): void {
    this.lines.delete(host);
    this.turns.delete(host);
  }
}

/** Lines of one urgency. Long deliveries have separate lines, so they never block others. */
interface UrgencyLines {
  readonly short: Lines;
  readonly long: Lines;
  length: number;
  /** Whether the last delivery that was taken was long. */
  wasLastLong: boolean;
}

const newUrgencyLines = (isFull: HostCheck): UrgencyLines => ({
  short: new Lines(isFull),
  long: new Lines(isFull),
  length: 0,
  wasLastLong: false,
});

export class QueuedDeliveries {
  private readonly linesByUrgency: Readonly<Record<Urgency, UrgencyLines>>;
  /** First deliveries in the order in which they were added; stale ones are removed when they reach the front. */
  private readonly oldestFresh = new Fifo<QueuedDelivery>();
  private turnCount = 0;

  /** `isFull` returns whether no delivery to the host can start until `wake` is called with it. */
  constructor(isFull: HostCheck) {
    const [counted, continuing, fresh] = [newUrgencyLines(isFull), newUrgencyLines(isFull), newUrgencyLines(isFull)];
    this.linesByUrgency = { counted, continuing, fresh };
  }

  get length(): number {
    const { counted, continuing, fresh } = this.linesByUrgency;
    return counted.length + continuing.length + fresh.length;
  }
  lengthOf(urgency: Urgency): number {
    return this.linesByUrgency[urgency].length;
  }

  /** Time since which the oldest first delivery has waited, Unix ms; infinite if there is none. */
  get oldestFreshSince(): number {
    while (this.oldestFresh.first && !this.oldestFresh.first.isQueued) this.oldestFresh.shift();
    return this.oldestFresh.first?.since ?? Number.POSITIVE_INFINITY;
  }

  add(queuedDelivery: QueuedDelivery): void {
    const urgencyLines = this.linesByUrgency[queuedDelivery.urgency];
    const { limits } = queuedDelivery.delivery;
    (limits.isLong ? urgencyLines.long : urgencyLines.short).add(hostOf(limits), queuedDelivery);
    urgencyLines.length++;
    if (queuedDelivery.urgency === 'fresh') this.addFresh(queuedDelivery);
  }

  /** Called when these hosts may have free slots. Returns whether deliveries wait for them. */
  wake(hosts: ReadonlySet<string>): boolean {
    let isAnyWoken = false;
    for (const { short, long } of Object.values(this.linesByUrgency))
      for (const lines of [short, long]) isAnyWoken = lines.wake(hosts) || isAnyWoken;
    return isAnyWoken;
  }

  takeCounted(isFree: HostCheck): QueuedDelivery | null {
    return this.takeOfUrgency('counted', true, isFree);
  }

  /** Takes a delivery without a reserved slot, to a host with a free connection. */
  takeNext(allowed: { readonly startFresh: boolean; readonly startLong: boolean }, isFree: HostCheck): QueuedDelivery | null {
    const isFreshTurn = allowed.startFresh && this.turnCount % FRESH_EVERY === FRESH_EVERY - 1;
    const takenDelivery =
      (isFreshTurn ? this.takeOfUrgency('fresh', allowed.startLong, isFree) : null) ??
      this.takeOfUrgency('continuing', allowed.startLong, isFree) ??
      (allowed.startFresh ? this.takeOfUrgency('fresh', allowed.startLong, isFree) : null);
    if (takenDelivery) this.turnCount++;
    return takenDelivery;
  }

  takeAll(): readonly QueuedDelivery[] {
    const all: QueuedDelivery[] = [];
    for (const urgencyLines of Object.values(this.linesByUrgency)) {
      for (const lines of [urgencyLines.short, urgencyLines.long]) all.push(...lines.takeAll());
      urgencyLines.length = 0;
    }
    for (const queuedDelivery of all) queuedDelivery.isQueued = false;
    return all;
  }

  private addFresh(queuedDelivery: QueuedDelivery): void {
    const { oldestFresh } = this;
    oldestFresh.push(queuedDelivery);
    if (oldestFresh.length <= 2 * this.linesByUrgency.fresh.length + MAX_STALE) return;
    for (const queuedDelivery of oldestFresh.takeAll()) if (queuedDelivery.isQueued) oldestFresh.push(queuedDelivery);
  }

  /** Takes the next delivery of this urgency to a free host; null if there is none. Short and long deliveries take turns. */
  private takeOfUrgency(urgency: Urgency, mayBeLong: boolean, isFree: HostCheck): QueuedDelivery | null {
    const urgencyLines = this.linesByUrgency[urgency];
    if (urgencyLines.length === 0) return null;
    for (const lines of urgencyLines.wasLastLong
      ? [urgencyLines.short, urgencyLines.long]
      : [urgencyLines.long, urgencyLines.short]) {
      if (lines === urgencyLines.long && !mayBeLong) continue;
      const queuedDelivery = lines.take(isFree);
      if (!queuedDelivery) continue;
      urgencyLines.length--;
      urgencyLines.wasLastLong = lines === urgencyLines.long;
      queuedDelivery.isQueued = false;
      return queuedDelivery;
    }
    return null;
  }
}
