/** The slots of deliveries and who has taken them: all slots, those of one host, and those for long deliveries. */
import { FairShare } from '../../../fairness/fair-share.js';
import type { InstanceOwners } from '../../../ports/stores/instance-owners.js';
import type { DeliveryLimits } from '../../gates/delivery.js';

export interface SlotLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerHost: number;
  /** Limit of deliveries with a long timeout; if absent, as many as there are slots. */
  readonly maxLongInFlight?: number;
}

type Holder = Pick<DeliveryLimits, 'instanceId' | 'isLong' | 'origin'>;

export class SlotShares {
  private readonly limits: SlotLimits;
  private readonly owners: InstanceOwners;
  private readonly all: FairShare;
  private readonly longs: FairShare;
  private readonly hosts = new Map<string, FairShare>();
  /** The share of a host without taken slots. */
  private readonly unusedHost: FairShare;

  constructor(limits: SlotLimits, owners: InstanceOwners) {
    this.limits = limits;
    this.owners = owners;
    this.all = new FairShare(limits.maxInFlight, owners);
    this.longs = new FairShare(limits.maxLongInFlight ?? limits.maxInFlight, owners);
    this.unusedHost = new FairShare(limits.maxInFlightPerHost, owners);
  }

  get free(): number {
    return this.all.free;
  }
  freeAt(host: string): number {
    return this.at(host).free;
  }
  /** Returns how many more long deliveries of the instance could start. */
  freeLong(instanceId: string): number {
    return Math.max(0, Math.min(this.longs.free, this.longs.countFor(instanceId)));
  }

  /** Returns how many more slots the share of the instance allows; infinite if it shares with no other. */
  countFor(instanceId: string): number {
    return this.all.countFor(instanceId);
  }
  countAt(host: string, instanceId: string): number {
    return this.at(host).countFor(instanceId);
  }
  /** Returns the maximum number of slots that the instance could have. */
  ceilingOf(instanceId: string): number {
    return this.all.ceilingOf(instanceId);
  }

  allows(instanceId: string): boolean {
    return this.all.allows(instanceId);
  }
  allowsLong(instanceId: string): boolean {
    return this.longs.allows(instanceId);
  }
  allowsAt(host: string, instanceId: string): boolean {
    return this.at(host).allows(instanceId);
  }

  take({ origin: host, instanceId, isLong }: Holder): void {
    let share = this.hosts.get(host);
    if (!share) {
      share = new FairShare(this.limits.maxInFlightPerHost, this.owners);
      this.hosts.set(host, share);
    }
    share.take(instanceId);
    this.all.take(instanceId);
    if (isLong) this.longs.take(instanceId);
  }

  give({ origin: host, instanceId, isLong }: Holder): void {
    const share = this.hosts.get(host);
    share?.give(instanceId);
    if (share?.isUnused) this.hosts.delete(host);
    this.all.give(instanceId);
    if (isLong) this.longs.give(instanceId);
  }

  private at(host: string): FairShare {
    return this.hosts.get(host) ?? this.unusedHost;
  }
}
