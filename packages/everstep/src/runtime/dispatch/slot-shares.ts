/** The slots of deliveries, and who has them: of all, of one host, and of the deliveries that may take long. */
import { FairShare } from '../../fairness/fair-share.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { Passage } from '../gates/delivery-gates.js';

export interface SlotLimits {
  readonly maxInFlight: number;
  readonly maxInFlightPerHost: number;
  /** Of those whose timeout is long; absent: as many as there are slots. */
  readonly maxLongInFlight?: number;
}

type Holder = Pick<Passage, 'instanceId' | 'isLong'>;

export class SlotShares {
  private readonly limits: SlotLimits;
  private readonly owners: InstanceOwners;
  private readonly all: FairShare;
  private readonly longs: FairShare;
  private readonly hosts = new Map<string, FairShare>();
  /** Of a host at which no slot is taken. */
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
  /** How many more long deliveries of the instance could start. */
  freeLong(instanceId: string): number {
    return Math.max(0, Math.min(this.longs.free, this.longs.countFor(instanceId)));
  }

  /** How many more slots the share of the instance allows, at all hosts or at one; infinite where it shares with nobody. */
  countFor(instanceId: string): number {
    return this.all.countFor(instanceId);
  }
  countAt(host: string, instanceId: string): number {
    return this.at(host).countFor(instanceId);
  }
  /** The most slots that the instance could have. */
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

  take(host: string, { instanceId, isLong }: Holder): void {
    let share = this.hosts.get(host);
    if (!share) {
      share = new FairShare(this.limits.maxInFlightPerHost, this.owners);
      this.hosts.set(host, share);
    }
    share.take(instanceId);
    this.all.take(instanceId);
    if (isLong) this.longs.take(instanceId);
  }

  give(host: string, { instanceId, isLong }: Holder): void {
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
