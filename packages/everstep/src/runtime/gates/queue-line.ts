/**
 * One queue: messages in the order in which they came to be due, so many at a
 * time. A message that was let through holds its place until it has ended,
 * over all its retries, so that none behind it overtakes it.
 * Keeps invariant 15.
 */
import type { Queue } from '../../engine/runs/run.js';
import type { WaitReason } from '../services/workflow-service.js';
import { type Delivery, WaitList } from './wait-list.js';

type Rules = Pick<Queue, 'parallelism' | 'paused'>;

/** Of a queue that nobody has set. */
const ONE_AT_A_TIME: Rules = { parallelism: 1, paused: false };

export class QueueLine {
  readonly name: string;
  private readonly goOn: (delivery: Delivery) => void;
  private readonly list = new WaitList();
  /** Further attempts of those that hold a place, which wait because it is paused. */
  private readonly back = new WaitList();
  /** Runs that hold a place. */
  private readonly holders = new Set<string>();
  /** Null until it is known. */
  private rules: Rules | null = null;
  /** What was set, and who ended, while it was read. */
  private early: Rules | null = null;
  private readonly gone = new Set<string>();
  private pumping = false;
  private stopped = false;

  /** `goOn` takes what is let through to whatever it has to pass behind its queue. */
  constructor(name: string, goOn: (delivery: Delivery) => void) {
    this.name = name;
    this.goOn = goOn;
  }

  get loaded(): boolean {
    return this.rules !== null;
  }
  /** It can be let go: the store knows all that it knows. */
  get idle(): boolean {
    return this.rules !== null && this.list.size === 0 && this.back.size === 0 && this.holders.size === 0;
  }

  /** It was read: `retried` are runs that have held their place since before a restart. */
  load(queue: Queue | null, retried: readonly string[]): void {
    if (this.rules) return;
    this.rules = this.early ?? queue ?? ONE_AT_A_TIME;
    for (const runKey of retried) if (!this.gone.has(runKey)) this.holders.add(runKey);
    this.gone.clear();
    // What came before it was known who holds a place.
    const holding = [...this.list.inOrder()].filter(({ ticket }) => this.holders.has(ticket.runKey));
    for (const delivery of holding) {
      this.list.remove(delivery);
      this.back.add(delivery);
    }
    this.pump();
  }

  /** What a person set, or null: it was deleted. It takes effect on what waits, too. */
  set(queue: Queue | null): void {
    const rules = queue ?? ONE_AT_A_TIME;
    if (this.rules) this.rules = rules;
    else this.early = rules;
    this.pump();
  }

  offer(delivery: Delivery): void {
    const list = this.holders.has(delivery.ticket.runKey) ? this.back : this.list;
    list.add(delivery);
    this.pump();
  }

  /** The message has ended: its place is free for the next. */
  ended(runKey: string): void {
    if (!this.rules) this.gone.add(runKey);
    if (this.holders.delete(runKey)) this.pump();
  }

  /** Runs that hold a place. */
  get places(): Iterable<string> {
    return this.holders;
  }

  /** Lets go of places whose messages have ended without anybody knowing it: the answer to a batch was lost. */
  async verify(isActive: (runKey: string) => Promise<boolean>): Promise<void> {
    for (const runKey of [...this.holders]) if (!(await isActive(runKey))) this.ended(runKey);
  }

  /** Why a delivery waits here; null when it does not. */
  reasonFor(delivery: Delivery): WaitReason | null {
    const { rules, list, back } = this;
    if (!rules || (delivery.list !== list && delivery.list !== back)) return null;
    const place = delivery.list === back ? back.placeOf(delivery) : back.size + list.placeOf(delivery);
    const because = rules.paused ? 'paused' : 'order';
    return { kind: 'queue', queue: this.name, place, waiting: back.size + list.size, because };
  }

  stop(): void {
    this.stopped = true;
  }

  private pump(): void {
    // What is let through may be done at once and call this again: the loops below go on with it.
    if (this.pumping || this.stopped) return;
    this.pumping = true;
    try {
      for (let next = this.next(); next; next = this.next()) {
        next.list?.remove(next);
        this.holders.add(next.ticket.runKey);
        this.goOn(next);
      }
    } finally {
      this.pumping = false;
    }
  }

  private next(): Delivery | null {
    const { rules, list, back, holders } = this;
    if (!rules || rules.paused) return null;
    if (back.first) return back.first;
    return holders.size < rules.parallelism ? list.first : null;
  }
}
