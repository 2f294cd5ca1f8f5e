/**
 * Deliveries that wait for a slot. Accounts take turns, then the queue instances of an account, then the hosts that an
 * instance calls: an instance with many hosts gets no more slots than one with a single host.
 *
 * Slots, connections to one host, and slots for long deliveries are divided into fair shares (`fairness/fair-share.ts`). No
 * account and no instance takes more than its share. Some of each therefore always remain free for others. An
 * instance that has reached the limit of its plan is skipped.
 *
 * Within an instance, runs that have started take three of four slots, so a burst of new runs does not slow down every run.
 * Starts that a rate counts must be made immediately, or they would fall into another window: slots are reserved for them before
 * they arrive. If other deliveries wait as well, these starts get at most every other slot, so neither kind starves the
 * other.
 */
import { FairShare } from '../../../fairness/fair-share.js';
import { type InstanceOwners, ONE_OWNER } from '../../../ports/stores/instance-owners.js';
import { type FreedSlots, isWorkersName } from '../../../ports/workers.js';
import { type Delivery, type DeliveryRef, deliveryKeyOf, hostOf } from '../../gates/delivery.js';
import type { NoSlotReason } from '../../services/workflow-service.js';
import { QueuedDeliveries, type QueuedDelivery, type Urgency } from './queued-deliveries.js';
import { type SlotLimits, SlotShares } from './slot-shares.js';
import { sharedSlots, type WorkerShares } from './worker-shares.js';

export type { Urgency } from './queued-deliveries.js';

/** While this many deliveries are queued or in flight, further due ones stay in the store. */
const BACKLOG_MAX = 20_000;

/** The slots of an instance or of a host. */
interface Load {
  inFlight: number;
  /** Counted starts that are queued. */
  counted: number;
  /** Other deliveries that are queued. */
  waiting: number;
  /** Slots that are reserved for future counted starts. */
  reserved: number;
  /** Whether the last slot was taken by or reserved for a counted start. */
  wasLastCounted: boolean;
}

interface InstanceLoad extends Load {
  readonly instanceId: string;
  readonly accountId: string;
  readonly queue: QueuedDeliveries;
}

interface HostLoad extends Load {
  /** Deliveries that wait for the host, except counted starts, by instance. */
  readonly waitingOf: Map<InstanceLoad, number>;
}

interface QueueEntry {
  readonly instance: InstanceLoad;
  readonly queuedDelivery: QueuedDelivery;
}

const isIdle = ({ inFlight, counted, waiting, reserved }: Load): boolean => inFlight + counted + waiting + reserved === 0;

/** Returns how many slots are in use by deliveries in flight or needed for counted starts. */
const usedSlots = ({ inFlight, counted, reserved }: Load): number => inFlight + counted + reserved;

const newLoad = (): Load => ({ inFlight: 0, counted: 0, waiting: 0, reserved: 0, wasLastCounted: false });
const NO_LOAD: Readonly<Load> = newLoad();

export interface ReadyQueueLimits extends SlotLimits {
  /** Returns the limit of deliveries of one instance at all hosts; null if it has none. It may change at any time. */
  readonly maxInFlightOf?: (instanceId: string) => number | null;
  /** Returns whether deliveries of the instance may start. If absent, they always may. It may change at any time. */
  readonly mayStart?: (instanceId: string) => boolean;
  /** The accounts that share the slots. If absent, everything belongs to one account. */
  readonly owners?: InstanceOwners;
}

export class ReadyQueue {
  private readonly limits: ReadyQueueLimits;
  private readonly owners: InstanceOwners;
  private readonly hosts = new Map<string, HostLoad>();
  private readonly instances = new Map<string, InstanceLoad>();
  /** Instances with queued deliveries, by account; the next one is first. */
  private readonly turns = new Map<string, Map<string, InstanceLoad>>();
  private readonly entries = new Map<string, QueueEntry>();
  private readonly inFlightDeliveries = new Map<string, Delivery>();
  /** Slots of deliveries in flight and of counted starts that are queued. */
  private readonly slots: SlotShares;
  readonly workers: WorkerShares;
  /** Deliveries that are queued or in flight, including those that were not read from the store. */
  private readonly backlog: FairShare;
  private reservedTotal = 0;
  /** Whether deliveries that could start at their host wait because all slots are taken. */
  private areSlotsExhausted = false;
  private wasLastCounted = false;

  constructor(limits: ReadyQueueLimits) {
    this.limits = limits;
    this.owners = limits.owners ?? ONE_OWNER;
    this.slots = new SlotShares(limits, this.owners);
    this.workers = this.slots.workers;
    this.backlog = new FairShare(BACKLOG_MAX, this.owners);
  }

  get inFlight(): number {
    return this.inFlightDeliveries.size;
  }
  get deliveriesInFlight(): readonly Delivery[] {
    return [...this.inFlightDeliveries.values()];
  }
  inFlightOf(instanceId: string): number {
    return this.instances.get(instanceId)?.inFlight ?? 0;
  }
  /** Returns how many deliveries of the instance may be in flight, by its plan and its share. */
  maxInFlightOf(instanceId: string): number {
    return Math.min(this.planLimitOf(instanceId), this.slots.ceilingOf(instanceId));
  }
  /** Deliveries queued or in flight. */
  get size(): number {
    return this.entries.size;
  }

  /** Returns how many deliveries of the instance are queued or in flight. */
  countOf(instanceId: string): number {
    return this.backlog.takenBy(instanceId);
  }
  /** Returns whether further due deliveries of the instance may be added. Up to the number of slots, they may always be added. */
  hasCapacity(instanceId: string): boolean {
    return this.countOf(instanceId) < this.limits.maxInFlight || this.backlog.allows(instanceId);
  }

  has(ref: DeliveryRef): boolean {
    return this.entries.has(deliveryKeyOf(ref));
  }
  isInFlight(ref: DeliveryRef): boolean {
    return this.inFlightDeliveries.has(deliveryKeyOf(ref));
  }

  /** Returns how many first deliveries of new runs of the instance wait, and since when the oldest waits (Unix ms). */
  freshOf(instanceId: string): { readonly count: number; readonly oldestSince: number } {
    const queue = this.instances.get(instanceId)?.queue;
    return {
      count: queue?.lengthOf('fresh') ?? 0,
      get oldestSince() {
        return queue?.oldestFreshSince ?? Number.POSITIVE_INFINITY;
      },
    };
  }

  /** Returns the free slots for this host, including those for which others wait. */
  free(host: string): number {
    const load = this.hosts.get(host);
    const reservedElsewhere = this.reservedTotal - (load?.reserved ?? 0);
    return Math.max(0, Math.min(this.slots.freeAt(host, load?.counted ?? 0), this.slots.free - reservedElsewhere));
  }

  /** Returns how many of the free slots may be reserved for counted starts, including those that are reserved already. */
  reservable(host: string): number {
    const load = this.hosts.get(host);
    const freeCount = this.free(host);
    const sharedWorkerSlots = this.areSlotsExhausted ? null : this.workers.sharedAt(host, freeCount, load?.reserved ?? 0);
    if (sharedWorkerSlots !== null) return sharedWorkerSlots;
    const waitingCount = load && !isWorkersName(host) ? this.waitingForSlot(host, load, freeCount) : 0;
    if (!this.areSlotsExhausted && waitingCount === 0) return freeCount;
    const wasCountedLast = this.areSlotsExhausted ? this.wasLastCounted : (load?.wasLastCounted ?? false);
    const sharedCount = sharedSlots(freeCount, wasCountedLast);
    return this.areSlotsExhausted ? sharedCount : Math.max(freeCount - waitingCount, sharedCount);
  }

  /** Like `free`, for the instance at all hosts; infinite if it has no limit. */
  freeOf(instanceId: string): number {
    const instance = this.instances.get(instanceId);
    const allowedByPlan = this.startLimitOf(instanceId) - (instance ? instance.inFlight + instance.counted : 0);
    return Math.max(0, Math.min(allowedByPlan, this.slots.countFor(instanceId)));
  }

  /** Like `reservable`, for the instance at all hosts; infinite if it has no limit. */
  reservableOf(instanceId: string): number {
    const freeCount = this.freeOf(instanceId);
    const instance = this.instances.get(instanceId);
    if (freeCount === Number.POSITIVE_INFINITY || !instance || instance.waiting === 0) return freeCount;
    return Math.max(freeCount - instance.waiting, sharedSlots(freeCount, instance.wasLastCounted));
  }

  freeLong(instanceId: string): number {
    return this.slots.freeLong(instanceId);
  }
  /** Returns how many more slots the share of the instance at this host allows; infinite if no other instance shares them. */
  freeShare(host: string, instanceId: string): number {
    return this.slots.countAt(host, instanceId);
  }

  /** Reserves this many more slots for counted starts of this instance to this host; fewer if negative. */
  reserve(host: string, instanceId: string, change: number): void {
    const load = this.loadAt(host);
    const instance = this.loadOf(instanceId);
    load.reserved += change;
    instance.reserved += change;
    this.reservedTotal += change;
    this.workers.hold(host, load.counted + load.reserved);
    if (change > 0) {
      this.workers.noteGranted(host, change);
      this.recordServed(load, instance, true);
    } else this.removeIfIdle(host, load, instance);
  }

  /** Queues a delivery that has waited since this time (Unix ms). Returns false if it is already queued or in flight. */
  add(delivery: Delivery, urgency: Urgency, since: number): boolean {
    const id = deliveryKeyOf(delivery);
    if (this.entries.has(id)) return false;
    const { instanceId } = delivery.limits;
    const host = hostOf(delivery.limits);
    const load = this.loadAt(host);
    const instance = this.loadOf(instanceId);
    const queuedDelivery: QueuedDelivery = { delivery, urgency, since, isQueued: true };
    this.entries.set(id, { instance, queuedDelivery });
    this.backlog.take(instance.instanceId);
    instance.queue.add(queuedDelivery);
    this.takeTurns(instance);
    const kind = urgency === 'counted' ? 'counted' : 'waiting';
    load[kind]++;
    instance[kind]++;
    if (kind === 'counted') {
      this.slots.take(delivery.limits);
      this.workers.hold(host, load.counted + load.reserved);
    } else load.waitingOf.set(instance, (load.waitingOf.get(instance) ?? 0) + 1);
    return true;
  }

  /** Called when slots of workers have become free. */
  slotsFreed(freedSlots: FreedSlots): void {
    const queue = this.instances.get(freedSlots.instanceId)?.queue;
    if (queue?.wake(freedSlots.workers)) this.workers.contend(freedSlots);
  }

  /**
   * Assigns the free slots and passes each delivery that gets one to `start`. `freshAllowed` returns how many first
   * deliveries of an instance may be among them. An account that was served waits behind the others, including in later calls.
   */
  drain(freshAllowed: (instanceId: string) => number, start: (delivery: Delivery) => void): void {
    const remainingFresh = new Map<string, number>();
    const remainingFreshOf = (instanceId: string): number => {
      const count = remainingFresh.get(instanceId) ?? freshAllowed(instanceId);
      remainingFresh.set(instanceId, count);
      return count;
    };
    this.areSlotsExhausted = false;
    // An account that is moved behind the others comes up again in this same loop.
    for (const instances of this.turns.values()) {
      if (this.inFlightDeliveries.size >= this.limits.maxInFlight) {
        this.areSlotsExhausted = true;
        return;
      }
      for (const instance of instances.values()) {
        const queuedDelivery = this.nextCounted(instance) ?? this.nextInTurn(instance, remainingFreshOf);
        if (!queuedDelivery) continue;
        if (queuedDelivery.urgency === 'fresh')
          remainingFresh.set(instance.instanceId, remainingFreshOf(instance.instanceId) - 1);
        this.startQueued(instance, queuedDelivery);
        start(queuedDelivery.delivery);
        break;
      }
    }
  }

  /** Returns why a delivery waits here; null if it does not or is about to start. */
  noSlotReason(ref: DeliveryRef): NoSlotReason | null {
    const entry = this.entries.get(deliveryKeyOf(ref));
    if (!entry?.queuedDelivery.isQueued) return null;
    const { instance, queuedDelivery } = entry;
    const { limits } = queuedDelivery.delivery;
    const { instanceId, isLong } = limits;
    if (this.planLimitOf(instanceId) <= usedSlots(instance)) return 'plan';
    if (this.slots.free - this.reservedTotal <= 0) return 'slots';
    if (!this.slots.allows(instanceId)) return 'fair-share';
    if (isLong && !this.slots.allowsLong(instanceId)) return 'long-deliveries';
    if (this.isFree(hostOf(limits), instanceId)) return null;
    return limits.workers === undefined ? 'host' : 'workers';
  }

  private nextCounted(instance: InstanceLoad): QueuedDelivery | null {
    if (instance.counted === 0 || instance.inFlight >= this.startLimitOf(instance.instanceId)) return null;
    return instance.queue.takeCounted((host) => this.slots.mayStartCounted(host, this.hosts.get(host)?.inFlight ?? 0));
  }

  /** Returns the next delivery other than a counted start. It cannot take a reserved slot. */
  private nextInTurn(instance: InstanceLoad, remainingFresh: (instanceId: string) => number): QueuedDelivery | null {
    const { instanceId, queue } = instance;
    if (instance.waiting === 0 || this.unreservedOf(instance) <= 0) return null;
    const startFresh = queue.lengthOf('fresh') > 0 && remainingFresh(instanceId) > 0;
    if (!startFresh && queue.lengthOf('continuing') === 0) return null;
    if (this.slots.free - this.reservedTotal <= 0) {
      this.areSlotsExhausted = true;
      return null;
    }
    if (!this.slots.allows(instanceId)) return null;
    const startLong = this.slots.allowsLong(instanceId);
    return queue.takeNext({ startFresh, startLong }, (host) => this.isFree(host, instanceId));
  }

  private startQueued(instance: InstanceLoad, queuedDelivery: QueuedDelivery): void {
    const { delivery } = queuedDelivery;
    const load = this.loadAt(hostOf(delivery.limits));
    const isCounted = queuedDelivery.urgency === 'counted';
    const kind = isCounted ? 'counted' : 'waiting';
    load[kind]--;
    instance[kind]--;
    if (!isCounted) {
      this.removeWaiting(load, instance);
      this.slots.take(delivery.limits);
    }
    this.workers.start(delivery, isCounted);
    this.recordServed(load, instance, isCounted);
    load.inFlight++;
    instance.inFlight++;
    this.inFlightDeliveries.set(deliveryKeyOf(delivery), delivery);
    this.moveBehind(instance);
  }

  /** Adds the instance to those that take turns. */
  private takeTurns(instance: InstanceLoad): void {
    const { accountId, instanceId } = instance;
    const instances = this.turns.get(accountId);
    if (!instances) this.turns.set(accountId, new Map([[instanceId, instance]]));
    else if (!instances.has(instanceId)) instances.set(instanceId, instance);
  }

  /** Moves the instance that was served behind the others of its account, and the account behind other accounts. */
  private moveBehind(instance: InstanceLoad): void {
    const { accountId, instanceId, queue } = instance;
    const instances = this.turns.get(accountId);
    if (!instances) return;
    instances.delete(instanceId);
    if (queue.length > 0) instances.set(instanceId, instance);
    this.turns.delete(accountId);
    if (instances.size > 0) this.turns.set(accountId, instances);
  }

  private isFree(host: string, instanceId: string): boolean {
    const { counted, reserved } = this.hosts.get(host) ?? NO_LOAD;
    return this.slots.freeAt(host, counted) > reserved && this.slots.allowsAt(host, instanceId);
  }

  private removeWaiting(load: HostLoad, instance: InstanceLoad): void {
    const remaining = (load.waitingOf.get(instance) ?? 1) - 1;
    if (remaining > 0) load.waitingOf.set(instance, remaining);
    else load.waitingOf.delete(instance);
  }

  /** Returns how many deliveries lack only a slot, up to `maxCount`. Deliveries of instances at their limit do not count. */
  private waitingForSlot(host: string, load: HostLoad, maxCount: number): number {
    let waitingCount = 0;
    for (const [instance, count] of load.waitingOf) {
      const { instanceId } = instance;
      const allowedByShares = Math.min(this.slots.countFor(instanceId), this.slots.countAt(host, instanceId));
      const allowedCount = Math.min(this.unreservedOf(instance), allowedByShares);
      waitingCount += Math.max(0, Math.min(count, allowedCount));
      if (waitingCount >= maxCount) break;
    }
    return waitingCount;
  }

  private planLimitOf(instanceId: string): number {
    return this.limits.maxInFlightOf?.(instanceId) ?? Number.POSITIVE_INFINITY;
  }

  /** Returns the limit of the plan while deliveries of the instance may start, and otherwise 0. */
  private startLimitOf(instanceId: string): number {
    return (this.limits.mayStart?.(instanceId) ?? true) ? this.planLimitOf(instanceId) : 0;
  }

  /** Returns how many deliveries of the instance may start in addition to counted starts, as far as its plan permits. */
  private unreservedOf(instance: InstanceLoad): number {
    return this.startLimitOf(instance.instanceId) - usedSlots(instance);
  }

  private recordServed(load: HostLoad, instance: InstanceLoad, isCounted: boolean): void {
    load.wasLastCounted = isCounted;
    instance.wasLastCounted = isCounted;
    this.wasLastCounted = isCounted;
  }

  private loadAt(host: string): HostLoad {
    let load = this.hosts.get(host);
    if (!load) {
      load = { ...newLoad(), waitingOf: new Map() };
      this.hosts.set(host, load);
    }
    return load;
  }

  private loadOf(instanceId: string): InstanceLoad {
    let instance = this.instances.get(instanceId);
    if (!instance) {
      const accountId = this.owners.accountOf(instanceId);
      instance = { ...newLoad(), instanceId, accountId, queue: new QueuedDeliveries((host) => this.workers.isFull(host)) };
      this.instances.set(instanceId, instance);
    }
    return instance;
  }

  private removeIfIdle(host: string, load: HostLoad, instance: InstanceLoad): void {
    if (isIdle(load)) this.hosts.delete(host);
    if (isIdle(instance)) this.instances.delete(instance.instanceId);
  }

  /** Removes the deliveries that wait; those in flight remain. */
  clear(): void {
    for (const instance of [...this.instances.values()]) {
      for (const queuedDelivery of instance.queue.takeAll()) {
        const { limits } = queuedDelivery.delivery;
        const load = this.loadAt(hostOf(limits));
        this.entries.delete(deliveryKeyOf(queuedDelivery.delivery));
        this.backlog.give(instance.instanceId);
        const isCounted = queuedDelivery.urgency === 'counted';
        const kind = isCounted ? 'counted' : 'waiting';
        load[kind]--;
        instance[kind]--;
        if (isCounted) {
          this.slots.give(limits);
          this.workers.hold(hostOf(limits), load.counted + load.reserved);
        } else this.removeWaiting(load, instance);
        this.removeIfIdle(hostOf(limits), load, instance);
      }
    }
    this.turns.clear();
  }

  /** Frees the slot of a delivery that is no longer in flight. */
  done(ref: DeliveryRef): void {
    const id = deliveryKeyOf(ref);
    const entry = this.entries.get(id);
    if (!entry || !this.inFlightDeliveries.delete(id)) return;
    const { delivery } = entry.queuedDelivery;
    const { limits } = delivery;
    const load = this.loadAt(hostOf(limits));
    this.entries.delete(id);
    this.backlog.give(entry.instance.instanceId);
    load.inFlight--;
    entry.instance.inFlight--;
    this.slots.give(limits);
    this.workers.end(delivery);
    this.removeIfIdle(hostOf(limits), load, entry.instance);
  }
}
