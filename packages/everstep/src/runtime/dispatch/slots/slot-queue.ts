/**
 * Assigns slots to the deliveries that have passed the gates. Deliveries that become due together get their slots together. While
 * an instance triggers a burst of new runs, the first deliveries of these runs are held back; those of other instances are not.
 */
import { LIMITS } from '../../../config/limits.js';
import type { Clock } from '../../../ports/clock.js';
import type { InstanceLimits } from '../../../ports/stores/instance-limits.js';
import type { InstanceOwners } from '../../../ports/stores/instance-owners.js';
import type { StoreWritesState } from '../../../ports/stores/store-writes.js';
import type { WorkerSlots } from '../../../ports/workers.js';
import type { Delivery, DeliveryRef } from '../../gates/delivery.js';
import type { FreeSlots } from '../../gates/slot-allocator.js';
import { BURST_RECHECK_MS, BurstGate } from './burst-gate.js';
import { ReadyQueue, type Urgency } from './ready-queue.js';

/** Maximum number of instances whose bursts are tracked. Beyond it, instances without a burst are removed. */
const MAX_BURSTS = 1_000;

export interface SlotQueueDeps {
  readonly clock: Clock;
  readonly limits: Pick<InstanceLimits, 'maxParallelism'>;
  readonly owners: InstanceOwners;
  readonly workers: WorkerSlots;
  /** While this is closed, for all instances or for one, their deliveries do not start. Call `drainSoon` when it opens. */
  readonly writes: StoreWritesState;
}

/** Starts the deliveries that have a slot; `done` must be called for each. */
export interface DeliveryStarter {
  startDelivery(delivery: Delivery): void;
  /** Called when free slots may remain for the gates after the deliveries that waited for them have had their turn. */
  onSlotsLeft(): void;
}

export class SlotQueue implements FreeSlots {
  private readonly deps: SlotQueueDeps;
  private readonly starter: DeliveryStarter;
  /** The deliveries that wait for a slot or are in flight. */
  readonly ready: ReadyQueue;
  /** Keyed by instance. */
  private readonly burstGates = new Map<string, BurstGate>();
  private cancelRecheck: (() => void) | null = null;
  /** Workers with slots that have become free and that the gates have not been notified of. */
  private freedOrigins: ReadonlySet<string>[] = [];
  private isDrainScheduled = false;
  private isStopped = false;

  constructor(deps: SlotQueueDeps, starter: DeliveryStarter) {
    this.deps = deps;
    this.starter = starter;
    this.ready = new ReadyQueue({
      maxInFlight: LIMITS.maxDeliveriesInFlight,
      maxInFlightPerHost: LIMITS.maxConnectionsPerHost,
      workers: deps.workers,
      maxLongInFlight: LIMITS.maxLongDeliveriesInFlight,
      maxInFlightOf: (instanceId) => deps.limits.maxParallelism(instanceId),
      mayStart: (instanceId) => deps.writes.isOpenFor(instanceId),
      owners: deps.owners,
    });
  }

  /** Whether no delivery waits or is in flight, and none is about to start. */
  get isIdle(): boolean {
    return this.ready.size === 0 && !this.isDrainScheduled;
  }
  free(origin: string): number {
    return this.ready.free(origin);
  }
  reservable(origin: string): number {
    this.noteFreedSlots();
    return this.ready.reservable(origin);
  }
  freeOf(instanceId: string): number {
    return this.ready.freeOf(instanceId);
  }
  reservableOf(instanceId: string): number {
    return this.ready.reservableOf(instanceId);
  }
  freeLong(instanceId: string): number {
    return this.ready.freeLong(instanceId);
  }
  freeShare(origin: string, instanceId: string): number {
    return this.ready.freeShare(origin, instanceId);
  }
  reserve(origin: string, instanceId: string, change: number): void {
    this.ready.reserve(origin, instanceId, change);
    // Other deliveries may wait for the slots that are no longer reserved.
    if (change < 0) this.drainSoon();
  }

  isFull(origin: string): boolean {
    return this.ready.workers.isFull(origin);
  }
  takeFreedOrigins(): readonly ReadonlySet<string>[] {
    this.noteFreedSlots();
    const { freedOrigins } = this;
    this.freedOrigins = [];
    return freedOrigins;
  }

  /** Called when a run of the instance was created. */
  runCreated(instanceId: string): void {
    const now = this.deps.clock.now();
    let burstGate = this.burstGates.get(instanceId);
    if (!burstGate) {
      if (this.burstGates.size >= MAX_BURSTS)
        for (const [id, gate] of this.burstGates) if (!gate.isBurst(now)) this.burstGates.delete(id);
      burstGate = new BurstGate();
      this.burstGates.set(instanceId, burstGate);
    }
    burstGate.runCreated(now);
  }

  /** Queues a delivery. Returns false if it is already queued or in flight. */
  add(delivery: Delivery, urgency: Urgency): boolean {
    const isAdded = this.ready.add(delivery, urgency, this.deps.clock.now());
    if (isAdded) this.drainSoon();
    return isAdded;
  }

  /** Frees the slot of a delivery. Call `drainSoon` after the gates have been notified, too. */
  done(ref: DeliveryRef): void {
    this.ready.done(ref);
  }

  /** Removes the deliveries that wait for a slot; those in flight remain. */
  clear(): void {
    this.ready.clear();
  }

  /** Starts no more deliveries. */
  stop(): void {
    this.isStopped = true;
    this.cancelRecheck?.();
  }

  drainSoon(): void {
    if (this.isDrainScheduled || this.isStopped) return;
    this.isDrainScheduled = true;
    queueMicrotask(() => {
      this.isDrainScheduled = false;
      this.drain();
    });
  }

  /** Returns whether there are any. */
  private noteFreedSlots(): boolean {
    const allFreedSlots = this.deps.workers.takeFreed();
    for (const freedSlots of allFreedSlots) {
      this.ready.slotsFreed(freedSlots);
      this.freedOrigins.push(freedSlots.workers);
    }
    return allFreedSlots.length > 0;
  }

  private drain(): void {
    const { clock, writes } = this.deps;
    if (this.isStopped || !writes.isOpen) return;
    this.noteFreedSlots();
    const now = clock.now();
    let isHeldBack = false;
    const freshAllowed = (instanceId: string): number => {
      const burstGate = this.burstGates.get(instanceId);
      if (!burstGate) return Number.POSITIVE_INFINITY;
      const freshQueue = this.ready.freshOf(instanceId);
      const allowedStarts = burstGate.takeStarts(now, freshQueue);
      isHeldBack ||= freshQueue.count > allowedStarts;
      return allowedStarts;
    };
    this.ready.drain(freshAllowed, (delivery) => this.starter.startDelivery(delivery));
    const hadContention = this.ready.workers.endContention();
    // A counted start has used the connection that holds its run, and freed the slot that was held for it.
    if (this.noteFreedSlots()) this.drainSoon();
    // Counted starts may have left slots to deliveries that did not take them.
    if (hadContention || this.freedOrigins.length > 0) this.starter.onSlotsLeft();
    if (!isHeldBack || this.cancelRecheck) return;
    this.cancelRecheck = clock.setTimer(now + BURST_RECHECK_MS, () => {
      this.cancelRecheck = null;
      this.drainSoon();
    });
  }
}
