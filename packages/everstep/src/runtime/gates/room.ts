/**
 * Room at destinations for keys with a rate: a start is granted only when it
 * can be made at once. Keys that found none wait for it, and take turns.
 */
import type { Delivery } from './wait-list.js';

/** A key that waits for room. */
export interface RoomSeeker {
  /** Takes what it may. */
  pump(): void;
}

export class RoomTurns {
  private readonly roomAt: (origin: string) => number;
  /** By origin; who waits longest is first. */
  private readonly seekers = new Map<string, Set<RoomSeeker>>();
  /** Room for starts that are being granted, by origin. */
  private readonly kept = new Map<string, number>();
  /** Whose turn it is. */
  private served: RoomSeeker | null = null;

  constructor(roomAt: (origin: string) => number) {
    this.roomAt = roomAt;
  }

  /** Room for starts that are granted already. */
  room(origin: string): number {
    return this.roomAt(origin);
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
    return this.roomAt(origin) - (this.kept.get(origin) ?? 0);
  }

  private count(origin: string, change: number): void {
    const kept = (this.kept.get(origin) ?? 0) + change;
    if (kept === 0) this.kept.delete(origin);
    else this.kept.set(origin, kept);
  }
}

/** The same for the keys of one instance, which may also have no more than so many in flight at all destinations. */
export class InstanceRooms {
  private readonly turns: RoomTurns;
  private readonly roomLeft: () => number;
  /** Room for starts of the instance that are being granted. */
  private kept = 0;

  constructor(turns: RoomTurns, roomLeft: () => number) {
    this.turns = turns;
    this.roomLeft = roomLeft;
  }

  room(origin: string): number {
    return Math.min(this.turns.room(origin), this.roomLeft());
  }

  /** At all destinations together, for starts that are still to be granted. */
  get free(): number {
    return this.roomLeft() - this.kept;
  }

  roomInTurn(origin: string, seeker: RoomSeeker): number {
    return Math.min(this.turns.roomInTurn(origin, seeker), this.free);
  }

  await(origin: string, seeker: RoomSeeker): void {
    this.turns.await(origin, seeker);
  }

  keep(deliveries: readonly Delivery[]): (take: () => void) => void {
    const giveBack = this.turns.keep(deliveries);
    this.kept += deliveries.length;
    return (take) =>
      giveBack(() => {
        this.kept -= deliveries.length;
        take();
      });
  }
}
