/** What is queued for one queue instance: by urgency, and within that by host, so that no host keeps others waiting. */
import type { TaskReference } from '../../ports/stores/store.js';
import type { Passage } from '../gates/delivery-gates.js';
import { Fifo } from './fifo.js';

export type Ready = Pick<TaskReference, 'runKey' | 'slot'> & { readonly passage: Passage };

/** How soon: `counted` has a slot that was promised, `begun` continues a run, `fresh` is the first delivery of one. */
export type Urgency = 'counted' | 'begun' | 'fresh';

export interface Queued {
  readonly task: Ready;
  readonly host: string;
  readonly urgency: Urgency;
  /** Unix ms from which on it has waited. */
  readonly since: number;
  isQueued: boolean;
}

/** Of the slots for which both kinds wait, every fourth one is for a first delivery. */
const FRESH_EVERY = 4;
/** Arrivals that are kept although they are not queued any more. */
const MAX_GONE = 1_024;

type Lines = Map<string, Fifo<Queued>>;

/** Lines of one urgency. Long deliveries have lines of their own, so that they never stand in front of others. */
interface Kind {
  readonly short: Lines;
  readonly long: Lines;
  length: number;
  /** The last one that was taken was long. */
  tookLong: boolean;
}

const newKind = (): Kind => ({ short: new Map(), long: new Map(), length: 0, tookLong: false });

export class QueuedDeliveries {
  private readonly kinds: Readonly<Record<Urgency, Kind>> = { counted: newKind(), begun: newKind(), fresh: newKind() };
  /** First deliveries in the order in which they came; those that are not queued any more are dropped when they come first. */
  private readonly arrivals = new Fifo<Queued>();
  private turn = 0;

  get length(): number {
    const { counted, begun, fresh } = this.kinds;
    return counted.length + begun.length + fresh.length;
  }
  lengthOf(urgency: Urgency): number {
    return this.kinds[urgency].length;
  }

  /** Unix ms since which the first delivery waits that has waited longest; infinite when there is none. */
  get oldestFreshSince(): number {
    while (this.arrivals.first && !this.arrivals.first.isQueued) this.arrivals.shift();
    return this.arrivals.first?.since ?? Number.POSITIVE_INFINITY;
  }

  add(queued: Queued): void {
    const kind = this.kinds[queued.urgency];
    const lines = queued.task.passage.isLong ? kind.long : kind.short;
    const line = lines.get(queued.host);
    if (line) line.push(queued);
    else {
      const first = new Fifo<Queued>();
      first.push(queued);
      lines.set(queued.host, first);
    }
    kind.length++;
    if (queued.urgency === 'fresh') this.noteArrival(queued);
  }

  takeCounted(isFree: (host: string) => boolean): Queued | null {
    return this.takeOf('counted', true, isFree);
  }

  /** Of those without a promised slot: one for a host that is free. */
  takeNext(may: { readonly startFresh: boolean; readonly startLong: boolean }, isFree: (host: string) => boolean): Queued | null {
    const isFreshTurn = may.startFresh && this.turn % FRESH_EVERY === FRESH_EVERY - 1;
    const taken =
      (isFreshTurn ? this.takeOf('fresh', may.startLong, isFree) : null) ??
      this.takeOf('begun', may.startLong, isFree) ??
      (may.startFresh ? this.takeOf('fresh', may.startLong, isFree) : null);
    if (taken) this.turn++;
    return taken;
  }

  takeAll(): readonly Queued[] {
    const all: Queued[] = [];
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

  private noteArrival(queued: Queued): void {
    const { arrivals } = this;
    arrivals.push(queued);
    if (arrivals.length <= 2 * this.kinds.fresh.length + MAX_GONE) return;
    for (const arrival of arrivals.takeAll()) if (arrival.isQueued) arrivals.push(arrival);
  }

  /** Short and long ones take turns; so do hosts: one that was served goes behind the others. */
  private takeOf(urgency: Urgency, mayBeLong: boolean, isFree: (host: string) => boolean): Queued | null {
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
