/** The slots of deliveries and who has taken them: all slots, those of one host, and those for long deliveries. */
import { FairShare } from '../../../fairness/fair-share.js';
import type { InstanceOwners } from '../../../ports/stores/instance-owners.js';
import { type DeliveryLimits, hostOf } from '../../gates/delivery.js';

export interface SlotLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerHost: number;
  /** Returns the number of slots in a pool of workers, which may change at any time. Absent if there are no workers. */
  readonly capacityOf?: (pool: string) => number;
  /** Maximum number of deliveries with a long timeout. Defaults to the number of slots. */
  readonly maxLongInFlight?: number;
}

type SlotUser = Pick<DeliveryLimits, 'instanceId' | 'isLong' | 'origin' | 'pool'>;

/** Names of pools contain a space, and origins do not. */
const isPool = (host: string): boolean => host.includes(' ');

/** The shares of the slots of one host. */
type HostShare = Pick<FairShare, 'free' | 'isUnused' | 'countFor' | 'allows' | 'take' | 'give'>;

/** The slots of a pool of workers, which belongs to one instance. */
class PoolSlots implements HostShare {
  private readonly capacity: () => number;
  private takenCount = 0;

  constructor(capacity: () => number) {
    this.capacity = capacity;
  }

  get free(): number {
    return this.capacity() - this.takenCount;
  }
  get isUnused(): boolean {
    return this.takenCount === 0;
  }
  countFor(): number {
    return Number.POSITIVE_INFINITY;
  }
  allows(): boolean {
    return this.free > 0;
  }
  take(): void {
    this.takenCount++;
  }
  give(): void {
    this.takenCount--;
  }
}

export class SlotShares {
  private readonly limits: SlotLimits;
  private readonly owners: InstanceOwners;
  private readonly allSlots: FairShare;
  private readonly longSlots: FairShare;
  private readonly hosts = new Map<string, HostShare>();
  /** The share of a host without taken slots. */
  private readonly unusedHost: FairShare;

  constructor(limits: SlotLimits, owners: InstanceOwners) {
    this.limits = limits;
    this.owners = owners;
    this.allSlots = new FairShare(limits.maxInFlight, owners);
    this.longSlots = new FairShare(limits.maxLongInFlight ?? limits.maxInFlight, owners);
    this.unusedHost = new FairShare(limits.maxInFlightPerHost, owners);
  }

  get free(): number {
    return this.allSlots.free;
  }
  freeAt(host: string): number {
    return this.shareAt(host).free;
  }
  /** Returns how many slots the host has in total. */
  capacityAt(host: string): number {
    return isPool(host) ? this.poolCapacity(host) : this.limits.maxInFlightPerHost;
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
    return this.shareAt(host).countFor(instanceId);
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
    return this.shareAt(host).allows(instanceId);
  }

  take(limits: SlotUser): void {
    const { instanceId, isLong } = limits;
    const host = hostOf(limits);
    let share = this.hosts.get(host);
    if (!share) {
      share = isPool(host) ? this.slotsOf(host) : new FairShare(this.limits.maxInFlightPerHost, this.owners);
      this.hosts.set(host, share);
    }
    share.take(instanceId);
    this.allSlots.take(instanceId);
    if (isLong) this.longSlots.take(instanceId);
  }

  give(limits: SlotUser): void {
    const { instanceId, isLong } = limits;
    const host = hostOf(limits);
    const share = this.hosts.get(host);
    share?.give(instanceId);
    if (share?.isUnused) this.hosts.delete(host);
    this.allSlots.give(instanceId);
    if (isLong) this.longSlots.give(instanceId);
  }

  private shareAt(host: string): HostShare {
    return this.hosts.get(host) ?? (isPool(host) ? this.slotsOf(host) : this.unusedHost);
  }

  private slotsOf(pool: string): HostShare {
    return new PoolSlots(() => this.poolCapacity(pool));
  }

  /**
   * A pool without workers has no limit: its deliveries do not wait here, because they would keep the slots of their flow
   * control keys. They start, and are returned to the gate of their destination immediately.
   */
  private poolCapacity(pool: string): number {
    return this.limits.capacityOf?.(pool) || Number.POSITIVE_INFINITY;
  }
}
