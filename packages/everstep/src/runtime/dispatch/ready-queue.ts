/**
 * Deliveries that are due and wait for a slot. Accounts take turns, then the queue instances of an account, then the hosts
 * that an instance calls: an instance with many hosts gets no more than one with a single host.
 *
 * No account and no instance takes more than its fair share of the slots, of the connections to one host and of the slots
 * for long deliveries (`fairness/fair-share.ts`), so some of each stay free for others whatever an account does. An instance
 * that has as many in flight as it may is passed over.
 *
 * Of one instance what has begun is finished first (three in four slots), so that a burst of new runs does not make every
 * run slow. Starts that a rate counts are made at once, or they would be made in another window: slots are promised to them
 * before they come. Of the slots for which others wait they get every second one at most, so that neither starves the other.
 */
import { FairShare } from '../../fairness/fair-share.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { TaskReference } from '../../ports/stores/store.js';
import type { QueuedBecause } from '../services/workflow-service.js';
import { type Queued, QueuedDeliveries, type Ready, type Urgency } from './queued-deliveries.js';
import { type SlotLimits, SlotShares } from './slot-shares.js';

export type { Ready, Urgency } from './queued-deliveries.js';

/** While so many deliveries are queued or in flight, further due ones stay in the store. */
const BACKLOG_MAX = 20_000;

type Named = Pick<TaskReference, 'runKey' | 'slot'>;

/** What slots are counted for: an instance, or a host. */
interface Load {
  inFlight: number;
  /** Counted starts that are queued. */
  counted: number;
  /** Others that are queued. */
  waiting: number;
  /** Slots that are kept for counted starts to come. */
  promised: number;
  /** The last slot went, or was promised, to a counted start. */
  lastCounted: boolean;
}

interface InstanceLoad extends Load {
  readonly instanceId: string;
  readonly accountId: string;
  readonly queued: QueuedDeliveries;
}

interface HostLoad extends Load {
  /** How many wait for it, without those that are counted. */
  readonly waitingOf: Map<InstanceLoad, number>;
}

interface Known {
  readonly instance: InstanceLoad;
  readonly queued: Queued;
}

const idOf = ({ runKey, slot }: Named): string => `${runKey}/${slot}`;

/** Of free slots for which others wait, those for counted starts: every second one, and a single one by turns. */
const inTurn = (free: number, lastCounted: boolean): number =>
  Math.min(free, Math.max(Math.floor(free / 2), lastCounted ? 0 : 1));

const isIdle = ({ inFlight, counted, waiting, promised }: Load): boolean => inFlight + counted + waiting + promised === 0;

const noLoad = (): Load => ({ inFlight: 0, counted: 0, waiting: 0, promised: 0, lastCounted: false });

export interface ReadyQueueLimits extends SlotLimits {
  /** Of one instance, at all hosts; null: no limit of its own. It may change at any time. */
  readonly maxInFlightOf?: (instanceId: string) => number | null;
  /** Who shares the slots; absent: everything belongs to one instance. */
  readonly owners?: InstanceOwners;
}

export class ReadyQueue {
  private readonly limits: ReadyQueueLimits;
  private readonly owners: InstanceOwners;
  private readonly hosts = new Map<string, HostLoad>();
  private readonly instances = new Map<string, InstanceLoad>();
  /** Instances with something queued, by account; whose turn it is comes first. */
  private readonly turns = new Map<string, Map<string, InstanceLoad>>();
  private readonly known = new Map<string, Known>();
  private readonly flying = new Map<string, Ready>();
  /** Taken by deliveries in flight, and by counted starts that are queued. */
  private readonly slots: SlotShares;
  /** What is queued or in flight, also what did not come from the store and so was not asked whether it has room. */
  private readonly backlog: FairShare;
  private promisedTotal = 0;
  /** Some that could start at their host wait because all slots are taken. */
  private full = false;
  private lastCounted = false;

  constructor(limits: ReadyQueueLimits) {
    this.limits = limits;
    this.owners = limits.owners ?? ONE_OWNER;
    this.slots = new SlotShares(limits, this.owners);
    this.backlog = new FairShare(BACKLOG_MAX, this.owners);
  }

  get inFlight(): number {
    return this.flying.size;
  }
  get flights(): readonly Ready[] {
    return [...this.flying.values()];
  }
  /** Of one instance. */
  inFlightOf(instanceId: string): number {
    return this.instances.get(instanceId)?.inFlight ?? 0;
  }
  /** The most that one instance may have in flight, by its plan and its share. */
  mostInFlightOf(instanceId: string): number {
    return Math.min(this.planOf(instanceId), this.slots.ceilingOf(instanceId));
  }
  /** Deliveries queued or in flight. */
  get size(): number {
    return this.known.size;
  }

  /** Of one instance, queued or in flight. */
  countOf(instanceId: string): number {
    return this.backlog.takenBy(instanceId);
  }
  /** Whether further due deliveries of the instance may be added. As many as there are slots always may. */
  hasRoom(instanceId: string): boolean {
    return this.countOf(instanceId) < this.limits.maxInFlight || this.backlog.allows(instanceId);
  }

  has(task: Named): boolean {
    return this.known.has(idOf(task));
  }
  isInFlight(task: Named): boolean {
    return this.flying.has(idOf(task));
  }

  /** First deliveries of the instance that wait: how many, and since when the first of them does (Unix ms). */
  freshOf(instanceId: string): { readonly count: number; readonly oldestSince: number } {
    const queued = this.instances.get(instanceId)?.queued;
    return {
      count: queued?.lengthOf('fresh') ?? 0,
      get oldestSince() {
        return queued?.oldestFreshSince ?? Number.POSITIVE_INFINITY;
      },
    };
  }

  /** Free slots for this host, whoever waits for them. */
  free(host: string): number {
    const load = this.hosts.get(host);
    const promisedElsewhere = this.promisedTotal - (load?.promised ?? 0);
    return Math.max(0, Math.min(this.slots.freeAt(host), this.slots.free - promisedElsewhere));
  }

  /** How many of the free slots may be promised to counted starts; those that are promised already are among them. */
  room(host: string): number {
    const load = this.hosts.get(host);
    const free = this.free(host);
    const waiting = load ? this.waitingForSlot(host, load, free) : 0;
    if (!this.full && waiting === 0) return free;
    const turn = this.full ? this.lastCounted : (load?.lastCounted ?? false);
    const shared = inTurn(free, turn);
    return this.full ? shared : Math.max(free - waiting, shared);
  }

  /** Like `free`, of what the instance may have in flight; infinite when it has no limit. */
  freeOf(instanceId: string): number {
    const instance = this.instances.get(instanceId);
    const ofPlan = this.planOf(instanceId) - (instance ? instance.inFlight + instance.counted : 0);
    return Math.max(0, Math.min(ofPlan, this.slots.countFor(instanceId)));
  }

  /** Like `room`, of what the instance may have in flight; infinite when it has no limit. */
  roomOf(instanceId: string): number {
    const free = this.freeOf(instanceId);
    const instance = this.instances.get(instanceId);
    if (free === Number.POSITIVE_INFINITY || !instance || instance.waiting === 0) return free;
    return Math.max(free - instance.waiting, inTurn(free, instance.lastCounted));
  }

  freeLong(instanceId: string): number {
    return this.slots.freeLong(instanceId);
  }
  /** How many more the share of the instance at this host allows; infinite where it shares with nobody. */
  freeShare(host: string, instanceId: string): number {
    return this.slots.countAt(host, instanceId);
  }

  /** So many more slots are kept for counted starts of this instance to this host; fewer, when it is negative. */
  promise(host: string, instanceId: string, change: number): void {
    const load = this.hostOf(host);
    const instance = this.loadOf(instanceId);
    load.promised += change;
    instance.promised += change;
    this.promisedTotal += change;
    if (change > 0) this.served(load, instance, true);
    else this.letGo(host, load, instance);
  }

  /** False when the delivery is queued or in flight already. `since`: Unix ms at which it began to wait. */
  add(host: string, task: Ready, urgency: Urgency, since: number): boolean {
    const id = idOf(task);
    if (this.known.has(id)) return false;
    const load = this.hostOf(host);
    const instance = this.loadOf(task.passage.instanceId);
    const queued: Queued = { task, host, urgency, since, isQueued: true };
    this.known.set(id, { instance, queued });
    this.backlog.take(instance.instanceId);
    instance.queued.add(queued);
    this.takeTurns(instance);
    const kind = urgency === 'counted' ? 'counted' : 'waiting';
    load[kind]++;
    instance[kind]++;
    if (kind === 'counted') this.slots.take(host, task.passage);
    else load.waitingOf.set(instance, (load.waitingOf.get(instance) ?? 0) + 1);
    return true;
  }

  /**
   * Takes deliveries that have a slot, and hands each to `start`. `freshAllowed` says how many first deliveries of an
   * instance may be among them. Who was served goes behind the others, also from one call to the next.
   */
  drain(freshAllowed: (instanceId: string) => number, start: (host: string, task: Ready) => void): void {
    const freshLeft = new Map<string, number>();
    const left = (instanceId: string): number => {
      const count = freshLeft.get(instanceId) ?? freshAllowed(instanceId);
      freshLeft.set(instanceId, count);
      return count;
    };
    this.full = false;
    // An account that is put behind the others comes up again in this very loop.
    for (const instances of this.turns.values()) {
      if (this.flying.size >= this.limits.maxInFlight) {
        this.full = true;
        return;
      }
      for (const instance of instances.values()) {
        const queued = this.nextCounted(instance) ?? this.nextInTurn(instance, left);
        if (!queued) continue;
        if (queued.urgency === 'fresh') freshLeft.set(instance.instanceId, left(instance.instanceId) - 1);
        this.startOne(instance, queued);
        start(queued.host, queued.task);
        break;
      }
    }
  }

  /** Why a delivery waits here; null when it does not, or is about to start. */
  queuedBecause(task: Named): QueuedBecause | null {
    const known = this.known.get(idOf(task));
    if (!known?.queued.isQueued) return null;
    const { instance, queued } = known;
    const { instanceId } = instance;
    if (this.unpromisedOf(instance) <= 0) return 'plan';
    if (this.slots.free - this.promisedTotal <= 0) return 'slots';
    if (!this.slots.allows(instanceId)) return 'fair-share';
    if (queued.task.passage.isLong && !this.slots.allowsLong(instanceId)) return 'long-deliveries';
    return this.isFree(queued.host, instanceId) ? null : 'host';
  }

  private nextCounted(instance: InstanceLoad): Queued | null {
    if (instance.counted === 0 || instance.inFlight >= this.planOf(instance.instanceId)) return null;
    const { maxInFlightPerHost } = this.limits;
    return instance.queued.takeCounted((host) => (this.hosts.get(host)?.inFlight ?? 0) < maxInFlightPerHost);
  }

  /** Of those that wait for a slot; a promised one is none for them. */
  private nextInTurn(instance: InstanceLoad, freshLeft: (instanceId: string) => number): Queued | null {
    const { instanceId, queued } = instance;
    if (instance.waiting === 0 || this.unpromisedOf(instance) <= 0) return null;
    const startFresh = queued.lengthOf('fresh') > 0 && freshLeft(instanceId) > 0;
    if (!startFresh && queued.lengthOf('begun') === 0) return null;
    if (this.slots.free - this.promisedTotal <= 0) {
      this.full = true;
      return null;
    }
    if (!this.slots.allows(instanceId)) return null;
    const startLong = this.slots.allowsLong(instanceId);
    return queued.takeNext({ startFresh, startLong }, (host) => this.isFree(host, instanceId));
  }

  private startOne(instance: InstanceLoad, queued: Queued): void {
    const load = this.hostOf(queued.host);
    const counted = queued.urgency === 'counted';
    const kind = counted ? 'counted' : 'waiting';
    load[kind]--;
    instance[kind]--;
    if (!counted) {
      this.noLongerWaits(load, instance);
      this.slots.take(queued.host, queued.task.passage);
    }
    this.served(load, instance, counted);
    load.inFlight++;
    instance.inFlight++;
    this.flying.set(idOf(queued.task), queued.task);
    this.goBehind(instance);
  }

  /** It is its turn some time. */
  private takeTurns(instance: InstanceLoad): void {
    const { accountId, instanceId } = instance;
    const instances = this.turns.get(accountId);
    if (!instances) this.turns.set(accountId, new Map([[instanceId, instance]]));
    else if (!instances.has(instanceId)) instances.set(instanceId, instance);
  }

  /** It was served: the instance goes behind the others of its account, and that behind other accounts. */
  private goBehind(instance: InstanceLoad): void {
    const { accountId, instanceId, queued } = instance;
    const instances = this.turns.get(accountId);
    if (!instances) return;
    instances.delete(instanceId);
    if (queued.length > 0) instances.set(instanceId, instance);
    this.turns.delete(accountId);
    if (instances.size > 0) this.turns.set(accountId, instances);
  }

  private isFree(host: string, instanceId: string): boolean {
    const promised = this.hosts.get(host)?.promised ?? 0;
    return this.slots.freeAt(host) > promised && this.slots.allowsAt(host, instanceId);
  }

  private noLongerWaits(load: HostLoad, instance: InstanceLoad): void {
    const left = (load.waitingOf.get(instance) ?? 1) - 1;
    if (left > 0) load.waitingOf.set(instance, left);
    else load.waitingOf.delete(instance);
  }

  /** How many wait that only lack a slot, counted up to `enough`: not those whose instance has as many as it may. */
  private waitingForSlot(host: string, load: HostLoad, enough: number): number {
    let waiting = 0;
    for (const [instance, count] of load.waitingOf) {
      const { instanceId } = instance;
      const ofShares = Math.min(this.slots.countFor(instanceId), this.slots.countAt(host, instanceId));
      const allowed = Math.min(this.unpromisedOf(instance), ofShares);
      waiting += Math.max(0, Math.min(count, allowed));
      if (waiting >= enough) break;
    }
    return waiting;
  }

  private planOf(instanceId: string): number {
    return this.limits.maxInFlightOf?.(instanceId) ?? Number.POSITIVE_INFINITY;
  }

  /** What the plan lets the instance start besides counted starts. */
  private unpromisedOf({ instanceId, inFlight, counted, promised }: InstanceLoad): number {
    return this.planOf(instanceId) - inFlight - counted - promised;
  }

  private served(load: HostLoad, instance: InstanceLoad, counted: boolean): void {
    load.lastCounted = counted;
    instance.lastCounted = counted;
    this.lastCounted = counted;
  }

  private hostOf(host: string): HostLoad {
    let load = this.hosts.get(host);
    if (!load) {
      load = { ...noLoad(), waitingOf: new Map() };
      this.hosts.set(host, load);
    }
    return load;
  }

  private loadOf(instanceId: string): InstanceLoad {
    let instance = this.instances.get(instanceId);
    if (!instance) {
      const accountId = this.owners.accountOf(instanceId);
      instance = { ...noLoad(), instanceId, accountId, queued: new QueuedDeliveries() };
      this.instances.set(instanceId, instance);
    }
    return instance;
  }

  /** A host, or an instance, at which nothing goes on is not kept. */
  private letGo(host: string, load: HostLoad, instance: InstanceLoad): void {
    if (isIdle(load)) this.hosts.delete(host);
    if (isIdle(instance)) this.instances.delete(instance.instanceId);
  }

  /** Forgets what waits; what is in flight stays. */
  clear(): void {
    for (const instance of [...this.instances.values()]) {
      for (const queued of instance.queued.takeAll()) {
        const load = this.hostOf(queued.host);
        this.known.delete(idOf(queued.task));
        this.backlog.give(instance.instanceId);
        const counted = queued.urgency === 'counted';
        const kind = counted ? 'counted' : 'waiting';
        load[kind]--;
        instance[kind]--;
        if (counted) this.slots.give(queued.host, queued.task.passage);
        else this.noLongerWaits(load, instance);
        this.letGo(queued.host, load, instance);
      }
    }
    this.turns.clear();
  }

  /** The delivery is no longer in flight. */
  done(host: string, task: Named): void {
    const id = idOf(task);
    const known = this.known.get(id);
    const load = this.hosts.get(host);
    if (!known || !load || !this.flying.delete(id)) return;
    this.known.delete(id);
    this.backlog.give(known.instance.instanceId);
    load.inFlight--;
    known.instance.inFlight--;
    this.slots.give(host, known.queued.task.passage);
    this.letGo(host, load, known.instance);
  }
}
