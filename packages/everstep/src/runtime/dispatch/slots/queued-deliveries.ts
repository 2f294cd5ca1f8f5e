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
/** Entries that remain in the list of first deliveries after they have left the queue. */
const MAX_STALE = 1_024;

/** Deliveries by host. */
type Lines = Map<string, Fifo<QueuedDelivery>>;

/** Lines of one urgency. Long deliveries have separate lines, so they never block others. */
interface UrgencyLines {
  readonly short: Lines;
  readonly long: Lines;
  length: number;
  /** Whether the delivery that was taken last was long. */
  tookLong: boolean;
}

const newUrgencyLines = (): UrgencyLines => ({ short: new Map(), long: new Map(), length: 0, tookLong: false });

export class QueuedDeliveries {
  private readonly kinds: Readonly<Record<Urgency, UrgencyLines>> = {
    counted: newUrgencyLines(),
    continuing: newUrgencyLines(),
    fresh: newUrgencyLines(),
  };
  /** First deliveries in the order in which they were added; stale ones are removed when they come first. */
  private readonly oldestFresh = new Fifo<QueuedDelivery>();
  private turn = 0;

  get length(): number {
    const { counted, continuing, fresh } = this.kinds;
    return counted.length + continuing.length + fresh.length;
  }
  lengthOf(urgency: Urgency): number {
    return this.kinds[urgency].length;
  }

  /** Time since which the oldest first delivery has waited, Unix ms; infinite if there is none. */
  get oldestFreshSince(): number {
    while (this.oldestFresh.first && !this.oldestFresh.first.isQueued) this.oldestFresh.shift();
    return this.oldestFresh.first?.since ?? Number.POSITIVE_INFINITY;
  }

  add(queued: QueuedDelivery): void {
    const kind = this.kinds[queued.urgency];
    const { limits } = queued.delivery;
    const { isLong } = limits;
    const host = hostOf(limits);
    const lines = isLong ? kind.long : kind.short;
    const line = lines.get(host);
    if (line) line.push(queued);
    else {
      const first = new Fifo<QueuedDelivery>();
      first.push(queued);
      lines.set(host, first);
    }
    kind.length++;
    if (queued.urgency === 'fresh') this.addFresh(queued);
  }

  takeCounted(isFree: (host: string) => boolean): QueuedDelivery | null {
    return this.takeOf('counted', true, isFree);
  }

  /** Takes a delivery without a reserved slot, to a host with a free connection. */
  takeNext(
    allowed: { readonly startFresh: boolean; readonly startLong: boolean },
    isFree: (host: string) => boolean,
  ): QueuedDelivery | null {
    const isFreshTurn = allowed.startFresh && this.turn % FRESH_EVERY === FRESH_EVERY - 1;
    const taken =
      (isFreshTurn ? this.takeOf('fresh', allowed.startLong, isFree) : null) ??
      this.takeOf('continuing', allowed.startLong, isFree) ??
      (allowed.startFresh ? this.takeOf('fresh', allowed.startLong, isFree) : null);
    if (taken) this.turn++;
    return taken;
  }

  takeAll(): readonly QueuedDelivery[] {
    const all: QueuedDelivery[] = [];
    for (const kind of Object.values(this.kinds)) {
      for (const lines of [kind.short, kind.long]) {
        for (const line of lines.values()) all.push(...line.takeAll());
        lines.clear();
      }
      kind.length = 0;
    }
    for (const queued of all) queued.isQueued = false;
    return all;
  }

  private addFresh(queued: QueuedDelivery): void {
    const { oldestFresh } = this;
    oldestFresh.push(queued);
    if (oldestFresh.length <= 2 * this.kinds.fresh.length + MAX_STALE) return;
    for (const queued of oldestFresh.takeAll()) if (queued.isQueued) oldestFresh.push(queued);
  }

  /** Short and long deliveries take turns, and so do hosts: one that was served moves behind the others. */
  private takeOf(urgency: Urgency, mayBeLong: boolean, isFree: (host: string) => boolean): QueuedDelivery | null {
    const kind = this.kinds[urgency];
    if (kind.length === 0) return null;
    for (const lines of kind.tookLong ? [kind.short, kind.long] : [kind.long, kind.short]) {
      if (lines === kind.long && !mayBeLong) continue;
      for (const [host, line] of lines) {
        const { first } = line;
        if (!first || !isFree(host)) continue;
        line.shift();
        lines.delete(host);
        if (line.length > 0) lines.set(host, line);
        kind.length--;
        kind.tookLong = lines === kind.long;
        first.isQueued = false;
        return first;
      }
    }
    return null;
  }
}
