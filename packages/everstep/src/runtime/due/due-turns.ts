/**
 * Whose due tasks are read next. Accounts take turns, then the instances of an account. An instance whose backlog is full waits
 * until half of it is done; one whose last tasks are still being written waits for that.
 */
import type { InstanceOwners } from '../../ports/instance-owners.js';
import type { DueTask } from '../../ports/store.js';
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
  readonly accountId: string;
  readonly pages: DuePages;
  isWriting: boolean;
  /** How large the backlog of the instance was when it was full; null while it is not. */
  fullAt: number | null;
  /** The lower, the longer ago. */
  servedAt: number;
}

export class DueTurns {
  private readonly owners: InstanceOwners;
  private readonly backlog: Backlog;
  private readonly turns = new Map<string, DueTurn>();
  private readonly accountServedAt = new Map<string, number>();
  private served = 0;

  constructor(owners: InstanceOwners, backlog: Backlog) {
    this.owners = owners;
    this.backlog = backlog;
  }

  get open(): ReadonlySet<string> {
    return new Set(this.turns.keys());
  }
  /** Whether one of them waits for what it wrote. */
  get isWriting(): boolean {
    return [...this.turns.values()].some((turn) => turn.isWriting);
  }

  add(instanceId: string, pages: DuePages): void {
    const accountId = instanceId === '' ? '' : this.owners.accountOf(instanceId);
    this.turns.set(instanceId, { instanceId, accountId, pages, isWriting: false, fullAt: null, servedAt: 0 });
  }

  remove({ instanceId }: DueTurn): void {
    this.turns.delete(instanceId);
    if (this.turns.size === 0) this.accountServedAt.clear();
  }

  clear(): void {
    this.turns.clear();
    this.accountServedAt.clear();
  }

  /** The one that was served longest ago; null when none may be read. */
  next(): DueTurn | null {
    let next: DueTurn | null = null;
    for (const turn of this.turns.values()) {
      if (turn.isWriting || this.isFull(turn)) continue;
      if (next === null || this.isBefore(turn, next)) next = turn;
    }
    if (next === null) return null;
    next.servedAt = ++this.served;
    this.accountServedAt.set(next.accountId, this.served);
    return next;
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

  private isBefore(one: DueTurn, other: DueTurn): boolean {
    const at = ({ accountId }: DueTurn): number => this.accountServedAt.get(accountId) ?? 0;
    return at(one) - at(other) < 0 || (at(one) === at(other) && one.servedAt < other.servedAt);
  }
}

/** The same tasks, in turns by account, then by instance; those of one instance in their order. */
export function inTurns(tasks: readonly DueTask[], owners: InstanceOwners): readonly DueTask[] {
  const accounts = new Map<string, Map<string, DueTask[]>>();
  for (const task of tasks) {
    const { instanceId } = task;
    const accountId = owners.accountOf(instanceId);
    const instances = accounts.get(accountId) ?? new Map<string, DueTask[]>();
    accounts.set(accountId, instances);
    const ofInstance = instances.get(instanceId);
    if (ofInstance) ofInstance.push(task);
    else instances.set(instanceId, [task]);
  }
  const rounds = (lists: readonly (readonly DueTask[])[]): readonly DueTask[] => {
    const longest = Math.max(0, ...lists.map(({ length }) => length));
    return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list[index] ?? [])).flat();
  };
  return rounds([...accounts.values()].map((instances) => rounds([...instances.values()])));
}
