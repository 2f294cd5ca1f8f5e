/**
 * One queue: sends messages in the order in which they became due, a limited number at a time. A message that has passed
 * keeps its slot until it ends, across all its retries, so no message behind it overtakes it.
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
export interface QueueListener {
  /** Called when the delivery has passed its queue. */
  passedQueue(delivery: GatedDelivery): void;
}

export class QueueLine {
  readonly name: string;
  private readonly listener: QueueListener;
  private readonly firstAttempts = new WaitList();
  /** Further attempts of messages that have a slot; they wait because the queue is paused. */
  private readonly retried = new WaitList();
  /** Runs that have a slot. */
  private readonly holders = new Set<string>();
  /** Rules of the queue; null until they are loaded. */
  private rules: Rules | null = null;
  /** Rules that were set, and runs that ended, while the queue was being loaded. */
  private earlyRules: Rules | null = null;
  private readonly earlyEnds = new Set<string>();
  private pumping = false;
  private stopped = false;

  constructor(name: string, listener: QueueListener) {
    this.name = name;
    this.listener = listener;
  }

  get loaded(): boolean {
    return this.rules !== null;
  }
  get counts(): { readonly waiting: number; readonly inFlight: number; readonly oldestSince: number | null } {
    const waiting = this.firstAttempts.size + this.retried.size;
    return { waiting, inFlight: this.holders.size, oldestSince: this.firstAttempts.first?.since ?? null };
  }
  /** Whether the queue can be removed from memory: the store has all of its state. */
  get idle(): boolean {
    return this.rules !== null && this.firstAttempts.size === 0 && this.retried.size === 0 && this.holders.size === 0;
  }

  /** Loads the stored settings. `retried`: runs that had their slot before a restart. */
  load(queue: Queue | null, retried: readonly string[]): void {
    if (this.rules) return;
    this.rules = this.earlyRules ?? queue ?? ONE_AT_A_TIME;
    for (const runKey of retried) if (!this.earlyEnds.has(runKey)) this.holders.add(runKey);
    this.earlyEnds.clear();
    // These deliveries were offered before it was known which runs have a slot.
    const holding = [...this.firstAttempts.inOrder()].filter(({ runKey }) => this.holders.has(runKey));
    for (const delivery of holding) {
      this.firstAttempts.remove(delivery);
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
    const attempts = this.holders.has(delivery.runKey) ? this.retried : this.firstAttempts;
    attempts.add(delivery);
    this.pump();
  }

  /** Called when the message has ended: its slot is free for the next one. */
  ended(runKey: string): void {
    if (!this.rules) this.earlyEnds.add(runKey);
    if (this.holders.delete(runKey)) this.pump();
  }

  /** Runs that have a slot. */
  get slotHolders(): Iterable<string> {
    return this.holders;
  }

  /** Frees the slots of messages whose end this process missed, because the response to a batch was lost. */
  async verify(isActive: (runKey: string) => Promise<boolean>): Promise<void> {
    for (const runKey of [...this.holders]) if (!(await isActive(runKey))) this.ended(runKey);
  }

  /** Returns why a delivery waits here; null if it does not. */
  reasonFor(delivery: GatedDelivery): WaitReason | null {
    const { rules, firstAttempts, retried } = this;
    if (!rules || (delivery.list !== firstAttempts && delivery.list !== retried)) return null;
    const place = delivery.list === retried ? retried.positionOf(delivery) : retried.size + firstAttempts.positionOf(delivery);
    const because = rules.paused ? 'paused' : 'order';
    return { kind: 'queue', queue: this.name, place, waiting: retried.size + firstAttempts.size, because };
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
        this.listener.passedQueue(next);
      }
    } finally {
      this.pumping = false;
    }
  }

  private next(): GatedDelivery | null {
    const { rules, firstAttempts, retried, holders } = this;
    if (!rules || rules.paused) return null;
    if (retried.first) return retried.first;
    return holders.size < rules.parallelism ? firstAttempts.first : null;
  }
}
