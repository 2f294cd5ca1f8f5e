/**
 * Assigns slots to the deliveries that have passed the gates: those that become due together are assigned together. While an
 * instance triggers a burst of new runs, the first deliveries of these runs are held back; those of other instances are not.
 */
import { LIMITS } from '../../../config/limits.js';
import type { Clock } from '../../../ports/clock.js';
import type { InstanceLimits } from '../../../ports/stores/instance-limits.js';
import type { InstanceOwners } from '../../../ports/stores/instance-owners.js';
import type { StoreWritesState } from '../../../ports/stores/store-writes.js';
import type { WorkerPresence } from '../../../ports/workers.js';
import type { Delivery, DeliveryRef } from '../../gates/delivery.js';
import type { FreeSlots } from '../../gates/slot-turns.js';
import { BURST_RECHECK_MS, BurstGate } from './burst-gate.js';
import { ReadyQueue, type Urgency } from './ready-queue.js';

/** Instances whose bursts are tracked; beyond this number those without a burst are removed. */
const MAX_BURSTS = 1_000;

export interface SlotQueueDeps {
  readonly clock: Clock;
  readonly limits: Pick<InstanceLimits, 'maxParallelism'>;
  readonly owners: InstanceOwners;
  readonly workers: Pick<WorkerPresence, 'capacityOf'>;
  /** While it is closed, also for one instance, no delivery starts; `drainSoon` must be called when it opens. */
  readonly writes: StoreWritesState;
}

/** Starts the deliveries that have a slot; `done` must be called for each. */
export interface SlotHolder {
  startDelivery(delivery: Delivery): void;
}

export class SlotQueue implements FreeSlots {
  private readonly deps: SlotQueueDeps;
  private readonly holder: SlotHolder;
  /** The deliveries that wait for a slot or are in flight. */
  readonly ready: ReadyQueue;
  /** Keyed by instance. */
  private readonly bursts = new Map<string, BurstGate>();
  private cancelRecheck: (() => void) | null = null;
  private drainScheduled = false;
  private stopped = false;

  constructor(deps: SlotQueueDeps, holder: SlotHolder) {
    this.deps = deps;
    this.holder = holder;
    this.ready = new ReadyQueue({
      maxInFlight: LIMITS.maxDeliveriesInFlight,
      maxInFlightPerHost: LIMITS.maxConnectionsPerHost,
      capacityOf: (pool) => deps.workers.capacityOf(pool),
      maxLongInFlight: LIMITS.maxLongDeliveriesInFlight,
      maxInFlightOf: (instanceId) => (deps.writes.isOpenFor(instanceId) ? deps.limits.maxParallelism(instanceId) : 0),
      owners: deps.owners,
    });
  }

  /** Whether no delivery waits or is in flight, and none is about to start. */
  get idle(): boolean {
    return this.ready.size === 0 && !this.drainScheduled;
  }
  free(origin: string): number {
    return this.ready.free(origin);
  }
  reservable(origin: string): number {
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

  /** Called when a run of the instance was created. */
  triggered(instanceId: string): void {
    const now = this.deps.clock.now();
    let burst = this.bursts.get(instanceId);
    if (!burst) {
      if (this.bursts.size >= MAX_BURSTS) for (const [id, gate] of this.bursts) if (!gate.isBurst(now)) this.bursts.delete(id);
      burst = new BurstGate();
      this.bursts.set(instanceId, burst);
    }
    burst.triggered(now);
  }

  /** Queues a delivery; returns false if it is here already. */
  add(delivery: Delivery, urgency: Urgency): boolean {
    const added = this.ready.add(delivery, urgency, this.deps.clock.now());
    if (added) this.drainSoon();
    return added;
  }

  /** Frees the slot of a delivery. `drainSoon` must follow once the gates know of it as well. */
  done(ref: DeliveryRef): void {
    this.ready.done(ref);
  }

  /** Removes the deliveries that wait for a slot; those in flight remain. */
  clear(): void {
    this.ready.clear();
  }

  /** Starts no more deliveries. */
  stop(): void {
    this.stopped = true;
    this.cancelRecheck?.();
  }

  drainSoon(): void {
    if (this.drainScheduled || this.stopped) return;
    this.drainScheduled = true;
    queueMicrotask(() => {
      this.drainScheduled = false;
      this.drain();
    });
  }

  private drain(): void {
    const { clock, writes } = this.deps;
    if (this.stopped || !writes.isOpen) return;
    const now = clock.now();
    let isHeldBack = false;
    const freshAllowed = (instanceId: string): number => {
      const burst = this.bursts.get(instanceId);
      if (!burst) return Number.POSITIVE_INFINITY;
      const fresh = this.ready.freshOf(instanceId);
      const allowed = burst.allowance(now, fresh);
      isHeldBack ||= fresh.count > allowed;
      return allowed;
    };
    this.ready.drain(freshAllowed, (delivery) => this.holder.startDelivery(delivery));
    if (!isHeldBack || this.cancelRecheck) return;
    this.cancelRecheck = clock.setTimer(now + BURST_RECHECK_MS, () => {
      this.cancelRecheck = null;
      this.drainSoon();
    });
  }
}
