/**
 * Room at destinations for keys with a rate: a start is granted only when it
 * can be made at once. Keys that found none wait for it, and take turns.
 */
import type { Delivery } from './wait-list.js';

/** Where deliveries start, and how many at once. */
export interface Places {
  /** Places at this origin that are free, whoever waits for them. */
  free(origin: string): number;
  /** Of those, how many may be promised to starts that a rate counts: not all while others wait for a place. */
  room(origin: string): number;
  /** So many more (fewer, when negative) are promised; nothing else takes them. */
  promise(origin: string, change: number): void;
}

/** A key that waits for room. */
export interface RoomSeeker {
  /** Takes what it may. */
  pump(): void;
}

export class RoomTurns {
  private readonly places: Places;
  /** By origin; who waits longest is first. */
  private readonly seekers = new Map<string, Set<RoomSeeker>>();
  /** Room for starts that are being granted, by origin. */
  private readonly kept = new Map<string, number>();
  /** Whose turn it is. */
  private served: RoomSeeker | null = null;

  constructor(places: Places) {
    this.places = places;
  }

  /** Room for starts that are granted already. */
  room(origin: string): number {
    return this.places.free(origin);
  }

  /** Room for starts that are still to be granted: none while others have waited longer for it. */
  roomInTurn(origin: string, seeker: RoomSeeker): number {
    const seekers = this.seekers.get(origin);
    const others = seekers ? seekers.size - (seekers.has(seeker) ? 1 : 0) : 0;
    return others > 0 && this.served !== seeker ? 0 : this.free(origin);
  }

  await(origin: string, seeker: RoomSeeker): void {
    const seekers = this.seekers.get(origin);
    if (seekers) seekers.add(seeker);
    else this.seekers.set(origin, new Set([seeker]));
  }

  /** Keeps the room of these from others, until what it returns is called: with what takes the room first then. */
  keep(deliveries: readonly Delivery[]): (take: () => void) => void {
    for (const { passage } of deliveries) this.count(passage.origin, 1);
    return (take) => {
      for (const { passage } of deliveries) this.count(passage.origin, -1);
      take();
      this.freed();
    };
  }

  /** Somewhere there may be room again. */
  freed(): void {
    if (this.seekers.size === 0) return;
    for (const [origin, seekers] of [...this.seekers]) {
      // One that needs still more room joins at the end.
      for (let turns = seekers.size; turns > 0 && this.free(origin) > 0; turns--) {
        const [seeker] = seekers;
        if (!seeker) break;
        seekers.delete(seeker);
        const before = this.served;
        this.served = seeker;
        seeker.pump();
        this.served = before;
      }
      if (seekers.size === 0 && this.seekers.get(origin) === seekers) this.seekers.delete(origin);
    }
  }

  private free(origin: string): number {
    return this.places.room(origin) - (this.kept.get(origin) ?? 0);
  }

  private count(origin: string, change: number): void {
    const kept = (this.kept.get(origin) ?? 0) + change;
    if (kept === 0) this.kept.delete(origin);
    else this.kept.set(origin, kept);
    this.places.promise(origin, change);
  }
}
