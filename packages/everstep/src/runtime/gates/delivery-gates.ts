/**
 * Every delivery passes here before it may go to the ready queue: a message
 * has its turn in its queue, its destination must not be held, and its flow
 * control key must allow it. A
 * delivery that nothing holds passes at once.
 */
import { ADVANCE_SLOT, type FlowControl, type InstanceSettings, type Queue } from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit, ControlWrite } from '../../engine/writes.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { DestinationStatus, FlowControlChange, FlowControlStatus, WaitReason } from '../services/workflow-service.js';
import { type GateStore, InstanceGates } from './instance-gates.js';
import type { DeliveryResult, Passage, Ticket } from './passage.js';
import { type Places, RoomTurns } from './room.js';
import { Delivery } from './wait-list.js';

export type { DeliveryResult, Passage, Ticket } from './passage.js';

const RETRY_AFTER_FAULT_MS = 1_000;

export interface DeliveryGatesOptions {
  readonly store: GateStore;
  readonly clock: Clock;
  readonly log: Log;
  commit(unit: CommitUnit): Promise<CommitResult>;
  /** The ticket may go to the ready queue now. `counted`: a rate counts its start, so it is to be made now or not at all. */
  pass(ticket: Ticket, passage: Passage, counted: boolean): void;
  readonly places: Places;
  /** How long requests may take to arrive, for a rate of this period. */
  transitMs(periodMs: number): number;
}

const idOf = ({ runKey, slot }: Ticket): string => `${runKey}/${slot}`;

export class DeliveryGates {
  private readonly options: DeliveryGatesOptions;
  private readonly instances = new Map<string, InstanceGates>();
  /** Those that wait, and those that have passed and are not done. */
  private readonly known = new Map<string, Delivery>();
  private readonly rooms: RoomTurns;
  private readonly writing = new Set<Promise<unknown>>();
  private readonly retries = new Set<() => void>();
  private arrivals = 0;
  private lastPassage: Passage | null = null;
  private stopped = false;

  constructor(options: DeliveryGatesOptions) {
    this.options = options;
    this.rooms = new RoomTurns(options.places);
  }

  /** Instances that are known here. */
  get size(): number {
    return this.instances.size;
  }

  /** Nothing is under way here that would go on without time passing, but what is being committed. */
  get idle(): boolean {
    for (const instance of this.instances.values()) if (instance.busy) return false;
    return true;
  }

  /** False when the ticket is known: it waits here, or has passed and is not done. It may pass before this returns. */
  offer(ticket: Ticket, passage: Passage): boolean {
    const id = idOf(ticket);
    if (this.stopped || this.known.has(id)) return false;
    const delivery = new Delivery(ticket, this.shared(passage), this.arrivals++);
    this.known.set(id, delivery);
    this.instance(passage.instanceId).offer(delivery);
    return true;
  }

  /** A delivery that had passed is done: its place is free for the next. */
  done(ticket: Ticket, { instanceId }: Passage, result: DeliveryResult): void {
    const id = idOf(ticket);
    const delivery = this.known.get(id);
    if (!delivery || delivery.list) return;
    this.known.delete(id);
    this.instance(instanceId).done(delivery, result);
  }

  /** The task is gone; what has passed already stays until it is done. */
  withdraw(ticket: Ticket): void {
    const id = idOf(ticket);
    const delivery = this.known.get(id);
    if (!delivery?.list) return;
    this.known.delete(id);
    this.instance(delivery.passage.instanceId).withdrawn(delivery);
  }

  /**
   * Asked right before a delivery starts that had to wait for its place after it had passed. False when its destination
   * was held meanwhile: then it is not to be started, waits here again, and passes once more when it may.
   */
  mayStart(ticket: Ticket): boolean {
    const delivery = this.known.get(idOf(ticket));
    if (!delivery || delivery.list) return true;
    return this.instance(delivery.passage.instanceId).mayStart(delivery);
  }

  /** The request of a delivery that had passed leaves: it has its connection. */
  left(ticket: Ticket): void {
    const delivery = this.known.get(idOf(ticket));
    if (delivery?.window) this.instance(delivery.passage.instanceId).left(delivery);
  }

  /** A message has ended: its place in its queue is free. */
  leaveQueue({
    instanceId,
    queue,
    runKey,
  }: {
    readonly instanceId: string;
    readonly queue: string;
    readonly runKey: string;
  }): void {
    this.instances.get(instanceId)?.leaveQueue(runKey, [queue]);
  }

  /** Runs of messages that hold a place in their queues and are not on their way here: they wait for a retry, or have ended. */
  get idlePlaces(): readonly string[] {
    const held = [...this.instances.values()].flatMap(({ lines }) => [...lines.values()].flatMap(({ places }) => [...places]));
    return held.filter((runKey) => !this.known.has(idOf({ runKey, slot: ADVANCE_SLOT })));
  }

  /** A run has ended on another node: if it is a message, its place in its queue is free. */
  runEnded(runKey: string): void {
    for (const instance of this.instances.values()) instance.leaveQueue(runKey);
  }

  /** What was set of a queue, durable by now; null when it was deleted. */
  queueChanged(instanceId: string, name: string, queue: Queue | null): void {
    this.instances.get(instanceId)?.queueChanged(name, queue);
  }

  /** The answer to a batch was lost. Messages that ended in it must not hold their places for ever. */
  verifyQueues(isActive: (runKey: string) => Promise<boolean>): void {
    for (const instance of this.instances.values()) {
      instance.verifyQueues(isActive).catch((error: unknown) => {
        this.options.log.warn({ error: String(error) }, 'could not verify the messages of a queue, retrying');
        this.tryLater(() => this.verifyQueues(isActive));
      });
    }
  }

  /** The queue instance was deleted: nothing of it waits here any more. */
  drop(instanceId: string): void {
    this.instances.get(instanceId)?.stop();
    this.instances.delete(instanceId);
    for (const [id, { passage }] of this.known) if (passage.instanceId === instanceId) this.known.delete(id);
  }

  /** Deliveries ended: rate starts that waited for room may be granted. */
  roomFreed(): void {
    this.rooms.freed();
  }

  /** Limits that a trigger or a step brought, durable by now. */
  noteLimits(instanceId: string, flowControl: FlowControl): void {
    this.instances.get(instanceId)?.noteLimits(flowControl);
  }

  /** Why the ticket waits here; empty when it does not. */
  reasons(ticket: Ticket): readonly WaitReason[] {
    const delivery = this.known.get(idOf(ticket));
    return delivery?.list ? this.instance(delivery.passage.instanceId).reasons(delivery) : [];
  }

  /** The first of those that wait for the key, in the order in which they go. */
  waitingAt(instanceId: string, key: string, limit: number): readonly Ticket[] {
    const tickets: Ticket[] = [];
    for (const { ticket } of this.instances.get(instanceId)?.waitingAt(key) ?? []) {
      if (tickets.length === limit) break;
      tickets.push(ticket);
    }
    return tickets;
  }

  /** Why a delivery to this destination would wait, were it offered now; null when it is not held. */
  heldAt(instanceId: string, origin: string): Promise<WaitReason | null> {
    return this.instance(instanceId).heldAt(origin);
  }

  /** In the order of the keys. */
  flowControls({ instanceId }: { readonly instanceId: string }): Promise<readonly FlowControlStatus[]> {
    return this.instance(instanceId).flowControls();
  }

  flowControl(query: { readonly instanceId: string; readonly key: string }): Promise<FlowControlStatus | null> {
    return this.instance(query.instanceId).flowControl(query.key);
  }

  changeFlowControl(command: {
    readonly instanceId: string;
    readonly key: string;
    readonly change: FlowControlChange;
  }): Promise<FlowControlStatus | null> {
    return this.instance(command.instanceId).changeFlowControl(command.key, command.change);
  }

  /** Those that are held, or failed last, in the order of their origins. */
  destinations({ instanceId }: { readonly instanceId: string }): Promise<readonly DestinationStatus[]> {
    return this.instance(instanceId).destinations();
  }

  holdDestination(command: { readonly instanceId: string; readonly origin: string; readonly reason: string }): Promise<void> {
    return this.instance(command.instanceId).holdDestination(command.origin, command.reason);
  }

  releaseDestination(command: { readonly instanceId: string; readonly origin: string }): Promise<boolean> {
    return this.instance(command.instanceId).releaseDestination(command.origin);
  }

  instanceSettings({ instanceId }: { readonly instanceId: string }): Promise<InstanceSettings> {
    return this.instance(instanceId).settings();
  }

  changeInstanceSettings(command: { readonly instanceId: string; readonly settings: InstanceSettings }): Promise<void> {
    return this.instance(command.instanceId).changeSettings(command.settings);
  }

  // ---------------------------------------------------------------- where several nodes share the store

  /** All that waits here is somebody else's by now, and what the gates know is old. */
  reset(): void {
    for (const instance of this.instances.values()) instance.stop();
    this.instances.clear();
    this.known.clear();
  }

  /** What the store keeps of a key was changed on another node. `reset`: its rate window was ended there. */
  reloadKey(instanceId: string, key: string, reset: boolean): Promise<void> {
    return this.reload(this.instances.get(instanceId)?.reloadKey(key, reset));
  }

  reloadQueue(instanceId: string, name: string): Promise<void> {
    return this.reload(this.instances.get(instanceId)?.reloadQueue(name));
  }

  reloadSettings(instanceId: string): Promise<void> {
    return this.reload(this.instances.get(instanceId)?.reloadSettings());
  }

  /** Changes may have been missed. */
  reloadAll(): void {
    for (const instance of this.instances.values()) void this.reload(instance.reloadAll());
  }

  /** What goes on at the keys of the instance here. */
  standing(instanceId: string): Readonly<Record<string, { readonly waiting: number; readonly inFlight: number }>> {
    return this.instances.get(instanceId)?.standing() ?? {};
  }

  /** Never rejects: what could not be read is read again when everything is. */
  private async reload(reading: Promise<void> | undefined): Promise<void> {
    try {
      await reading;
    } catch (error) {
      this.options.log.warn({ error: String(error) }, 'could not read a change of another node');
    }
  }

  /** Nothing passes any more. Resolves when nothing is being written. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const instance of this.instances.values()) instance.stop();
    for (const cancel of this.retries) cancel();
    this.retries.clear();
    await Promise.allSettled([...this.writing]);
  }

  private instance(instanceId: string): InstanceGates {
    let instance = this.instances.get(instanceId);
    if (!instance) {
      const { store, clock, log } = this.options;
      const { rooms } = this;
      instance = new InstanceGates(instanceId, {
        store,
        clock,
        log,
        rooms,
        transitMs: (periodMs) => this.options.transitMs(periodMs),
        pass: ({ ticket, passage, window }) => {
          if (!this.stopped) this.options.pass(ticket, passage, window !== null);
        },
        write: (write) => this.write(write),
        tryLater: (again) => this.tryLater(again),
      });
      this.instances.set(instanceId, instance);
    }
    return instance;
  }

  /** A hundred thousand that wait for the same share one passage. */
  private shared(passage: Passage): Passage {
    const last = this.lastPassage;
    const same =
      last?.origin === passage.origin &&
      last.flowControlKey === passage.flowControlKey &&
      last.queue === passage.queue &&
      last.isLong === passage.isLong &&
      last.instanceId === passage.instanceId;
    if (last && same) return last;
    this.lastPassage = passage;
    return passage;
  }

  private async write(write: ControlWrite): Promise<void> {
    const written = this.options.commit({ guards: [], writes: [write] });
    this.writing.add(written);
    try {
      await written;
    } finally {
      this.writing.delete(written);
    }
  }

  private tryLater(again: () => void): void {
    if (this.stopped) return;
    const { clock } = this.options;
    const cancel = clock.setTimer(clock.now() + RETRY_AFTER_FAULT_MS, () => {
      this.retries.delete(cancel);
      again();
    });
    this.retries.add(cancel);
  }
}
