/**
 * The slots of workers, as the queue of deliveries uses them. `host` is the name of the workers that serve a workflow. Workflows
 * may share workers, so a slot is reserved at its worker as soon as it is needed: when a delivery starts, and earlier for a start
 * that a rate counts.
 */
import { type FreedSlots, isWorkersName, type WorkerSlots } from '../../../ports/workers.js';
import { type Delivery, deliveryKeyOf } from '../../gates/delivery.js';

/**
 * Returns how many of the free slots counted starts may take while other deliveries wait: half of them. If one is free, they
 * take turns.
 */
export const sharedSlots = (free: number, wasLastCounted: boolean): number =>
  Math.min(free, Math.max(Math.floor(free / 2), wasLastCounted ? 0 : 1));

const heldKeyOf = (host: string, index: number): string => `${host} ${index}`;

export class WorkerShares {
  private readonly slots: WorkerSlots;
  /** Number of slots that are held for counted starts: for those that are queued, and for future ones. */
  private readonly heldCounts = new Map<string, number>();
  /** Slots that have become free and for which deliveries wait. */
  private contendedSlots: FreedSlots[] = [];
  /** Number of these slots that have been reserved for future counted starts, by host. */
  private readonly grantedCounts = new Map<string, number>();

  constructor(slots: WorkerSlots) {
    this.slots = slots;
  }

  /**
   * Returns the free slots in addition to those of the counted starts that are queued, but including those that are held for
   * future ones. Infinite if no worker serves the workflow: its deliveries do not wait for a slot, because they would keep the slots
   * of their flow control keys. They start, and are returned to the gate of their destination immediately.
   */
  freeAt(host: string, queuedCount: number): number {
    return this.slots.freeSlots(host) + this.heldAt(host) - queuedCount;
  }
  mayStartCounted(host: string): boolean {
    return this.slots.freeSlots(host) + this.heldAt(host) > 0;
  }
  /** Returns whether all slots are reserved. `slotsFreed` is called when one becomes free. */
  isFull(host: string): boolean {
    return isWorkersName(host) && this.slots.freeSlots(host) === 0;
  }

  /** Holds this number of slots for counted starts, if as many are free. Has no effect if `host` is not the name of workers. */
  hold(host: string, count: number): void {
    if (!isWorkersName(host)) return;
    let heldCount = this.heldAt(host);
    const target = { workers: host, runKey: '', isCounted: true };
    while (heldCount < count && this.slots.reserve({ ...target, key: heldKeyOf(host, heldCount) })) heldCount++;
    while (heldCount > count) this.slots.release(heldKeyOf(host, --heldCount));
    this.setHeld(host, heldCount);
  }

  /** Reserves a slot for a delivery that starts: a held one if a rate counts the start. */
  start(delivery: Delivery, isCounted: boolean): void {
    const { workers } = delivery.limits;
    if (workers === undefined) return;
    const heldCount = isCounted ? this.heldAt(workers) : 0;
    const heldKey = heldCount > 0 ? heldKeyOf(workers, heldCount - 1) : undefined;
    this.slots.reserve({ key: deliveryKeyOf(delivery), workers, runKey: delivery.runKey, isCounted }, heldKey);
    if (heldCount > 0) this.setHeld(workers, heldCount - 1);
  }

  /** Releases the slot of a delivery that is no longer in flight. */
  end(delivery: Delivery): void {
    if (delivery.limits.workers !== undefined) this.slots.release(deliveryKeyOf(delivery));
  }

  /** Called when slots have become free for which deliveries wait. Counted starts share them with these deliveries. */
  contend(freedSlots: FreedSlots): void {
    this.contendedSlots.push(freedSlots);
  }
  /** Called when slots have been reserved for future counted starts. */
  noteGranted(host: string, count: number): void {
    if (this.contendedAt(host).length > 0) this.grantedCounts.set(host, (this.grantedCounts.get(host) ?? 0) + count);
  }
  /**
   * Returns how many of the free slots counted starts may take, including those that are reserved for them already; null if no
   * other delivery waits for these slots. Counted starts of all workflows together get half of the slots that became free.
   */
  sharedAt(host: string, freeCount: number, reservedCount: number): number | null {
    const contendedSlots = this.contendedAt(host);
    if (contendedSlots.length === 0) return null;
    let grantedCount = 0;
    for (const [name, count] of this.grantedCounts)
      if (contendedSlots.some(({ workers }) => workers.has(name))) grantedCount += count;
    const wasLastCounted = contendedSlots.every((freedSlots) => freedSlots.wasLastCounted);
    const sharedCount = sharedSlots(Math.max(0, freeCount - reservedCount) + grantedCount, wasLastCounted);
    return Math.min(freeCount, reservedCount + Math.max(0, sharedCount - grantedCount));
  }
  /** Called when the deliveries that wait have had their turn. Returns whether counted starts may have left slots to them. */
  endContention(): boolean {
    const hadContention = this.contendedSlots.length > 0;
    if (hadContention) this.contendedSlots = [];
    this.grantedCounts.clear();
    return hadContention;
  }

  private contendedAt(host: string): readonly FreedSlots[] {
    return this.contendedSlots.filter(({ workers }) => workers.has(host));
  }

  private heldAt(host: string): number {
    return this.heldCounts.get(host) ?? 0;
  }

  private setHeld(host: string, count: number): void {
    if (count === 0) this.heldCounts.delete(host);
    else this.heldCounts.set(host, count);
  }
}
