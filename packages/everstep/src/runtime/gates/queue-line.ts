/**
 * One queue: sends messages in the order in which they became due, a limited number at a time. A message that has passed
 * keeps its position until it ends, across all its retries, so no message behind it overtakes it.
 *
 * Keeps invariant 15.
 */
import type { Queue } from '../../engine/runs/run.js';
import type { WaitReason } from '../services/workflow-service.js';
import { type GatedDelivery, WaitList } from './wait-list.js';

type Rules = Pick<Queue, 'parallelism' | 'paused'>;

/** Rules of a queue without settings. */
const ONE_AT_A_TIME: Rules = { parallelism: 1, paused: false };

/** Receives the deliveries that have passed their queue. */
export interface QueueExit {
  /** Called when the delivery has passed its queue. */
  passedQueue(delivery: GatedDelivery): void;
}

export class QueueLine {
  readonly name: string;
  private readonly exit: QueueExit;
  private readonly list = new WaitList();
  /** Further attempts of messages that have a position; they wait because the queue is paused. */
  private readonly retried = new WaitList();
  /** Runs that have a position. */
  private readonly holders = new Set<string>();
  /** Rules of the queue; null until they are loaded. */
  private rules: Rules | null = null;
  /** Rules that were set, and runs that ended, while the queue was being loaded. */
  private earlyRules: Rules | null = null;
  private readonly earlyEnds = new Set<string>();
  private pumping = false;
  private stopped = false;

  constructor(name: string, exit: QueueExit) {
    this.name = name;
    this.exit = exit;
  }

  get loaded(): boolean {
    return this.rules !== null;
  }
  get counts(): { readonly waiting: number; readonly inFlight: number; readonly oldestSince: number | null } {
    const waiting = this.list.size + this.retried.size;
    return { waiting, inFlight: this.holders.size, oldestSince: this.list.first?.since ?? null };
  }
  /** Whether the queue can be removed from memory: the store has all of its state. */
  get idle(): boolean {
    return this.rules !== null && this.list.size === 0 && this.retried.size === 0 && this.holders.size === 0;
  }

  /** Takes the stored state. `retried`: runs that had their position before a restart. */
  load(queue: Queue | null, retried: readonly string[]): void {
    if (this.rules) return;
    this.rules = this.earlyRules ?? queue ?? ONE_AT_A_TIME;
    for (const runKey of retried) if (!this.earlyEnds.has(runKey)) this.holders.add(runKey);
    this.earlyEnds.clear();
    // These deliveries were offered before it was known which runs have a position.
    const holding = [...this.list.inOrder()].filter(({ runKey }) => this.holders.has(runKey));
    for (const delivery of holding) {
      this.list.remove(delivery);
      this.retried.add(delivery);
    }
    this.pump();
  }

  /** Applies new settings, or null if the queue was deleted. They also affect messages that wait. */
  set(queue: Queue | null): void {
    const rules = queue ?? ONE_AT_A_TIME;
    if (this.rules) this.rules = rules;
    else this.earlyRules = rules;
    this.pump();
  }

  offer(delivery: GatedDelivery): void {
    const list = this.holders.has(delivery.runKey) ? this.retried : this.list;
    list.add(delivery);
    this.pump();
  }

  /** Called when the message has ended: its position is free for the next one. */
  ended(runKey: string): void {
    if (!this.rules) this.earlyEnds.add(runKey);
    if (this.holders.delete(runKey)) this.pump();
  }

  /** Runs that have a position. */
  get positions(): Iterable<string> {
    return this.holders;
  }

  /** Frees positions of messages whose end this process missed, because the response to a batch was lost. */
  async verify(isActive: (runKey: string) => Promise<boolean>): Promise<void> {
    for (const runKey of [...this.holders]) if (!(await isActive(runKey))) this.ended(runKey);
  }

  /** Returns why a delivery waits here; null if it does not. */
  reasonFor(delivery: GatedDelivery): WaitReason | null {
    const { rules, list, retried } = this;
    if (!rules || (delivery.list !== list && delivery.list !== retried)) return null;
    const place = delivery.list === retried ? retried.positionOf(delivery) : retried.size + list.positionOf(delivery);
    const because = rules.paused ? 'paused' : 'order';
    return { kind: 'queue', queue: this.name, place, waiting: retried.size + list.size, because };
  }

  stop(): void {
    this.stopped = true;
  }

  private pump(): void {
    // A delivery that passes may end immediately and call this again; the loop below handles that.
    if (this.pumping || this.stopped) return;
    this.pumping = true;
    try {
      for (let next = this.next(); next; next = this.next()) {
        next.list?.remove(next);
        this.holders.add(next.runKey);
        this.exit.passedQueue(next);
      }
    } finally {
      this.pumping = false;
    }
  }

  private next(): GatedDelivery | null {
    const { rules, list, retried, holders } = this;
    if (!rules || rules.paused) return null;
    if (retried.first) return retried.first;
    return holders.size < rules.parallelism ? list.first : null;
  }
}
