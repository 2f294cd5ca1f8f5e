/**
 * Assigns free slots to the flow control keys that have a rate. A start is granted only when it can be made immediately. Keys
 * that find no free slot wait for one and take turns.
 */
import { NameTurns } from '../../fairness/name-turns.js';
import { isWorkersName } from '../../ports/workers.js';
import { type DeliveryLimits, hostOf } from './delivery.js';
import type { GatedDelivery } from './wait-list.js';

/** The free slots for deliveries, as the gates see them. */
export interface FreeSlots {
  /** Returns the free slots at this origin, including those for which others wait. */
  free(origin: string): number;
  /** Returns how many of them may be reserved for starts that a rate counts: not all of them while others wait for a slot. */
  reservable(origin: string): number;
  /** Like `free` and `reservable`, for one instance at all origins. Infinite if the instance has no limit. */
  freeOf(instanceId: string): number;
  reservableOf(instanceId: string): number;
  /** Returns how many more long deliveries the instance may start. */
  freeLong(instanceId: string): number;
  /** Returns how many more slots the instance's fair share of this origin allows. Infinite if no other instance shares it. */
  freeShare(origin: string, instanceId: string): number;
  /** Reserves this many more slots for the instance; fewer if negative. No other delivery takes them. */
  reserve(origin: string, instanceId: string, change: number): void;
  /** Returns whether the origin has no slot at all until `takeFreedOrigins` returns it. */
  isFull(origin: string): boolean;
  /** Returns the origins that may have been full and have a free slot since the last call. */
  takeFreedOrigins(): readonly ReadonlySet<string>[];
}

/** A key that waits for a slot. */
export interface SlotSeeker {
  /** Lets all deliveries pass that may pass now. */
  pump(): void;
}

/** Seekers that wait for the same slots, and how many of these slots are kept for starts that are being granted. */
interface Scope {
  /** The seeker that has waited longest is first. */
  readonly seekers: Set<SlotSeeker>;
  keptSlots: number;
}

/** Slots of one kind, by name, for example those at an origin. */
interface SlotKind {
  /** Returns the name of the slots that the delivery needs; null if no limit of this kind applies to it. */
  readonly nameOf: (limits: DeliveryLimits) => string | null;
  /** Returns the free slots, including those for which others wait. */
  readonly free: (name: string) => number;
  /** Returns how many of them may be granted while others wait. */
  readonly reservable: (name: string) => number;
  /** Returns whether there is no slot until `wake` is called. If absent, the free slots are checked each time. */
  readonly isFull?: (name: string) => boolean;
}

/** The scopes of one kind of slots, by name. */
class Scopes {
  readonly nameOf: SlotKind['nameOf'];
  readonly freeOf: SlotKind['free'];
  private readonly scopes = new Map<string, Scope>();
  private readonly reservableOf: SlotKind['reservable'];
  private readonly isFull: (name: string) => boolean;
  /** Names of the scopes with waiting seekers. */
  private readonly soughtNames = new NameTurns();
  /** Names of workers that have been woken and have waited since then. They may share slots with others. */
  private readonly wokenNames = new Set<string>();

  constructor({ nameOf, free, reservable, isFull = () => false }: SlotKind) {
    this.nameOf = nameOf;
    this.freeOf = free;
    this.reservableOf = reservable;
    this.isFull = isFull;
  }

  /** Returns the free slots, or 0 while seekers other than `seeker` wait, unless `seeker` is being served. */
  freeInTurn(name: string, seeker: SlotSeeker, isServed: boolean): number {
    const seekers = this.scopes.get(name)?.seekers;
    const otherCount = seekers ? seekers.size - (seekers.has(seeker) ? 1 : 0) : 0;
    const otherNamesCount = isWorkersName(name) ? this.wokenNames.size - (this.wokenNames.has(name) ? 1 : 0) : 0;
    return otherCount + otherNamesCount > 0 && !isServed ? 0 : this.free(name);
  }

  addSeeker(name: string, seeker: SlotSeeker): void {
    this.scopeOf(name).seekers.add(seeker);
    this.soughtNames.add(name);
  }

  keep(name: string, change: number): void {
    const scope = this.scopeOf(name);
    scope.keptSlots += change;
    this.removeIfUnused(name, scope);
  }

  /** Called when names may have free slots that had none. */
  wake(freedNames: readonly ReadonlySet<string>[]): void {
    for (const names of freedNames) for (const name of this.soughtNames.wake(names)) this.wokenNames.add(name);
  }

  /** Serves the waiting seekers while slots are free. Names that share slots take turns. */
  serve(serveSeeker: (seeker: SlotSeeker) => void): void {
    if (this.soughtNames.size === 0) return;
    for (const name of [...this.soughtNames.names()]) {
      const scope = this.scopeOf(name);
      const { seekers } = scope;
      // A seeker that needs more slots joins at the end.
      for (let turns = seekers.size; turns > 0 && this.free(name) > 0; turns--) {
        const [seeker] = seekers;
        if (!seeker) break;
        seekers.delete(seeker);
        this.soughtNames.moveBehind(name);
        this.wokenNames.delete(name);
        serveSeeker(seeker);
      }
      if (this.isFull(name)) {
        this.soughtNames.park(name);
        this.wokenNames.delete(name);
      }
      this.removeIfUnused(name, scope);
    }
  }

  private free(name: string): number {
    return this.reservableOf(name) - (this.scopes.get(name)?.keptSlots ?? 0);
  }

  private scopeOf(name: string): Scope {
    let scope = this.scopes.get(name);
    if (!scope) {
      scope = { seekers: new Set(), keptSlots: 0 };
      this.scopes.set(name, scope);
    }
    return scope;
  }

  private removeIfUnused(name: string, scope: Scope): void {
    if (scope.seekers.size > 0 || this.scopes.get(name) !== scope) return;
    this.soughtNames.delete(name);
    this.wokenNames.delete(name);
    if (scope.keptSlots === 0) this.scopes.delete(name);
  }
}

/** Separates the instance id, which contains no space, from the host, which can contain one. */
const SEPARATOR = ' ';

export class SlotAllocator {
  private readonly slots: FreeSlots;
  private readonly instances: Scopes;
  private readonly origins: Scopes;
  /**
   * A seeker waits in the first of these that has no free slot for it. An instance without free slots therefore does not block
   * others at the origin.
   */
  private readonly kinds: readonly Scopes[];
  /** The seeker that is being served. */
  private servedSeeker: SlotSeeker | null = null;

  constructor(slots: FreeSlots) {
    this.slots = slots;
    const freeLong = (instanceId: string) => slots.freeLong(instanceId);
    const freeShare = (name: string) => {
      const end = name.indexOf(SEPARATOR);
      return slots.freeShare(name.slice(end + 1), name.slice(0, end));
    };
    this.instances = new Scopes({
      nameOf: ({ instanceId }) => instanceId,
      free: (instanceId) => slots.freeOf(instanceId),
      reservable: (instanceId) => slots.reservableOf(instanceId),
    });
    this.origins = new Scopes({
      nameOf: hostOf,
      free: (origin) => slots.free(origin),
      reservable: (origin) => slots.reservable(origin),
      isFull: (origin) => slots.isFull(origin),
    });
    this.kinds = [
      this.instances,
      new Scopes({ nameOf: ({ instanceId, isLong }) => (isLong ? instanceId : null), free: freeLong, reservable: freeLong }),
      new Scopes({
        nameOf: (limits) => limits.instanceId + SEPARATOR + hostOf(limits),
        free: freeShare,
        reservable: freeShare,
      }),
      this.origins,
    ];
  }

  /** Returns the free slots for starts that are already granted. */
  free(limits: DeliveryLimits): number {
    return this.minFree(limits, (kind, name) => kind.freeOf(name));
  }

  /** Returns the free slots for starts that are already granted. If there are none, the seeker waits for one. */
  seekGranted(limits: DeliveryLimits, seeker: SlotSeeker): number {
    return this.minFree(limits, (kind, name) => kind.freeOf(name), seeker);
  }

  /** Returns the free slots for starts to grant: none while others have waited longer. If there are none, the seeker waits. */
  seek(limits: DeliveryLimits, seeker: SlotSeeker): number {
    this.origins.wake(this.slots.takeFreedOrigins());
    return this.minFree(limits, (kind, name) => kind.freeInTurn(name, seeker, this.servedSeeker === seeker), seeker);
  }

  /** Returns the free slots of the instance for starts to grant, at all origins together. */
  seekOf(instanceId: string, seeker: SlotSeeker): number {
    return this.instances.freeInTurn(instanceId, seeker, this.servedSeeker === seeker);
  }

  /** Keeps a slot for each delivery. The returned function releases them; `useSlots` may use them before waiting seekers. */
  keep(deliveries: readonly GatedDelivery[]): (useSlots: () => void) => void {
    for (const { limits } of deliveries) this.changeKept(limits, 1);
    return (useSlots) => {
      for (const { limits } of deliveries) this.changeKept(limits, -1);
      useSlots();
      this.onSlotsFreed();
    };
  }

  /** Called when slots may have become free. */
  onSlotsFreed(): void {
    this.origins.wake(this.slots.takeFreedOrigins());
    for (const kind of this.kinds) kind.serve((seeker) => this.serve(seeker));
  }

  private serve(seeker: SlotSeeker): void {
    const previous = this.servedSeeker;
    this.servedSeeker = seeker;
    seeker.pump();
    this.servedSeeker = previous;
  }

  /** Returns the free slots of the kind that has the fewest. If there are none, the seeker waits for one of that kind. */
  private minFree(limits: DeliveryLimits, freeIn: (kind: Scopes, name: string) => number, seeker?: SlotSeeker): number {
    let minFree = Number.POSITIVE_INFINITY;
    for (const kind of this.kinds) {
      const name = kind.nameOf(limits);
      if (name === null) continue;
      minFree = Math.min(minFree, freeIn(kind, name));
      if (minFree > 0) continue;
      if (seeker) kind.addSeeker(name, seeker);
      return minFree;
    }
    return minFree;
  }

  private changeKept(limits: DeliveryLimits, change: number): void {
    for (const kind of this.kinds) {
      const name = kind.nameOf(limits);
      if (name !== null) kind.keep(name, change);
    }
    this.slots.reserve(hostOf(limits), limits.instanceId, change);
  }
}
