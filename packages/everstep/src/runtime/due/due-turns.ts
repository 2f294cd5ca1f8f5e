/**
 * Whose due tasks are read next. Accounts take turns, then the instances of an account. An instance whose backlog is full waits
 * until half of it is done; one whose last tasks are still being written waits for that.
 */
import { Turns } from '../../fairness/turns.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { DuePages } from './due-source.js';

/** Deliveries that wait for a slot or are in flight. */
export interface Backlog {
  /** Whether further due tasks of the instance may be added. */
  hasRoom(instanceId: string): boolean;
  countOf(instanceId: string): number;
}

/** What is due of one instance and was not read yet; '' is what belongs to several. */
export interface DueTurn {
  readonly instanceId: string;
  readonly pages: DuePages;
  isWriting: boolean;
  /** How large the backlog of the instance was when it was full; null while it is not. */
  fullAt: number | null;
}

export class DueTurns {
  private readonly backlog: Backlog;
  private readonly order: Turns;
  private readonly turns = new Map<string, DueTurn>();

  constructor(owners: InstanceOwners, backlog: Backlog) {
    this.backlog = backlog;
    this.order = new Turns(owners);
  }

  get open(): ReadonlySet<string> {
    return new Set(this.turns.keys());
  }
  /** Whether one of them waits for what it wrote. */
  get isWriting(): boolean {
    return [...this.turns.values()].some((turn) => turn.isWriting);
  }

  add(instanceId: string, pages: DuePages): void {
    this.turns.set(instanceId, { instanceId, pages, isWriting: false, fullAt: null });
  }

  remove({ instanceId }: DueTurn): void {
    this.turns.delete(instanceId);
  }

  clear(): void {
    this.turns.clear();
  }

  /** The one that was served longest ago; null when none may be read. */
  next(): DueTurn | null {
    return this.order.next([...this.turns.values()].filter((turn) => !turn.isWriting && !this.isFull(turn)));
  }

  /** Whether an instance may be read again of which a delivery has ended. */
  hasRoomAgain(instanceId: string): boolean {
    const turn = this.turns.get(instanceId);
    return turn !== undefined && turn.fullAt !== null && !this.isFull(turn);
  }

  private isFull(turn: DueTurn): boolean {
    // What this node has claimed before was counted before.
    if (turn.instanceId === '') return false;
    if (turn.fullAt !== null && this.backlog.countOf(turn.instanceId) >= turn.fullAt / 2) return true;
    turn.fullAt = this.backlog.hasRoom(turn.instanceId) ? null : this.backlog.countOf(turn.instanceId);
    return turn.fullAt !== null;
  }
}
