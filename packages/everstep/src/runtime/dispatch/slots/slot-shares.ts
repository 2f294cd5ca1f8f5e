/**
 * The slots of deliveries and who has taken them: all slots, those of one host, and those for long deliveries. `host` is the name of
 * a host, or of the workers of a workflow, whose slots belong to one instance.
 */
import { FairShare } from '../../../fairness/fair-share.js';
import type { InstanceOwners } from '../../../ports/stores/instance-owners.js';
import { NO_WORKERS, type WorkerSlots } from '../../../ports/workers.js';
import { type Delivery, type DeliveryLimits, deliveryKeyOf, parseWorkers } from '../../gates/delivery.js';

export interface SlotLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerHost: number;
  /** Absent if there are no workers. */
  readonly workers?: WorkerSlots;
  /** Maximum number of deliveries with a long timeout. Defaults to the number of slots. */
  readonly maxLongInFlight?: number;
}

/** Numbers of starts at a host that a rate counts. */
interface CountedStarts {
  /** Starts that are queued. */
  readonly counted: number;
  /** Future starts with a reserved slot. */
  readonly reserved: number;
}

const NO_COUNTED_STARTS: CountedStarts = { counted: 0, reserved: 0 };

type SlotUser = Pick<DeliveryLimits, 'instanceId' | 'isLong' | 'origin' | 'workers'>;

export class SlotShares {
  private readonly limits: SlotLimits;
  private readonly workers: WorkerSlots;
  private readonly owners: InstanceOwners;
  private readonly allSlots: FairShare;
  private readonly longSlots: FairShare;
  private readonly hosts = new Map<string, FairShare>();
  /** The share of a host without taken slots. */
  private readonly unusedHost: FairShare;

  constructor(limits: SlotLimits, owners: InstanceOwners) {
    this.limits = limits;
    this.workers = limits.workers ?? NO_WORKERS;
    this.owners = owners;
    this.allSlots = new FairShare(limits.maxInFlight, owners);
    this.longSlots = new FairShare(limits.maxLongInFlight ?? limits.maxInFlight, owners);
    this.unusedHost = new FairShare(limits.maxInFlightPerHost, owners);
  }

  get free(): number {
    return this.allSlots.free;
  }
  /**
   * Returns how many more deliveries to the host could start, in addition to counted starts that are queued. Slots that are reserved
   * for future counted starts count as free. Infinite if no worker
   * serves the workflow: its deliveries do not wait here, because they would keep the slots of their flow control keys. They start,
   * and are returned to the gate of their destination immediately.
   */
  freeAt(host: string, { counted, reserved } = NO_COUNTED_STARTS): number {
    return this.shareAt(host)?.free ?? this.freeAtWorkers(host) + reserved - counted;
  }
  /** Returns whether a counted start to the host may start while this number of deliveries to it is in flight. */
  mayStartCounted(host: string, inFlight: number): boolean {
    return this.shareAt(host) ? inFlight < this.limits.maxInFlightPerHost : this.freeAtWorkers(host) > 0;
  }
  /** Returns how many more long deliveries of the instance could start. */
  freeLong(instanceId: string): number {
    return Math.max(0, Math.min(this.longSlots.free, this.longSlots.countFor(instanceId)));
  }

  /** Returns how many more slots the share of the instance allows; infinite if no other instance shares them. */
  countFor(instanceId: string): number {
    return this.allSlots.countFor(instanceId);
  }
  countAt(host: string, instanceId: string): number {
    return this.shareAt(host)?.countFor(instanceId) ?? Number.POSITIVE_INFINITY;
  }
  /** Returns the maximum number of slots that the instance could have. */
  ceilingOf(instanceId: string): number {
    return this.allSlots.ceilingOf(instanceId);
  }

  allows(instanceId: string): boolean {
    return this.allSlots.allows(instanceId);
  }
  allowsLong(instanceId: string): boolean {
    return this.longSlots.allows(instanceId);
  }
  allowsAt(host: string, instanceId: string): boolean {
    return this.shareAt(host)?.allows(instanceId) ?? true;
  }

  take(limits: SlotUser): void {
    const { instanceId, isLong, origin, workers } = limits;
    if (workers === undefined) {
      let share = this.hosts.get(origin);
      if (!share) {
        share = new FairShare(this.limits.maxInFlightPerHost, this.owners);
        this.hosts.set(origin, share);
      }
      share.take(instanceId);
    }
    this.allSlots.take(instanceId);
    if (isLong) this.longSlots.take(instanceId);
  }

  give(limits: SlotUser): void {
    const { instanceId, isLong, origin, workers } = limits;
    if (workers === undefined) {
      const share = this.hosts.get(origin);
      share?.give(instanceId);
      if (share?.isUnused) this.hosts.delete(origin);
    }
    this.allSlots.give(instanceId);
    if (isLong) this.longSlots.give(instanceId);
  }

  /** Reserves the slot of a worker for a delivery that starts, if it is sent to a worker. */
  reserveWorker(delivery: Delivery): void {
    const { runKey } = delivery;
    const { instanceId, origin: url, workers } = delivery.limits;
    if (workers !== undefined) this.workers.reserve({ deliveryKey: deliveryKeyOf(delivery), runKey, instanceId, url });
  }
  releaseWorker(delivery: Delivery): void {
    if (delivery.limits.workers !== undefined) this.workers.release(deliveryKeyOf(delivery));
  }

  /**
   * Called when the number of slots at the host that are reserved for future counted starts changes. Workflows can share workers,
   * so these slots are reserved at the workers.
   */
  changeReserved(host: string, previousCount: number, count: number): void {
    const workers = parseWorkers(host);
    if (!workers) return;
    const keyOf = (index: number): string => `${host} ${index}`;
    for (let index = previousCount; index < count; index++)
      this.workers.reserve({ deliveryKey: keyOf(index), runKey: '', ...workers });
    for (let index = count; index < previousCount; index++) this.workers.release(keyOf(index));
  }

  /** Returns the share of the slots of a host; null for workers. */
  private shareAt(host: string): FairShare | null {
    return this.hosts.get(host) ?? (parseWorkers(host) ? null : this.unusedHost);
  }

  private freeAtWorkers(host: string): number {
    const { instanceId = '', url = '' } = parseWorkers(host) ?? {};
    return this.workers.freeSlots(instanceId, url);
  }
}
