/**
 * Room at destinations for keys with a rate: a start is granted only when it
 * can be made at once. Keys that found none wait for it, and take turns.
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

/** Rooms of one kind, by name: those at origins, or those of instances. */
class Scopes {
  private readonly scopes = new Map<string, Scope>();
  private readonly roomOf: (name: string) => number;
  /** Those in which somebody waits. */
  private readonly sought = new Set<string>();

  constructor(roomOf: (name: string) => number) {
    this.roomOf = roomOf;
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

export class RoomTurns {
  private readonly places: Places;
  private readonly origins: Scopes;
  private readonly instances: Scopes;
  /** Whose turn it is. */
  private served: RoomSeeker | null = null;

  constructor(places: Places) {
    this.places = places;
    this.origins = new Scopes((origin) => places.room(origin));
    this.instances = new Scopes((instanceId) => places.roomOf(instanceId));
  }

  /** Room for starts that are granted already. */
  room({ instanceId, origin }: Passage): number {
    return Math.min(this.places.free(origin), this.places.freeOf(instanceId));
  }

  /** The same; the seeker waits for it when there is none. */
  seekGranted(passage: Passage, seeker: RoomSeeker): number {
    const { instanceId, origin } = passage;
    const ofInstance = this.places.freeOf(instanceId);
    const room = Math.min(ofInstance, this.places.free(origin));
    if (room <= 0) this.await(passage, seeker, ofInstance <= 0);
    return room;
  }

  /** Room for starts that are still to be granted: none while others have waited longer for it. The seeker waits then. */
  seek(passage: Passage, seeker: RoomSeeker): number {
    const { instanceId, origin } = passage;
    const ofInstance = this.seekOf(instanceId, seeker);
    const room = Math.min(ofInstance, this.origins.inTurn(origin, seeker, this.served === seeker));
    if (room <= 0) this.await(passage, seeker, ofInstance <= 0);
    return room;
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
    this.instances.serve((seeker) => this.serve(seeker));
    this.origins.serve((seeker) => this.serve(seeker));
  }

  private serve(seeker: RoomSeeker): void {
    const before = this.served;
    this.served = seeker;
    seeker.pump();
    this.served = before;
  }

  /** Whose instance has no room does not stand in the way of others at the origin. */
  private await({ instanceId, origin }: Passage, seeker: RoomSeeker, ofInstance: boolean): void {
    if (ofInstance) this.instances.await(instanceId, seeker);
    else this.origins.await(origin, seeker);
  }

  private count({ instanceId, origin }: Passage, change: number): void {
    this.origins.keep(origin, change);
    this.instances.keep(instanceId, change);
    this.places.promise(origin, instanceId, change);
  }
}
