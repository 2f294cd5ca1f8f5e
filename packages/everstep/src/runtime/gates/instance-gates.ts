/**
 * The gates of one instance. A delivery passes its queue of messages first, then its destination, then its flow control key. A
 * delivery to a held destination therefore takes no slot and does not count toward its key. The state of an instance and of a
 * key is read from the store when it is first needed; deliveries that are offered in the meantime wait in order.
 */
import { WORKER_SCHEME } from '@everstep/sdk/protocol';
import {
  DEFAULT_INSTANCE_SETTINGS,
  type DestinationHold,
  type FlowControl,
  type InstanceSettings,
  type Queue,
} from '../../engine/runs/run.js';
import type { GateCounts, KeyCounts } from '../../ports/observer.js';
import type { DestinationStatus, FlowControlChange, FlowControlStatus, WaitReason } from '../services/workflow-service.js';
import type { DeliveryResult } from './delivery.js';
import { restoredState } from './destinations/breaker.js';
import { Destination, type DestinationInstance } from './destinations/destination.js';
import { SETTINGS, StoredSettings, type StoredState } from './destinations/stored-settings.js';
import { FlowKey, type FlowKeyInstance } from './flow-key.js';
import type { GateDeps } from './gate-deps.js';
import { applyChange, areSameLimits, partOf } from './limit-changes.js';
import { QueueGate, type QueueListener } from './queue-gate.js';
import { RepeatedReads } from './repeated-reads.js';
import { type GatedDelivery, WaitList } from './wait-list.js';

/** Idle keys, destinations and queues beyond this number are removed from memory. */
const MAX_ENTRIES = 5_000;
/** Number of entries that are checked for removal each time one is added. */
const CHECKED_PER_ADD = 8;

export class InstanceGates implements QueueListener, DestinationInstance, FlowKeyInstance {
  readonly instanceId: string;
  private readonly deps: GateDeps;
  private readonly flowKeys = new Map<string, FlowKey>();
  /** Destinations in memory, by origin. */
  private readonly destinationMap = new Map<string, Destination>();
  /** Queues of messages, by name. */
  readonly queueGates = new Map<string, QueueGate>();
  /** Deliveries that were offered before settings and holds were read. */
  private readonly earlyDeliveries = new WaitList();
  /** The settings of the instance; null until they are read. */
  private cachedSettings: InstanceSettings | null = null;
  private readonly stored: StoredSettings;
  private readonly reads: RepeatedReads;
  private readonly readerOf = (key: string) => () => this.deps.store.findFlowControl({ instanceId: this.instanceId, key });

  constructor(instanceId: string, deps: GateDeps) {
    this.instanceId = instanceId;
    this.deps = deps;
    this.stored = new StoredSettings(instanceId, deps, (state) => this.applyStored(state));
    this.reads = new RepeatedReads(instanceId, deps, () => !this.stored.isStopped);
  }

  get isBusy(): boolean {
    if (this.stored.isReading) return true;
    for (const flowKey of this.flowKeys.values()) if (flowKey.isBusy) return true;
    for (const destination of this.destinationMap.values()) if (destination.isBusy) return true;
    for (const queueGate of this.queueGates.values()) if (!queueGate.isLoaded) return true;
    return false;
  }

  /** Takes a delivery, which passes immediately or waits. */
  offer(delivery: GatedDelivery): void {
    if (!this.cachedSettings) {
      this.earlyDeliveries.add(delivery);
      if (this.earlyDeliveries.size === 1) void this.stored.reload();
      return;
    }
    const { queue } = delivery.limits;
    if (queue === undefined) this.onPassedQueue(delivery);
    else this.queueGateOf(queue).offer(delivery);
  }

  /** Called when a message has ended. If it ended on another node, its queue is unknown. */
  leaveQueue(runKey: string, queues: Iterable<string> = [...this.queueGates.keys()]): void {
    for (const queue of queues) {
      this.queueGates.get(queue)?.messageEnded(runKey);
      if (this.queueGates.get(queue)?.isIdle) this.queueGates.delete(queue);
    }
  }

  /** Applies durable settings of a queue; null if it was deleted. */
  onQueueChanged(name: string, queue: Queue | null): void {
    this.queueGates.get(name)?.setRules(queue);
  }

  /** Checks the messages of the queues after the response to a batch was lost, because some may have ended in it. */
  async verifyQueues(isActive: (runKey: string) => Promise<boolean>): Promise<void> {
    for (const queueGate of [...this.queueGates.values()]) await queueGate.verify(isActive);
  }

  done(delivery: GatedDelivery, result: DeliveryResult): void {
    const { origin, flowControlKey } = delivery.limits;
    const destination = result.kind === 'failed' ? this.destinationOf(origin) : this.destinationMap.get(origin);
    if (destination) {
      destination.done(delivery, result);
      if (destination.isIdle) this.destinationMap.delete(origin);
    }
    if (flowControlKey !== null) this.flowKeys.get(flowControlKey)?.release(delivery, result.kind);
  }

  /** Removes a delivery that waits. */
  withdraw(delivery: GatedDelivery): void {
    delivery.list?.remove(delivery);
    if (delivery.isProbe) this.destinationMap.get(delivery.limits.origin)?.deliveryWithdrawn(delivery);
  }

  /** Returns false if the destination was held after the delivery had passed. The delivery then waits here again. */
  mayStart(delivery: GatedDelivery): boolean {
    const { origin, flowControlKey, workers } = delivery.limits;
    const existing = this.destinationMap.get(origin);
    const lacksWorker = workers !== undefined && this.noWorkerSince(origin) !== null;
    const destination = lacksWorker ? this.destinationOf(origin) : existing;
    if (!destination?.holds(delivery)) return true;
    destination.returnDelivery(delivery);
    if (flowControlKey !== null) this.flowKeys.get(flowControlKey)?.release(delivery, 'not-sent');
    return false;
  }

  onRequestSent(delivery: GatedDelivery): void {
    this.flowKeys.get(delivery.limits.flowControlKey ?? '')?.onRequestSent(delivery);
  }

  recordLimits(flowControl: FlowControl): void {
    this.flowKeys.get(flowControl.key)?.applyTrigger(flowControl);
  }

  reasons(delivery: GatedDelivery): WaitReason[] {
    const { origin, flowControlKey, queue } = delivery.limits;
    const queueReason = this.queueGates.get(queue ?? '')?.reasonFor(delivery) ?? null;
    const destination = this.destinationMap.get(origin);
    const flowKey = flowControlKey === null ? undefined : this.flowKeys.get(flowControlKey);
    const holdReason = destination?.holds(delivery) ? destination.reason : null;
    const keyReason = flowKey?.reasonFor(delivery) ?? null;
    return [queueReason, holdReason, keyReason].filter((reason) => reason !== null);
  }

  // ---------------------------------------------------------------- requests of users

  async holdReason(origin: string): Promise<WaitReason | null> {
    await this.read();
    const reason = this.destinationMap.get(origin)?.reason ?? null;
    const since = reason ? null : this.noWorkerSince(origin);
    return since === null ? reason : { kind: 'no-worker', url: origin, since };
  }

  async flowControls(): Promise<FlowControlStatus[]> {
    const states = await this.deps.store.listFlowControls({ instanceId: this.instanceId });
    return states.map((state) => {
      const flowKey = this.flowKeys.get(state.key);
      const current = flowKey?.status ?? { waiting: 0, inFlight: 0 };
      return flowKey?.isLoaded ? { ...state, ...current } : { ...state, waiting: current.waiting, inFlight: 0 };
    });
  }

  async flowControl(key: string): Promise<FlowControlStatus | null> {
    const flowKey = await this.findLoadedKey(key);
    return flowKey.isRegistered ? flowKey.status : null;
  }

  async changeFlowControl(key: string, change: FlowControlChange): Promise<FlowControlStatus | null> {
    const { instanceId } = this;
    for (;;) {
      const { state, isRegistered } = await this.findLoadedKey(key);
      if (!isRegistered && change.kind !== 'pin') return null;
      const newLimits = applyChange(state, change);
      const at = this.deps.clock.now();
      if (change.kind === 'reset-rate') {
        await this.deps.control.write({ kind: 'set-flow-window', instanceId, key, window: null });
      } else await this.deps.control.write({ kind: 'set-flow-control', instanceId, part: partOf(change), state: newLimits, at });
      // Limits of triggers in the same batch are applied by the end of the turn.
      await new Promise<void>((resolve) => this.deps.clock.endOfTurn(resolve));
      const flowKey = await this.findLoadedKey(key);
      if (change.kind === 'reset-rate') flowKey.resetRate();
      else flowKey.setLimits(applyChange(flowKey.state, change));
      if (change.kind === 'reset-rate' || areSameLimits(flowKey.state, newLimits)) return flowKey.status;
    }
  }

  async destinations(): Promise<DestinationStatus[]> {
    await this.read();
    const statuses = [...this.destinationMap.values()].filter(({ isIdle }) => !isIdle).map((destination) => destination.status);
    return statuses.sort((a, b) => (a.origin < b.origin ? -1 : 1));
  }

  async holdDestination(origin: string, reason: string): Promise<void> {
    await this.read();
    const destination = this.destinationOf(origin);
    const previousState = destination.state;
    const hold: DestinationHold = { origin, by: 'hand', reason, since: this.deps.clock.now() };
    await this.stored.change(origin, async () => {
      destination.holdManually(hold);
      try {
        await this.stored.writeHold(origin, hold);
      } catch (error) {
        if (destination.state.hold === hold) {
          destination.restore(previousState);
          // In the meantime, the breaker has not stored its hold.
          if (previousState.hold?.by === 'breaker') this.onHoldChanged(origin);
        }
        throw error;
      }
    });
  }

  async releaseDestination(origin: string): Promise<boolean> {
    await this.read();
    const destination = this.destinationMap.get(origin);
    const hold = destination?.state.hold;
    if (!destination || !hold) return false;
    await this.stored.change(origin, async () => {
      await this.stored.writeHold(origin, null);
      // A hold that was set in the meantime remains.
      if (destination.state.hold === hold) destination.lift();
    });
    return true;
  }

  async settings(): Promise<InstanceSettings> {
    return this.read();
  }

  async changeSettings(settings: InstanceSettings): Promise<void> {
    await this.read();
    await this.stored.change(SETTINGS, async () => {
      await this.deps.control.write({ kind: 'set-instance-settings', instanceId: this.instanceId, settings });
      this.cachedSettings = settings;
      for (const destination of [...this.destinationMap.values()]) destination.settingsChanged();
    });
  }

  // ---------------------------------------------------------------- changes of other nodes

  /** Reads the state of a key again, and repeats this until it succeeds. Never rejects. */
  reloadKey(key: string, isReset: boolean): Promise<void> {
    return this.reads.repeat(isReset ? 'reset' : 'reload', { flowControlKey: key }, () => this.readKey(key, isReset));
  }

  async readKey(key: string, isReset: boolean): Promise<void> {
    const flowKey = this.flowKeys.get(key);
    const isLoading = flowKey?.isLoaded === false;
    await flowKey?.reload(this.readerOf(key));
    // The load in progress may be older than the change.
    if (flowKey && isLoading) await this.load(flowKey);
    if (isReset) flowKey?.resetRate();
  }

  /** Reads the settings of a queue again, and repeats this until it succeeds. Never rejects. */
  reloadQueue(name: string): Promise<void> {
    return this.reads.repeat('reload', { queue: name }, () => this.readQueue(name));
  }

  private async readQueue(name: string): Promise<void> {
    await this.queueGates.get(name)?.reload(() => this.deps.store.findQueue({ instanceId: this.instanceId, name }));
  }

  async reloadSettings(): Promise<void> {
    if (this.cachedSettings || this.stored.isReading) await this.stored.reload();
  }

  async reloadAll(): Promise<void> {
    await this.reloadSettings();
    // One that cannot be read does not delay the others.
    for (const key of [...this.flowKeys.keys()]) await this.readKey(key, false).catch(() => void this.reloadKey(key, false));
    for (const name of [...this.queueGates.keys()]) await this.readQueue(name).catch(() => void this.reloadQueue(name));
  }

  /** Returns how many deliveries wait and are in flight at each key in use. */
  keyCounts(): Readonly<Record<string, KeyCounts>> {
    const loadedKeys = [...this.flowKeys].filter(([, key]) => key.isLoaded).map(([name, { status }]) => [name, status] as const);
    const counts = loadedKeys.map(([name, { waiting, inFlight }]) => [name, { waiting, inFlight }] as const);
    return Object.fromEntries(counts.filter(([, { waiting, inFlight }]) => waiting + inFlight > 0));
  }

  *counts(): Iterable<GateCounts> {
    for (const [name, flowKey] of this.flowKeys) {
      const [first] = flowKey.inOrder();
      yield { kind: 'key', name, ...flowKey.status, oldestSince: first?.since ?? null };
    }
    for (const [name, queueGate] of this.queueGates) yield { kind: 'queue', name, ...queueGate.counts };
  }

  waitingAt(key: string): Iterable<GatedDelivery> {
    return this.flowKeys.get(key)?.inOrder() ?? [];
  }

  stop(): void {
    this.stored.stop();
    for (const flowKey of this.flowKeys.values()) flowKey.stop();
    for (const destination of this.destinationMap.values()) destination.stop();
    for (const queueGate of this.queueGates.values()) queueGate.stop();
  }

  // ---------------------------------------------------------------- the steps of a delivery

  onPassedQueue(delivery: GatedDelivery): void {
    const { origin, workers, lentBy } = delivery.limits;
    const destination = this.destinationMap.get(origin);
    // A lent delivery does not wait here, where it would keep its slots at its lender. `mayStart` checks it.
    if (lentBy !== undefined) this.onPassedDestination(delivery);
    else if (destination?.isBlocking) destination.wait(delivery);
    else if (workers !== undefined && this.noWorkerSince(origin) !== null) this.waitAtDestination(delivery);
    else this.onPassedDestination(delivery);
  }

  onPassedDestination(delivery: GatedDelivery): void {
    const { flowControlKey } = delivery.limits;
    if (flowControlKey === null) this.deps.listener.onPassedAllGates(delivery);
    else this.keyOf(flowControlKey).offer(delivery);
  }

  isHeld(delivery: GatedDelivery): boolean {
    const { origin, workers } = delivery.limits;
    const destination = this.destinationMap.get(origin);
    return destination ? destination.holds(delivery) : workers !== undefined && this.noWorkerSince(origin) !== null;
  }

  noWorkerSince(origin: string): number | null {
    return this.deps.workers.missingSince(this.instanceId, origin);
  }

  /** Called when workers of the app have connected, or their connections have ended. */
  workersChanged(app: string): void {
    const prefix = `${WORKER_SCHEME}${app}/`;
    for (const [origin, destination] of [...this.destinationMap]) {
      if (!origin.startsWith(prefix)) continue;
      destination.onWorkersChanged();
      if (destination.isIdle) this.destinationMap.delete(origin);
    }
  }

  waitAtDestination(delivery: GatedDelivery): void {
    this.destinationOf(delivery.limits.origin).wait(delivery);
  }

  get breaker(): InstanceSettings['breaker'] {
    return this.currentSettings.breaker;
  }

  private get currentSettings(): InstanceSettings {
    return this.cachedSettings ?? DEFAULT_INSTANCE_SETTINGS;
  }

  couldStart({ limits }: GatedDelivery): boolean {
    return this.flowKeys.get(limits.flowControlKey ?? '')?.couldStart(limits) ?? true;
  }

  onHoldChanged(origin: string): void {
    this.stored.breakerChanged(origin, () => this.destinationMap.get(origin)?.state.hold ?? null);
  }

  private queueGateOf(name: string): QueueGate {
    const existing = this.queueGates.get(name);
    if (existing) return existing;
    const queueGate = new QueueGate(name, this);
    removeIdle(this.queueGates, ({ isIdle }) => isIdle);
    this.queueGates.set(name, queueGate);
    void this.reads.repeat('load', { queue: name }, () => this.loadQueueGate(queueGate));
    return queueGate;
  }

  private async loadQueueGate(queueGate: QueueGate): Promise<void> {
    const { store } = this.deps;
    const query = { instanceId: this.instanceId, name: queueGate.name };
    queueGate.load(...(await Promise.all([store.findQueue(query), store.retriedInQueue(query)])));
  }

  private keyOf(key: string): FlowKey {
    const existing = this.flowKeys.get(key);
    if (existing) return existing;
    const flowKey = new FlowKey(key, this, this.deps);
    removeIdle(this.flowKeys, ({ isIdle }) => isIdle);
    this.flowKeys.set(key, flowKey);
    // An idle key may be removed and created again while its read waits to be repeated.
    void this.reads.repeat('load', { flowControlKey: key }, () => this.load(this.flowKeys.get(key) ?? flowKey));
    return flowKey;
  }

  private async findLoadedKey(key: string): Promise<FlowKey> {
    const flowKey = this.keyOf(key);
    if (!flowKey.isLoaded) await this.load(flowKey);
    return flowKey;
  }

  private async load(flowKey: FlowKey): Promise<void> {
    const read = this.readerOf(flowKey.key);
    flowKey.load(await read());
    if (flowKey.hasChangedDuringLoad) await flowKey.reload(read);
  }

  private destinationOf(origin: string): Destination {
    const existing = this.destinationMap.get(origin);
    if (existing) return existing;
    const destination = new Destination(origin, this, this.deps.clock);
    removeIdle(this.destinationMap, ({ isBlocking }) => !isBlocking);
    this.destinationMap.set(origin, destination);
    return destination;
  }

  // ---------------------------------------------------------------- stored state

  private async read(): Promise<InstanceSettings> {
    if (!this.cachedSettings) await this.stored.read();
    return this.currentSettings;
  }

  private applyStored({ settings, holds, keeps }: StoredState): void {
    if (!keeps(SETTINGS)) this.cachedSettings = settings;
    const heldOrigins = new Set(holds.map(({ origin }) => origin));
    for (const hold of holds) {
      if (keeps(hold.origin)) continue;
      const destination = this.destinationOf(hold.origin);
      if (hold.by === 'hand') destination.holdManually(hold);
      else if (destination.state.hold?.by !== 'breaker')
        destination.restore(restoredState(hold, this.breaker, this.deps.clock.now()));
    }
    for (const [origin, destination] of [...this.destinationMap]) {
      destination.settingsChanged();
      if (destination.state.hold && !heldOrigins.has(origin) && !keeps(origin)) destination.lift();
    }
    // After a lost lease, other nodes send these deliveries.
    if (this.stored.isStopped) return;
    for (let next = this.earlyDeliveries.first; next; next = this.earlyDeliveries.first) {
      this.earlyDeliveries.remove(next);
      this.offer(next);
    }
  }
}

/** Checks a few entries and removes those that are idle, if there are many. */
function removeIdle<Entry>(entries: Map<string, Entry>, isIdle: (entry: Entry) => boolean): void {
  if (entries.size < MAX_ENTRIES) return;
  let checkedCount = 0;
  for (const [name, entry] of entries) {
    entries.delete(name);
    if (!isIdle(entry)) entries.set(name, entry);
    if (++checkedCount === CHECKED_PER_ADD) return;
  }
}
