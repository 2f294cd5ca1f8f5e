/**
 * Room for keys with a rate: a start is granted only when it can be made at once. Keys that found none wait for it, and take
 * turns.
 */
import type { Passage } from './passage.js';
import type { Delivery } from './wait-list.js';

/** Where deliveries start, and how many at once. */
export interface Places {
  /** Places at this origin that are free, whoever waits for them. */
  free(origin: string): number;
  /** Of those, how many may be promised to starts that a rate counts: not all while others wait for a place. */
  room(origin: string): number;
  /** The same two of what an instance may have in flight at all origins; infinite when it has no limit. */
  freeOf(instanceId: string): number;
  roomOf(instanceId: string): number;
  /** How many more long deliveries the instance may start. */
  freeLong(instanceId: string): number;
  /** What its fair share of this origin leaves to the instance; infinite where it shares with nobody. */
  freeShare(origin: string, instanceId: string): number;
  /** So many more (fewer, when negative) are promised to the instance; nothing else takes them. */
  promise(origin: string, instanceId: string, change: number): void;
}

/** A key that waits for room. */
export interface RoomSeeker {
  /** Takes what it may. */
  pump(): void;
}

/** Seekers that wait for the same room, and what of it is kept for starts that are being granted. */
interface Scope {
  /** Who waits longest is first. */
  readonly seekers: Set<RoomSeeker>;
  kept: number;
}

/** Room of one kind, by name: at an origin, for instance. */
interface Kind {
  /** Null: nothing of this kind limits the delivery. */
  readonly nameOf: (passage: Passage) => string | null;
  /** Whoever waits for it. */
  readonly free: (name: string) => number;
  /** Of that, what may be granted while others wait for it. */
  readonly room: (name: string) => number;
}

class Scopes {
  readonly nameOf: Kind['nameOf'];
  readonly freeOf: Kind['free'];
  private readonly scopes = new Map<string, Scope>();
  private readonly roomOf: Kind['room'];
  /** Those in which somebody waits. */
  private readonly sought = new Set<string>();

  constructor({ nameOf, free, room }: Kind) {
    this.nameOf = nameOf;
    this.freeOf = free;
    this.roomOf = room;
  }

  /** None while others than `seeker` wait, unless it is served now. */
  inTurn(name: string, seeker: RoomSeeker, served: boolean): number {
    const seekers = this.scopes.get(name)?.seekers;
    const others = seekers ? seekers.size - (seekers.has(seeker) ? 1 : 0) : 0;
    return others > 0 && !served ? 0 : this.free(name);
  }

  await(name: string, seeker: RoomSeeker): void {
    this.scopeOf(name).seekers.add(seeker);
    this.sought.add(name);
  }

  keep(name: string, change: number): void {
    const scope = this.scopeOf(name);
    scope.kept += change;
    this.letGo(name, scope);
  }

  /** Serves those that wait, where there is room. */
  serve(turn: (seeker: RoomSeeker) => void): void {
    if (this.sought.size === 0) return;
    for (const name of [...this.sought]) {
      const scope = this.scopeOf(name);
      const { seekers } = scope;
      // One that needs still more room joins at the end.
      for (let turns = seekers.size; turns > 0 && this.free(name) > 0; turns--) {
        const [seeker] = seekers;
        if (!seeker) break;
        seekers.delete(seeker);
        turn(seeker);
      }
      this.letGo(name, scope);
    }
  }

  private free(name: string): number {
    return this.roomOf(name) - (this.scopes.get(name)?.kept ?? 0);
  }

  private scopeOf(name: string): Scope {
    let scope = this.scopes.get(name);
    if (!scope) {
      scope = { seekers: new Set(), kept: 0 };
      this.scopes.set(name, scope);
    }
    return scope;
  }

  private letGo(name: string, scope: Scope): void {
    if (scope.seekers.size > 0 || this.scopes.get(name) !== scope) return;
    this.sought.delete(name);
    if (scope.kept === 0) this.scopes.delete(name);
  }
}

/** Neither an instance nor an origin has one in its name. */
const SEPARATOR = ' ';

export class RoomTurns {
  private readonly places: Places;
  private readonly instances: Scopes;
  /**
   * A seeker waits in the first of these that has no room for it, so that an instance without room does not stand in the way
   * of others at the origin.
   */
  private readonly kinds: readonly Scopes[];
  /** Whose turn it is. */
  private served: RoomSeeker | null = null;

  constructor(places: Places) {
    this.places = places;
    const freeLong = (instanceId: string) => places.freeLong(instanceId);
    const freeShare = (name: string) => {
      const [instanceId = '', origin = ''] = name.split(SEPARATOR);
      return places.freeShare(origin, instanceId);
    };
    this.instances = new Scopes({
      nameOf: ({ instanceId }) => instanceId,
      free: (instanceId) => places.freeOf(instanceId),
      room: (instanceId) => places.roomOf(instanceId),
    });
    this.kinds = [
      this.instances,
      new Scopes({ nameOf: ({ instanceId, isLong }) => (isLong ? instanceId : null), free: freeLong, room: freeLong }),
      new Scopes({ nameOf: ({ instanceId, origin }) => instanceId + SEPARATOR + origin, free: freeShare, room: freeShare }),
      new Scopes({
        nameOf: ({ origin }) => origin,
        free: (origin) => places.free(origin),
        room: (origin) => places.room(origin),
      }),
    ];
  }

  /** Room for starts that are granted already. */
  room(passage: Passage): number {
    return this.least(passage, (kind, name) => kind.freeOf(name));
  }

  /** The same; the seeker waits for it when there is none. */
  seekGranted(passage: Passage, seeker: RoomSeeker): number {
    return this.least(passage, (kind, name) => kind.freeOf(name), seeker);
  }

  /** Room for starts that are still to be granted: none while others have waited longer for it. The seeker waits then. */
  seek(passage: Passage, seeker: RoomSeeker): number {
    return this.least(passage, (kind, name) => kind.inTurn(name, seeker, this.served === seeker), seeker);
  }

  /** At all origins together. */
  seekOf(instanceId: string, seeker: RoomSeeker): number {
    return this.instances.inTurn(instanceId, seeker, this.served === seeker);
  }

  /** Keeps the room of these from others, until what it returns is called: with what takes the room first then. */
  keep(deliveries: readonly Delivery[]): (take: () => void) => void {
    for (const { passage } of deliveries) this.count(passage, 1);
    return (take) => {
      for (const { passage } of deliveries) this.count(passage, -1);
      take();
      this.freed();
    };
  }

  /** Somewhere there may be room again. */
  freed(): void {
    for (const kind of this.kinds) kind.serve((seeker) => this.serve(seeker));
  }

  private serve(seeker: RoomSeeker): void {
    const before = this.served;
    this.served = seeker;
    seeker.pump();
    this.served = before;
  }

  private least(passage: Passage, roomIn: (kind: Scopes, name: string) => number, seeker?: RoomSeeker): number {
    let least = Number.POSITIVE_INFINITY;
    for (const kind of this.kinds) {
      const name = kind.nameOf(passage);
      if (name === null) continue;
      least = Math.min(least, roomIn(kind, name));
      if (least > 0) continue;
      if (seeker) kind.await(name, seeker);
      return least;
    }
    return least;
  }

  private count(passage: Passage, change: number): void {
    for (const kind of this.kinds) {
      const name = kind.nameOf(passage);
      if (name !== null) kind.keep(name, change);
    }
    this.places.promise(passage.origin, passage.instanceId, change);
  }
}
