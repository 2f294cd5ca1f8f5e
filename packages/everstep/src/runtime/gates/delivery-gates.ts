/**
 * The gates that every delivery passes before it waits for a slot: a message must have its turn in its queue, the destination
 * must not be held, and the flow control key must permit it. A delivery without a limit passes immediately.
 */
import { ADVANCE_SLOT, CALLBACK_SLOT, type FlowControl, type InstanceSettings, type Queue } from '../../engine/runs/run.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { GateCounts, KeyCounts } from '../../ports/observer.js';
import { NO_WORKERS, type WorkerPresence } from '../../ports/workers.js';
import type { DestinationStatus, FlowControlChange, FlowControlStatus, WaitReason } from '../services/workflow-service.js';
import type { Delivery, DeliveryLimits, DeliveryRef, DeliveryResult } from './delivery.js';
import { type ControlCommits, ControlWrites, type GateDeps, type GateListener, type GateStore } from './gate-deps.js';
import { InstanceGates } from './instance-gates.js';
import { type FreeSlots, SlotAllocator } from './slot-allocator.js';
import { GatedDeliveries, GatedDelivery } from './wait-list.js';

/** Receives the deliveries that have passed the gates. */
export interface DeliveryReceiver {
  /** Called when the delivery may take a slot. If a rate counts its start (`isCounted`), it must start now or not at all. */
  onPassedGates(delivery: Delivery, isCounted: boolean): void;
}

export interface DeliveryGatesOptions {
  readonly store: GateStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly commits: ControlCommits;
  readonly exit: DeliveryReceiver;
  readonly slots: FreeSlots;
  /** The connected workers. Absent if there are no workers. */
  readonly workers?: WorkerPresence;
  /** Returns how long requests may take to arrive, for a rate with this period. */
  readonly transitMs: (periodMs: number) => number;
}

const RESOLVED = Promise.resolve();

const haveSameGates = (a: DeliveryLimits, b: DeliveryLimits): boolean =>
  a.origin === b.origin && a.workers === b.workers && a.flowControlKey === b.flowControlKey && a.queue === b.queue;

export class DeliveryGates implements GateListener {
  private readonly deps: GateDeps;
  private readonly exit: DeliveryReceiver;
  private readonly instances = new Map<string, InstanceGates>();
  /** Deliveries that wait, and those that have passed and are not done. */
  private readonly deliveries = new GatedDeliveries();
  /** Number of offers so far. */
  private offerCount = 0;
  private lastLimits: DeliveryLimits | null = null;
  /** Whether a check of the slots in queues has failed and is repeated soon. */
  private isCheckPlanned = false;
  private isStopped = false;

  constructor({ store, clock, log, commits, exit, slots, workers = NO_WORKERS, transitMs }: DeliveryGatesOptions) {
    const control = new ControlWrites(commits, clock);
    this.deps = { store, clock, log, control, slots: new SlotAllocator(slots), listener: this, workers, transitMs };
    workers.onChange(({ instanceId, app }) => this.instances.get(instanceId)?.workersChanged(app));
    this.exit = exit;
  }

  /** Number of instances in memory. */
  get size(): number {
    return this.instances.size;
  }

  /** Whether no work is in progress, except commits and work that waits for time to pass. */
  get isIdle(): boolean {
    for (const instance of this.instances.values()) if (instance.isBusy) return false;
    return true;
  }

  /**
   * Takes a delivery, which may pass before this returns. Returns false if the delivery waits here already, or has passed and is
   * not done.
   */
  offer(delivery: Delivery): boolean {
    if (this.isStopped || this.deliveries.has(delivery)) return false;
    const gatedDelivery = new GatedDelivery(
      delivery,
      this.sharedLimits(delivery.limits),
      this.offerCount++,
      this.deps.clock.now(),
    );
    this.deliveries.add(gatedDelivery);
    this.instance(gatedDelivery.limits.instanceId).offer(gatedDelivery);
    return true;
  }

  /** Whether the delivery waits here, or has passed and is not done. */
  has(ref: DeliveryRef): boolean {
    return this.deliveries.has(ref);
  }

  onPassedAllGates(delivery: GatedDelivery): void {
    // A delivery that is unknown here was discarded after it had left its list.
    if (!this.isStopped && this.deliveries.get(delivery) === delivery)
      this.exit.onPassedGates(delivery, delivery.window !== null);
  }

  /** Called when a delivery that had passed is done: it no longer counts toward its limits. */
  done(delivery: Delivery, result: DeliveryResult): void {
    const gatedDelivery = this.deliveries.get(delivery);
    if (!gatedDelivery || gatedDelivery.list) return;
    this.deliveries.delete(delivery);
    this.instance(delivery.limits.instanceId).done(gatedDelivery, result);
  }

  /** Removes the waiting delivery of a task that no longer exists. A delivery that has passed remains until it is done. */
  withdraw(ref: DeliveryRef): void {
    const delivery = this.deliveries.get(ref);
    if (!delivery?.list) return;
    this.deliveries.delete(ref);
    this.instance(delivery.limits.instanceId).withdraw(delivery);
  }

  /** Removes the waiting deliveries of a run that has ended on another node, except that of its failure callback. */
  withdrawRun(runKey: string): void {
    for (const delivery of this.deliveries.ofRun(runKey)) if (delivery.slot !== CALLBACK_SLOT) this.withdraw(delivery);
  }

  /**
   * Removes the delivery of the slot if it waits and its task was replaced by one with the limits of `delivery`. Returns whether
   * it has already passed with other limits: then it remains until it is done.
   */
  withdrawOutdated(delivery: Delivery): boolean {
    const existing = this.deliveries.get(delivery);
    // The node that lent a delivery applies the limits.
    if (!existing || existing.limits.lentBy !== undefined || haveSameGates(existing.limits, delivery.limits)) return false;
    const hasPassed = existing.list === null;
    this.withdraw(delivery);
    return hasPassed;
  }

  /**
   * Returns whether a delivery that waited for a slot after it had passed may start. If its destination was held in the
   * meantime, it must not start: it waits here and passes again later.
   */
  mayStart(ref: DeliveryRef): boolean {
    const delivery = this.deliveries.get(ref);
    if (!delivery || delivery.list) return true;
    return this.instance(delivery.limits.instanceId).mayStart(delivery);
  }

  /** Called when the request of a delivery that had passed is sent: it has its connection. */
  onRequestSent(ref: DeliveryRef): void {
    const delivery = this.deliveries.get(ref);
    if (delivery?.window) this.instance(delivery.limits.instanceId).onRequestSent(delivery);
  }

  /** Frees the queue slot of a message that has ended. */
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

  /** Keys of messages that have a slot in their queue and no delivery here: they wait for a retry, or have ended. */
  get idleSlotHolders(): readonly string[] {
    const queueGates = [...this.instances.values()].flatMap((instance) => [...instance.queueGates.values()]);
    const holders = queueGates.flatMap(({ slotHolders }) => [...slotHolders]);
    return holders.filter((runKey) => !this.deliveries.has({ runKey, slot: ADVANCE_SLOT }));
  }

  /** Called when a run has ended on another node. If the run is a message, its slot in its queue becomes free. */
  onRunEnded(runKey: string): void {
    for (const instance of this.instances.values()) instance.leaveQueue(runKey);
  }

  /** Applies durable settings of a queue; null if it was deleted. */
  onQueueChanged(instanceId: string, name: string, queue: Queue | null): void {
    this.instances.get(instanceId)?.onQueueChanged(name, queue);
  }

  /**
   * Checks the slots in queues after the response to a batch was lost: messages that ended in it must not keep them
   * forever.
   */
  verifyQueues(isActive: (runKey: string) => Promise<boolean>): void {
    for (const [instanceId, instance] of this.instances) {
      instance.verifyQueues(isActive).catch((error: unknown) => {
        this.deps.log.warn({ instanceId, error: String(error) }, 'could not check which queued messages ended, retrying in 1 s');
        this.verifyQueuesLater(isActive);
      });
    }
  }

  private verifyQueuesLater(isActive: (runKey: string) => Promise<boolean>): void {
    if (this.isCheckPlanned) return;
    this.isCheckPlanned = true;
    this.deps.control.retryLater(() => {
      this.isCheckPlanned = false;
      this.verifyQueues(isActive);
    });
  }

  /** Removes all deliveries of a deleted queue instance. */
  drop(instanceId: string): void {
    this.instances.get(instanceId)?.stop();
    this.instances.delete(instanceId);
    for (const delivery of this.deliveries.all()) if (delivery.limits.instanceId === instanceId) this.deliveries.delete(delivery);
  }

  /** Called when slots may have become free: starts of a rate that wait for one may be granted. */
  onSlotsFreed(): void {
    this.deps.slots.onSlotsFreed();
  }

  /** Applies limits of a trigger or a step, which are durable. */
  recordLimits(instanceId: string, flowControl: FlowControl): void {
    this.instances.get(instanceId)?.recordLimits(flowControl);
  }

  /** Returns why the delivery waits here; empty if it does not. */
  reasons(ref: DeliveryRef): readonly WaitReason[] {
    const delivery = this.deliveries.get(ref);
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

  /** Resolves with the reason why a delivery to this destination would wait now; null if it is not held. */
  holdReason(instanceId: string, origin: string): Promise<WaitReason | null> {
    return this.instance(instanceId).holdReason(origin);
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
    const { instanceId, key, change } = command;
    // A reset that has failed may not be stored; then the window must not end.
    const reload = (hasFailed: boolean) => this.reloadKey(instanceId, key, change.kind === 'reset-rate' && !hasFailed);
    return this.change(instanceId, (instance) => instance.changeFlowControl(key, change), reload);
  }

  /** Resolves with the destinations that are held or failed last, ordered by origin. */
  destinations({ instanceId }: { readonly instanceId: string }): Promise<readonly DestinationStatus[]> {
    return this.instance(instanceId).destinations();
  }

  holdDestination(command: { readonly instanceId: string; readonly origin: string; readonly reason: string }): Promise<void> {
    const { instanceId, origin, reason } = command;
    return this.change(instanceId, (instance) => instance.holdDestination(origin, reason));
  }

  releaseDestination({ instanceId, origin }: { readonly instanceId: string; readonly origin: string }): Promise<boolean> {
    return this.change(instanceId, (instance) => instance.releaseDestination(origin));
  }

  instanceSettings({ instanceId }: { readonly instanceId: string }): Promise<InstanceSettings> {
    return this.instance(instanceId).settings();
  }

  changeInstanceSettings(command: { readonly instanceId: string; readonly settings: InstanceSettings }): Promise<void> {
    const { instanceId, settings } = command;
    return this.change(instanceId, (instance) => instance.changeSettings(settings));
  }

  /**
   * Makes a change. If it fails, reads what is stored: the change is durable if only the response was lost. If other nodes take over
   * in the meantime, the gates that replaced these may have read an earlier state; the change resolves when they have read it again.
   */
  private async change<Result>(
    instanceId: string,
    work: (instance: InstanceGates) => Promise<Result>,
    reload: (hasFailed: boolean) => Promise<void> = () => this.reloadSettings(instanceId),
  ): Promise<Result> {
    const instance = this.instance(instanceId);
    try {
      const result = await work(instance);
      if (this.instances.get(instanceId) !== instance) await reload(false);
      return result;
    } catch (error) {
      // The request does not wait until the store can be read.
      void reload(true);
      throw error;
    }
  }

  // ---------------------------------------------------------------- several nodes

  /** Discards all deliveries and all state, because other nodes have taken over. */
  reset(): void {
    for (const instance of this.instances.values()) instance.stop();
    this.instances.clear();
    this.deliveries.clear();
  }

  // Reads that fail are repeated, so a change is confirmed when it applies.

  /** Called when another node changed the stored state of a key. If `isReset`, the change ended the rate window. */
  reloadKey(instanceId: string, key: string, isReset: boolean): Promise<void> {
    return this.instances.get(instanceId)?.reloadKey(key, isReset) ?? RESOLVED;
  }

  /** Reads the stored state of a key again. Rejects if it cannot be read. */
  readKey(instanceId: string, key: string): Promise<void> {
    return this.instances.get(instanceId)?.readKey(key, false) ?? RESOLVED;
  }

  reloadQueue(instanceId: string, name: string): Promise<void> {
    return this.instances.get(instanceId)?.reloadQueue(name) ?? RESOLVED;
  }

  reloadSettings(instanceId: string): Promise<void> {
    return this.instances.get(instanceId)?.reloadSettings() ?? RESOLVED;
  }

  /** Reads everything again, because changes may have been missed. */
  reloadAll(): void {
    for (const instance of this.instances.values()) void instance.reloadAll();
  }

  /** Returns how many deliveries wait and are in flight here at each key of the instance. */
  keyCounts(instanceId: string): Readonly<Record<string, KeyCounts>> {
    return this.instances.get(instanceId)?.keyCounts() ?? {};
  }

  /** Returns how many deliveries wait and are in flight here at each key and queue of all instances. */
  *counts(): Iterable<GateCounts> {
    for (const instance of this.instances.values()) yield* instance.counts();
  }

  /** Lets no more deliveries pass. Resolves when no write is in progress. */
  async stop(): Promise<void> {
    this.isStopped = true;
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
    const previousLimits = this.lastLimits;
    const isSame =
      previousLimits?.origin === limits.origin &&
      previousLimits.workers === limits.workers &&
      previousLimits.flowControlKey === limits.flowControlKey &&
      previousLimits.queue === limits.queue &&
      previousLimits.lentBy === limits.lentBy &&
      previousLimits.isLong === limits.isLong &&
      previousLimits.instanceId === limits.instanceId;
    if (previousLimits && isSame) return previousLimits;
    this.lastLimits = limits;
    return limits;
  }
}
