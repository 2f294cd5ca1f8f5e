/**
 * Selects the instance whose due tasks are read next. Accounts take turns, then the instances of an account. An instance whose
 * backlog is full waits until half of it is done. An instance whose last tasks are still being written waits for these writes.
 */
import { Turns } from '../../fairness/turns.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { DuePageReader } from './due-source.js';

/** Deliveries that wait for a slot or are in flight. */
export interface Backlog {
  /** Whether further due tasks of the instance may be added. */
  hasCapacity(instanceId: string): boolean;
  countOf(instanceId: string): number;
}

/** The tasks of one instance that are due and not read yet; '' for tasks of several instances. */
export interface DueTurn {
  readonly instanceId: string;
  readonly readPage: DuePageReader;
  /** Time before which all due tasks of the instance were handled, Unix ms. */
  handledBefore: number;
  /** Whether decisions on its last tasks are being written. */
  isWriting: boolean;
  /** Size of the instance's backlog when it became full; null while it is not full. */
  sizeWhenFull: number | null;
}

export class DueTurns {
  private readonly backlogOwner: { readonly backlog: Backlog };
  private readonly order: Turns;
  private readonly turns = new Map<string, DueTurn>();

  constructor(owners: InstanceOwners, backlogOwner: { readonly backlog: Backlog }) {
    this.backlogOwner = backlogOwner;
    this.order = new Turns(owners);
  }

  /** Ids of the instances whose pages are being read. */
  get openInstances(): ReadonlySet<string> {
    return new Set(this.turns.keys());
  }
  /** Whether an instance waits until its last tasks are written. */
  get isWriting(): boolean {
    return [...this.turns.values()].some((turn) => turn.isWriting);
  }

  add(instanceId: string, readPage: DuePageReader, handledBefore: number): void {
    this.turns.set(instanceId, { instanceId, readPage, handledBefore, isWriting: false, sizeWhenFull: null });
  }

  /** Returns the turn of the instance; undefined if all its due tasks were read. */
  of(instanceId: string): DueTurn | undefined {
    return this.turns.get(instanceId);
  }

  remove({ instanceId }: DueTurn): void {
    this.turns.delete(instanceId);
  }

  clear(): void {
    this.turns.clear();
  }

  /** Returns the turn that was served longest ago; null if none may be read. */
  next(): DueTurn | null {
    return this.order.next([...this.turns.values()].filter((turn) => !turn.isWriting && !this.isFull(turn)));
  }

  /** Returns whether an instance whose backlog was full may be read again. */
  hasCapacityAgain(instanceId: string): boolean {
    const turn = this.turns.get(instanceId);
    return turn !== undefined && turn.sizeWhenFull !== null && !this.isFull(turn);
  }

  private isFull(turn: DueTurn): boolean {
    // Tasks that this node claimed earlier are counted already.
    if (turn.instanceId === '') return false;
    const { backlog } = this.backlogOwner;
    if (turn.sizeWhenFull !== null && backlog.countOf(turn.instanceId) >= turn.sizeWhenFull / 2) return true;
    turn.sizeWhenFull = backlog.hasCapacity(turn.instanceId) ? null : backlog.countOf(turn.instanceId);
    return turn.sizeWhenFull !== null;
  }
}
