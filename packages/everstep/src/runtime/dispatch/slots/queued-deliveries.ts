/** The queued deliveries of one queue instance: by urgency, and within that by host, so no host delays others. */
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

/** Deliveries by host. */
type Lines = Map<string, Fifo<QueuedDelivery>>;

/** Lines of one urgency. Long deliveries have separate lines, so they never block others. */
interface UrgencyLines {
  readonly short: Lines;
  readonly long: Lines;
  length: number;
  /** Whether the last delivery that was taken was long. */
  wasLastLong: boolean;
}

const newUrgencyLines = (): UrgencyLines => ({ short: new Map(), long: new Map(), length: 0, wasLastLong: false });

export class QueuedDeliveries {
  private readonly linesByUrgency: Readonly<Record<Urgency, UrgencyLines>> = {
    counted: newUrgencyLines(),
    continuing: newUrgencyLines(),
    fresh: newUrgencyLines(),
  };
  /** First deliveries in the order in which they were added; stale ones are removed when they reach the front. */
  private readonly oldestFresh = new Fifo<QueuedDelivery>();
  private turnCount = 0;

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
    const { isLong } = limits;
    const host = hostOf(limits);
    const lines = isLong ? urgencyLines.long : urgencyLines.short;
    const line = lines.get(host);
    if (line) line.push(queuedDelivery);
    else {
      const newLine = new Fifo<QueuedDelivery>();
      newLine.push(queuedDelivery);
      lines.set(host, newLine);
    }
    urgencyLines.length++;
    if (queuedDelivery.urgency === 'fresh') this.addFresh(queuedDelivery);
  }

  takeCounted(isFree: (host: string) => boolean): QueuedDelivery | null {
    return this.takeOfUrgency('counted', true, isFree);
  }

  /** Takes a delivery without a reserved slot, to a host with a free connection. */
  takeNext(
    allowed: { readonly startFresh: boolean; readonly startLong: boolean },
    isFree: (host: string) => boolean,
  ): QueuedDelivery | null {
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
      for (const lines of [urgencyLines.short, urgencyLines.long]) {
        for (const line of lines.values()) all.push(...line.takeAll());
        lines.clear();
      }
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

  /**
   * Takes the next delivery of this urgency to a free host; null if there is none. Short and long deliveries take turns, and so
   * do hosts: one that was served moves behind the others.
   */
  private takeOfUrgency(urgency: Urgency, mayBeLong: boolean, isFree: (host: string) => boolean): QueuedDelivery | null {
    const urgencyLines = this.linesByUrgency[urgency];
    if (urgencyLines.length === 0) return null;
    for (const lines of urgencyLines.wasLastLong
      ? [urgencyLines.short, urgencyLines.long]
      : [urgencyLines.long, urgencyLines.short]) {
      if (lines === urgencyLines.long && !mayBeLong) continue;
      for (const [host, line] of lines) {
        const { first } = line;
        if (!first || !isFree(host)) continue;
        line.shift();
        lines.delete(host);
        if (line.length > 0) lines.set(host, line);
        urgencyLines.length--;
        urgencyLines.wasLastLong = lines === urgencyLines.long;
        first.isQueued = false;
        return first;
      }
    }
    return null;
  }
}
