/**
 * The gate of one queue. It lets messages pass in the order in which they became due, a limited number at a time. A message that
 * has passed keeps its slot until it ends, across all its retries, so no message behind it overtakes it.
 *
 * Keeps invariant 15.
 */
import type { Queue } from '../../engine/runs/run.js';
import type { WaitReason } from '../services/workflow-service.js';
import { type GatedDelivery, WaitList } from './wait-list.js';

type QueueRules = Pick<Queue, 'parallelism' | 'paused'>;

/** Rules of a queue without settings. */
const ONE_AT_A_TIME: QueueRules = { parallelism: 1, paused: false };

/** Receives the deliveries that have passed their queue. */
export interface QueueListener {
  /** Called when the delivery has passed its queue. */
  onPassedQueue(delivery: GatedDelivery): void;
}

export class QueueGate {
  readonly name: string;
  private readonly listener: QueueListener;
  private readonly firstAttempts = new WaitList();
  /** Further attempts of messages that have a slot; they wait because the queue is paused. */
  private readonly retries = new WaitList();
  /** Runs that have a slot. */
  private readonly holders = new Set<string>();
  /** Rules of the queue; null until they are loaded. */
  private rules: QueueRules | null = null;
  /** Rules that were set, and runs that ended, while the queue was being loaded. */
  private earlyRules: QueueRules | null = null;
  /** Number of changes of the rules, including those of which other nodes have notified this one. */
  private changeCount = 0;
  private readonly earlyEnds = new Set<string>();
  private isPumping = false;
  private isStopped = false;

  constructor(name: string, listener: QueueListener) {
    this.name = name;
    this.listener = listener;
  }

  get isLoaded(): boolean {
    return this.rules !== null;
  }
  get counts(): { readonly waiting: number; readonly inFlight: number; readonly oldestSince: number | null } {
    const waiting = this.firstAttempts.size + this.retries.size;
    return { waiting, inFlight: this.holders.size, oldestSince: this.firstAttempts.first?.since ?? null };
  }
  /** Whether the queue can be removed from memory: the store has all of its state. */
  get isIdle(): boolean {
    return this.rules !== null && this.firstAttempts.size === 0 && this.retries.size === 0 && this.holders.size === 0;
  }

  /** Loads the stored settings. `retriedRunKeys` are the runs that had a slot before a restart. */
  load(queue: Queue | null, retriedRunKeys: readonly string[]): void {
    if (this.rules) return;
    this.rules = this.earlyRules ?? queue ?? ONE_AT_A_TIME;
    for (const runKey of retriedRunKeys) if (!this.earlyEnds.has(runKey)) this.holders.add(runKey);
    this.earlyEnds.clear();
    // These deliveries were offered before it was known which runs have a slot.
    const furtherAttempts = [...this.firstAttempts.inOrder()].filter(({ runKey }) => this.holders.has(runKey));
    for (const delivery of furtherAttempts) {
      this.firstAttempts.remove(delivery);
      this.retries.add(delivery);
    }
    this.pump();
  }

  /** Applies the settings that another node has stored. `read` reads them; a read that is older than a change is repeated. */
  async reload(read: () => Promise<Queue | null>): Promise<void> {
    this.changeCount++;
    let [changeCount, queue] = [-1, null as Queue | null];
    while (changeCount !== this.changeCount) {
      changeCount = this.changeCount;
      queue = await read();
    }
    this.applyRules(queue);
  }

  /** Applies new settings, or null if the queue was deleted. They also affect messages that wait. */
  setRules(queue: Queue | null): void {
    this.changeCount++;
    this.applyRules(queue);
  }

  private applyRules(queue: Queue | null): void {
    const rules = queue ?? ONE_AT_A_TIME;
    if (this.rules) this.rules = rules;
    else this.earlyRules = rules;
    this.pump();
  }

  offer(delivery: GatedDelivery): void {
    const attempts = this.holders.has(delivery.runKey) ? this.retries : this.firstAttempts;
    attempts.add(delivery);
    this.pump();
  }

  /** Called when the message has ended: its slot is free for the next one. */
  messageEnded(runKey: string): void {
    if (!this.rules) this.earlyEnds.add(runKey);
    if (this.holders.delete(runKey)) this.pump();
  }

  /** Runs that have a slot. */
  get slotHolders(): Iterable<string> {
    return this.holders;
  }

  /** Frees the slots of messages whose end this process missed, because the response to a batch was lost. */
  async verify(isActive: (runKey: string) => Promise<boolean>): Promise<void> {
    for (const runKey of [...this.holders]) if (!(await isActive(runKey))) this.messageEnded(runKey);
  }

  /** Returns why a delivery waits here; null if it does not. */
  reasonFor(delivery: GatedDelivery): WaitReason | null {
    const { rules, firstAttempts, retries } = this;
    if (!rules || (delivery.list !== firstAttempts && delivery.list !== retries)) return null;
    const place = delivery.list === retries ? retries.positionOf(delivery) : retries.size + firstAttempts.positionOf(delivery);
    const because = rules.paused ? 'paused' : 'order';
    return { kind: 'queue', queue: this.name, place, waiting: retries.size + firstAttempts.size, because };
  }

  stop(): void {
    this.isStopped = true;
  }

  private pump(): void {
    // A delivery that passes may end immediately and call this again; the loop below handles that.
    if (this.isPumping || this.isStopped) return;
    this.isPumping = true;
    try {
      for (let next = this.next(); next; next = this.next()) {
        next.list?.remove(next);
        this.holders.add(next.runKey);
        this.listener.onPassedQueue(next);
      }
    } finally {
      this.isPumping = false;
    }
  }

  private next(): GatedDelivery | null {
    const { rules, firstAttempts, retries, holders } = this;
    if (!rules || rules.paused) return null;
    if (retries.first) return retries.first;
    return holders.size < rules.parallelism ? firstAttempts.first : null;
  }
}
