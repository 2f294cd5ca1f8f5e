/**
 * The gates that every delivery passes before it waits for a slot: a message must have its turn in its queue, the destination
 * must not be held, and the flow control key must permit it. A delivery without a limit passes immediately.
 */
import { ADVANCE_SLOT, type FlowControl, type InstanceSettings, type Queue } from '../../engine/runs/run.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { GateCounts, KeyCounts } from '../../ports/observer.js';
import { NO_WORKERS, type WorkerPresence } from '../../ports/workers.js';
import type { DestinationStatus, FlowControlChange, FlowControlStatus, WaitReason } from '../services/workflow-service.js';
import { type Delivery, type DeliveryLimits, type DeliveryRef, type DeliveryResult, idOf } from './delivery.js';
import { type ControlCommits, ControlWrites, type GateDeps, type GateExit, type GateStore } from './gate-deps.js';
import { InstanceGates } from './instance-gates.js';
import { type FreeSlots, SlotTurns } from './slot-turns.js';
import { GatedDelivery } from './wait-list.js';

/** Receives the deliveries that have passed the gates. */
export interface GatesExit {
  /** The delivery may take a slot. `counted`: a rate counts its start, so it must be made now or not at all. */
  passedGates(delivery: Delivery, counted: boolean): void;
}

export interface DeliveryGatesOptions {
  readonly store: GateStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly commits: ControlCommits;
  readonly exit: GatesExit;
  readonly slots: FreeSlots;
  /** The connected workers. Absent: there are no workers. */
  readonly workers?: WorkerPresence;
  /** Returns how long requests may take to arrive, for a rate with this period. */
  readonly transitMs: (periodMs: number) => number;
}

export class DeliveryGates implements GateExit {
  private readonly deps: GateDeps;
  private readonly exit: GatesExit;
  private readonly instances = new Map<string, InstanceGates>();
  /** Deliveries that wait, and those that have passed and are not done. */
  private readonly deliveries = new Map<string, GatedDelivery>();
  private offered = 0;
  private lastLimits: DeliveryLimits | null = null;
  private stopped = false;

  constructor({ store, clock, log, commits, exit, slots, workers = NO_WORKERS, transitMs }: DeliveryGatesOptions) {
    const control = new ControlWrites(commits, clock);
    this.deps = { store, clock, log, control, slots: new SlotTurns(slots), exit: this, workers, transitMs };
    workers.onChange(({ instanceId, app }) => this.instances.get(instanceId)?.workersChanged(app));
    this.exit = exit;
  }

  /** Number of instances in memory. */
  get size(): number {
    return this.instances.size;
  }

  /** Whether no work is in progress that does not depend on time, except commits. */
  get idle(): boolean {
    for (const instance of this.instances.values()) if (instance.busy) return false;
    return true;
  }

  /**
   * Takes a delivery, which may pass before this returns. Returns false if it is known: it waits here, or has passed and is
   * not done.
   */
  offer(delivery: Delivery): boolean {
    const id = idOf(delivery);
    if (this.stopped || this.deliveries.has(id)) return false;
    const gated = new GatedDelivery(delivery, this.sharedLimits(delivery.limits), this.offered++, this.deps.clock.now());
    this.deliveries.set(id, gated);
    this.instance(gated.limits.instanceId).offer(gated);
    return true;
  }

  passed(delivery: GatedDelivery): void {
    if (!this.stopped) this.exit.passedGates(delivery, delivery.window !== null);
  }

  /** Called when a delivery that had passed is done: it no longer counts toward its limits. */
  done(delivery: Delivery, result: DeliveryResult): void {
    const id = idOf(delivery);
    const gated = this.deliveries.get(id);
    if (!gated || gated.list) return;
    this.deliveries.delete(id);
    this.instance(delivery.limits.instanceId).done(gated, result);
  }

  /** Removes the waiting delivery of a task that no longer exists. A delivery that has passed remains until it is done. */
  withdraw(ref: DeliveryRef): void {
    const id = idOf(ref);
    const delivery = this.deliveries.get(id);
    if (!delivery?.list) return;
    this.deliveries.delete(id);
    this.instance(delivery.limits.instanceId).withdraw(delivery);
  }

  /**
   * Returns whether a delivery that waited for a slot after it had passed may start. If its destination was held in the
   * meantime, it must not start: it waits here and passes again later.
   */
  mayStart(ref: DeliveryRef): boolean {
    const delivery = this.deliveries.get(idOf(ref));
    if (!delivery || delivery.list) return true;
    return this.instance(delivery.limits.instanceId).mayStart(delivery);
  }

  /** Called when the request of a delivery that had passed is sent: it has its connection. */
  sent(ref: DeliveryRef): void {
    const delivery = this.deliveries.get(idOf(ref));
    if (delivery?.window) this.instance(delivery.limits.instanceId).sent(delivery);
  }

  /** Frees the position of an ended message in its queue. */
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

  /** Runs of messages that have a position in their queue and no delivery here: they wait for a retry, or have ended. */
  get idlePositions(): readonly string[] {
    const lines = [...this.instances.values()].flatMap((instance) => [...instance.lines.values()]);
    const queued = lines.flatMap(({ slotHolders }) => [...slotHolders]);
    return queued.filter((runKey) => !this.deliveries.has(idOf({ runKey, slot: ADVANCE_SLOT })));
  }

  /** Called when a run has ended on another node. If the run is a message, its position in its queue becomes free. */
  runEnded(runKey: string): void {
    for (const instance of this.instances.values()) instance.leaveQueue(runKey);
  }

  /** Applies durable settings of a queue; null if it was deleted. */
  queueChanged(instanceId: string, name: string, queue: Queue | null): void {
    this.instances.get(instanceId)?.queueChanged(name, queue);
  }

  /**
   * Checks the positions in queues after the response to a batch was lost: messages that ended in it must not keep them
   * forever.
   */
  verifyQueues(isActive: (runKey: string) => Promise<boolean>): void {
    for (const instance of this.instances.values()) {
      instance.verifyQueues(isActive).catch((error: unknown) => {
        this.deps.log.warn({ error: String(error) }, 'could not verify the messages of a queue, retrying');
        this.deps.control.retryLater(() => this.verifyQueues(isActive));
      });
    }
  }

  /** Removes all deliveries of a deleted queue instance. */
  drop(instanceId: string): void {
    this.instances.get(instanceId)?.stop();
    this.instances.delete(instanceId);
    for (const [id, { limits }] of this.deliveries) if (limits.instanceId === instanceId) this.deliveries.delete(id);
  }

  /** Called when slots may have become free: starts of a rate that wait for one may be granted. */
  slotsFreed(): void {
    this.deps.slots.freed();
  }

  /** Applies limits of a trigger or a step, which are durable. */
  noteLimits(instanceId: string, flowControl: FlowControl): void {
    this.instances.get(instanceId)?.noteLimits(flowControl);
  }

  /** Returns why the delivery waits here; empty if it does not. */
  reasons(ref: DeliveryRef): readonly WaitReason[] {
    const delivery = this.deliveries.get(idOf(ref));
    return delivery?.list ? this.instance(delivery.limits.instanceId).reasons(delivery) : [];
  }

  /** Returns the first deliveries that wait for the key, in the order in which they pass. */
  waitingAt(instanceId: string, key: string, limit: number): readonly DeliveryRef[] {
    const refs: DeliveryRef[] = [];
    for (const delivery of this.instances.get(instanceId)?.waitingAt(key) ?? []) {
      if (refs.length === limit) break;
      refs.push(delivery);
    }
    return refs;
  }

  /** Resolves with why a delivery to this destination would wait now; null if it is not held. */
  heldAt(instanceId: string, origin: string): Promise<WaitReason | null> {
    return this.instance(instanceId).heldAt(origin);
  }

  /** Resolves with the keys in ascending order. */
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

  /** Resolves with the destinations that are held or failed last, ordered by origin. */
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

  // ---------------------------------------------------------------- several nodes

  /** Discards all deliveries and all state, because other nodes have taken over. */
  reset(): void {
    for (const instance of this.instances.values()) instance.stop();
    this.instances.clear();
    this.deliveries.clear();
  }

  /** Called when another node changed the stored state of a key. `reset`: the change ended the rate window. */
  reloadKey(instanceId: string, key: string, reset: boolean): Promise<void> {
    return this.reload(this.instances.get(instanceId)?.reloadKey(key, reset));
  }

  reloadQueue(instanceId: string, name: string): Promise<void> {
    return this.reload(this.instances.get(instanceId)?.reloadQueue(name));
  }

  reloadSettings(instanceId: string): Promise<void> {
    return this.reload(this.instances.get(instanceId)?.reloadSettings());
  }

  /** Reads everything again, because changes may have been missed. */
  reloadAll(): void {
    for (const instance of this.instances.values()) void this.reload(instance.reloadAll());
  }

  /** Returns how many deliveries wait and are in flight here at each key of the instance. */
  keyCounts(instanceId: string): Readonly<Record<string, KeyCounts>> {
    return this.instances.get(instanceId)?.keyCounts() ?? {};
  }

  /** Returns how many deliveries wait and are in flight here at each key and queue of all instances. */
  *counts(): Iterable<GateCounts> {
    for (const instance of this.instances.values()) yield* instance.counts();
  }

  /** Waits for a read. Never rejects: `reloadAll` reads again what could not be read. */
  private async reload(reading: Promise<void> | undefined): Promise<void> {
    try {
      await reading;
    } catch (error) {
      this.deps.log.warn({ error: String(error) }, 'could not read a change made by another node');
    }
  }

  /** Lets nothing pass anymore. Resolves when no write is in progress. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const instance of this.instances.values()) instance.stop();
    await this.deps.control.stop();
  }

  private instance(instanceId: string): InstanceGates {
    let instance = this.instances.get(instanceId);
    if (!instance) {
      instance = new InstanceGates(instanceId, this.deps);
      this.instances.set(instanceId, instance);
    }
    return instance;
  }

  /** Returns a shared object for equal limits, because a hundred thousand deliveries may wait. */
  private sharedLimits(limits: DeliveryLimits): DeliveryLimits {
    const last = this.lastLimits;
    const isSame =
      last?.origin === limits.origin &&
      last.pool === limits.pool &&
      last.flowControlKey === limits.flowControlKey &&
      last.queue === limits.queue &&
      last.lentBy === limits.lentBy &&
      last.isLong === limits.isLong &&
      last.instanceId === limits.instanceId;
    if (last && isSame) return last;
    this.lastLimits = limits;
    return limits;
  }
}
