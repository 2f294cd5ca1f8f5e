/** The slots of deliveries and who has taken them: all slots, those of one host, and those for long deliveries. */
import { FairShare } from '../../../fairness/fair-share.js';
import type { InstanceOwners } from '../../../ports/stores/instance-owners.js';
import { isWorkersName, NO_WORKERS, type WorkerSlots } from '../../../ports/workers.js';
import type { DeliveryLimits } from '../../gates/delivery.js';
import { WorkerShares } from './worker-shares.js';

export interface SlotLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerHost: number;
  /** Absent if there are no workers. */
  readonly workers?: WorkerSlots;
  /** Maximum number of deliveries with a long timeout. Defaults to the number of slots. */
  readonly maxLongInFlight?: number;
}

type SlotUser = Pick<DeliveryLimits, 'instanceId' | 'isLong' | 'origin' | 'workers'>;

export class SlotShares {
  private readonly limits: SlotLimits;
  private readonly owners: InstanceOwners;
  private readonly allSlots: FairShare;
  private readonly longSlots: FairShare;
  private readonly hosts = new Map<string, FairShare>();
  /** The slots of workers, which belong to one instance and need no shares. */
  readonly workers: WorkerShares;
  /** The share of a host without taken slots. */
  private readonly unusedHost: FairShare;

  constructor(limits: SlotLimits, owners: InstanceOwners) {
    this.limits = limits;
    this.owners = owners;
    this.workers = new WorkerShares(limits.workers ?? NO_WORKERS);
    this.allSlots = new FairShare(limits.maxInFlight, owners);
    this.longSlots = new FairShare(limits.maxLongInFlight ?? limits.maxInFlight, owners);
    this.unusedHost = new FairShare(limits.maxInFlightPerHost, owners);
  }

  get free(): number {
    return this.allSlots.free;
  }
  /** Returns the free slots of the host. Those of the counted starts that are queued are not free. */
  freeAt(host: string, queuedCount: number): number {
    return isWorkersName(host) ? this.workers.freeAt(host, queuedCount) : this.shareAt(host).free;
  }
  /** Returns whether a counted start may start at the host while this number of deliveries is in flight there. */
  mayStartCounted(host: string, inFlight: number): boolean {
    return isWorkersName(host) ? this.workers.mayStartCounted(host) : inFlight < this.limits.maxInFlightPerHost;
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
    return isWorkersName(host) ? Number.POSITIVE_INFINITY : this.shareAt(host).countFor(instanceId);
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
    return isWorkersName(host) || this.shareAt(host).allows(instanceId);
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

  private shareAt(host: string): FairShare {
    return this.hosts.get(host) ?? this.unusedHost;
  }
}
