/**
 * Selects the instance whose due tasks are read next. Accounts take turns, then the instances of an account. An instance whose
 * backlog is full waits until half of it is done. An instance whose last tasks are still being written waits for these writes.
 */
import { RoundRobin } from '../../fairness/round-robin.js';
import type { InstanceOwners } from '../../ports/stores/instance-owners.js';
import type { DuePageReader } from './due-source.js';

/** Deliveries that wait for a slot or are in flight. */
export interface Backlog {
  /** Whether further due tasks of the instance may be added. */
  hasCapacity(instanceId: string): boolean;
  countOf(instanceId: string): number;
}

/** An instance with due tasks that are not read yet. The id '' stands for several instances. */
export interface DueInstance {
  readonly instanceId: string;
  readonly readPage: DuePageReader;
  /** Time before which all due tasks of the instance were handled, Unix ms. */
  handledBefore: number;
  /** Whether decisions on its last tasks are being written. */
  isWriting: boolean;
  /** Size of the instance's backlog when it became full; null while it is not full. */
  sizeWhenFull: number | null;
}

export class DueInstances {
  private readonly backlogOwner: { readonly backlog: Backlog };
  private readonly order: RoundRobin;
  private readonly instances = new Map<string, DueInstance>();

  constructor(owners: InstanceOwners, backlogOwner: { readonly backlog: Backlog }) {
    this.backlogOwner = backlogOwner;
    this.order = new RoundRobin(owners);
  }

  /** Ids of the instances whose pages are being read. */
  get openInstances(): ReadonlySet<string> {
    return new Set(this.instances.keys());
  }
  /** Whether an instance waits until its last tasks are written. */
  get isWriting(): boolean {
    return [...this.instances.values()].some((dueInstance) => dueInstance.isWriting);
  }

  add(instanceId: string, readPage: DuePageReader, handledBefore: number): void {
    this.instances.set(instanceId, { instanceId, readPage, handledBefore, isWriting: false, sizeWhenFull: null });
  }

  /** Returns the instance; undefined if all its due tasks were read. */
  of(instanceId: string): DueInstance | undefined {
    return this.instances.get(instanceId);
  }

  remove({ instanceId }: DueInstance): void {
    this.instances.delete(instanceId);
  }

  clear(): void {
    this.instances.clear();
  }

  /** Returns the instance that was served longest ago; null if none may be read. */
  next(): DueInstance | null {
    return this.order.next(
      [...this.instances.values()].filter((dueInstance) => !dueInstance.isWriting && !this.isFull(dueInstance)),
    );
  }

  /** Returns whether an instance whose backlog was full may be read again. */
  hasCapacityAgain(instanceId: string): boolean {
    const dueInstance = this.instances.get(instanceId);
    return dueInstance !== undefined && dueInstance.sizeWhenFull !== null && !this.isFull(dueInstance);
  }

  private isFull(dueInstance: DueInstance): boolean {
    // Tasks that this node claimed earlier are counted already.
    if (dueInstance.instanceId === '') return false;
    const { backlog } = this.backlogOwner;
    if (dueInstance.sizeWhenFull !== null && backlog.countOf(dueInstance.instanceId) >= dueInstance.sizeWhenFull / 2) return true;
    dueInstance.sizeWhenFull = backlog.hasCapacity(dueInstance.instanceId) ? null : backlog.countOf(dueInstance.instanceId);
    return dueInstance.sizeWhenFull !== null;
  }
}
