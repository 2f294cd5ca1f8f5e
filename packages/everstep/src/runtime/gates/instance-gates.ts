/**
 * The gates of one instance: first the queues of messages, then its destinations, then its flow control keys. What is held
 * for its destination takes no place and no start at its key. What the store keeps of an instance, and of a key, is read
 * when it is needed first; what comes meanwhile waits in order.
 */
import {
  DEFAULT_INSTANCE_SETTINGS,
  type DestinationHold,
  type FlowControl,
  type InstanceSettings,
  type Queue,
} from '../../engine/runs/run.js';
import type { ControlWrite } from '../../engine/writes.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/stores/store.js';
import type { DestinationStatus, FlowControlChange, FlowControlStatus, WaitReason } from '../services/workflow-service.js';
import { restoredStanding, type Standing } from './breaker.js';
import { Destination } from './destination.js';
import { FlowKey } from './flow-key.js';
import { changedLimits, sameLimits } from './limit-changes.js';
import type { DeliveryResult } from './passage.js';
import { QueueLine } from './queue-line.js';
import type { RoomTurns } from './room.js';
import { type Delivery, WaitList } from './wait-list.js';

/** Keys and destinations beyond this are let go when nothing goes on at them. */
const KEPT = 5_000;
/** So many are looked at for each one that is added. */
const LOOKED_AT = 8;

/** What the gates read of the store. */
export type GateStore = Pick<
  Store,
  'findFlowControl' | 'listFlowControls' | 'listHolds' | 'instanceSettings' | 'findQueue' | 'retriedInQueue'
>;

export interface InstanceSurroundings {
  readonly store: GateStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly rooms: RoomTurns;
  transitMs(periodMs: number): number;
  pass(delivery: Delivery): void;
  /** Resolves when it is durable. */
  write(write: ControlWrite): Promise<void>;
  /** Something that failed is to be tried again soon. */
  tryLater(again: () => void): void;
}

export class InstanceGates {
  private readonly instanceId: string;
  private readonly surroundings: InstanceSurroundings;
  private readonly keys = new Map<string, FlowKey>();
  private readonly places = new Map<string, Destination>();
  /** Queues of messages, by name. */
  readonly lines = new Map<string, QueueLine>();
  /** What came before settings and holds were read. */
  private readonly early = new WaitList();
  /** Null until they are read. */
  private known: InstanceSettings | null = null;
  private reading: Promise<InstanceSettings> | null = null;

  constructor(instanceId: string, surroundings: InstanceSurroundings) {
    this.instanceId = instanceId;
    this.surroundings = surroundings;
  }

  get busy(): boolean {
    if (this.reading) return true;
    for (const key of this.keys.values()) if (key.busy) return true;
    for (const place of this.places.values()) if (place.busy) return true;
    for (const line of this.lines.values()) if (!line.loaded) return true;
    return false;
  }

  offer(delivery: Delivery): void {
    if (!this.known) {
      this.early.add(delivery);
      if (this.early.size === 1) this.readSoon();
      return;
    }
    const { queue } = delivery.passage;
    if (queue === undefined) this.toDestination(delivery);
    else this.lineOf(queue).offer(delivery);
  }

  /** A message has ended. Its queue is not known when it ended on another node. */
  leaveQueue(runKey: string, queues: Iterable<string> = [...this.lines.keys()]): void {
    for (const queue of queues) {
      this.lines.get(queue)?.ended(runKey);
      if (this.lines.get(queue)?.idle) this.lines.delete(queue);
    }
  }

  /** What was set of a queue, durable by now; null when it was deleted. */
  queueChanged(name: string, queue: Queue | null): void {
    this.lines.get(name)?.set(queue);
  }

  /** The answer to a batch was lost: messages may have ended in it. */
  async verifyQueues(isActive: (runKey: string) => Promise<boolean>): Promise<void> {
    for (const line of [...this.lines.values()]) await line.verify(isActive);
  }

  done(delivery: Delivery, result: DeliveryResult): void {
    const { origin, flowControlKey } = delivery.passage;
    const place = result.kind === 'failed' ? this.placeOf(origin) : this.places.get(origin);
    if (place) {
      place.done(delivery, result);
      if (place.idle) this.places.delete(origin);
    }
    if (flowControlKey !== null) this.keys.get(flowControlKey)?.release(delivery, result.kind);
  }

  /** It waited, and is gone. */
  withdrawn(delivery: Delivery): void {
    delivery.list?.remove(delivery);
    if (delivery.probe) this.places.get(delivery.passage.origin)?.withdrawn(delivery);
  }

  /** False when its destination was held after it had passed: then it waits here again. */
  mayStart(delivery: Delivery): boolean {
    const { origin, flowControlKey } = delivery.passage;
    const place = this.places.get(origin);
    if (!place?.holds(delivery)) return true;
    place.takeBack(delivery);
    if (flowControlKey !== null) this.keys.get(flowControlKey)?.release(delivery, 'not-made');
    return false;
  }

  left(delivery: Delivery): void {
    this.keys.get(delivery.passage.flowControlKey ?? '')?.left(delivery);
  }

  noteLimits(flowControl: FlowControl): void {
    this.keys.get(flowControl.key)?.note(flowControl);
  }

  reasons(delivery: Delivery): WaitReason[] {
    const { origin, flowControlKey, queue } = delivery.passage;
    const inLine = this.lines.get(queue ?? '')?.reasonFor(delivery) ?? null;
    const place = this.places.get(origin);
    const key = flowControlKey === null ? undefined : this.keys.get(flowControlKey);
    const held = place?.holds(delivery) ? place.reason : null;
    const limited = key?.reasonFor(delivery) ?? null;
    return [inLine, held, limited].filter((reason) => reason !== null);
  }

  // ---------------------------------------------------------------- what a person asks for

  async heldAt(origin: string): Promise<WaitReason | null> {
    await this.read();
    return this.places.get(origin)?.reason ?? null;
  }

  async flowControls(): Promise<FlowControlStatus[]> {
    const { store } = this.surroundings;
    const kept = await store.listFlowControls({ instanceId: this.instanceId });
    return kept.map((state) => {
      const live = this.keys.get(state.key)?.status ?? { waiting: 0, inFlight: 0 };
      return this.keys.get(state.key)?.loaded ? { ...state, ...live } : { ...state, waiting: live.waiting, inFlight: 0 };
    });
  }

  async flowControl(key: string): Promise<FlowControlStatus | null> {
    const flowKey = await this.loadedKey(key);
    return flowKey.registered ? flowKey.status : null;
  }

  async changeFlowControl(key: string, change: FlowControlChange): Promise<FlowControlStatus | null> {
    const { instanceId } = this;
    for (;;) {
      const { state, registered } = await this.loadedKey(key);
      if (!registered && change.kind !== 'pin') return null;
      const written = changedLimits(state, change);
      const at = this.surroundings.clock.now();
      if (change.kind === 'reset-rate') {
        await this.surroundings.write({ kind: 'set-flow-window', instanceId, key, window: null });
      } else await this.surroundings.write({ kind: 'set-flow-control', instanceId, state: written, at });
      // Limits of triggers that became durable together with this are known at the end of the turn.
      await new Promise<void>((resolve) => this.surroundings.clock.endOfTurn(resolve));
      const flowKey = await this.loadedKey(key);
      if (change.kind === 'reset-rate') flowKey.resetRate();
      else flowKey.set(changedLimits(flowKey.state, change));
      if (change.kind === 'reset-rate' || sameLimits(flowKey.state, written)) return flowKey.status;
    }
  }

  async destinations(): Promise<DestinationStatus[]> {
    await this.read();
    const status = [...this.places.values()].filter((place) => !place.idle).map((place) => place.status);
    return status.sort((a, b) => (a.origin < b.origin ? -1 : 1));
  }

  async holdDestination(origin: string, reason: string): Promise<void> {
    await this.read();
    const place = this.placeOf(origin);
    const before = place.standing;
    const hold: DestinationHold = { origin, by: 'hand', reason, since: this.surroundings.clock.now() };
    place.holdByHand(hold);
    try {
      await this.writeHold(origin, hold);
    } catch (error) {
      if (place.standing.hold === hold) place.restore(before);
      throw error;
    }
  }

  async releaseDestination(origin: string): Promise<boolean> {
    await this.read();
    const place = this.places.get(origin);
    const hold = place?.standing.hold;
    if (!place || !hold) return false;
    await this.writeHold(origin, null);
    // Somebody may have held it anew meanwhile; that counts.
    if (place.standing.hold === hold) place.lift();
    return true;
  }

  async settings(): Promise<InstanceSettings> {
    return this.read();
  }

  async changeSettings(settings: InstanceSettings): Promise<void> {
    await this.read();
    await this.surroundings.write({ kind: 'set-instance-settings', instanceId: this.instanceId, settings });
    this.known = settings;
    for (const place of [...this.places.values()]) place.settingsChanged();
  }

  // ---------------------------------------------------------------- what other nodes changed

  async reloadKey(key: string, reset: boolean): Promise<void> {
    const flowKey = this.keys.get(key);
    if (!flowKey?.loaded) return;
    const state = await this.surroundings.store.findFlowControl({ instanceId: this.instanceId, key });
    if (!state || this.keys.get(key) !== flowKey) return;
    if (!sameLimits(flowKey.state, state)) flowKey.set(state);
    if (reset) flowKey.resetRate();
  }

  async reloadQueue(name: string): Promise<void> {
    if (!this.lines.has(name)) return;
    const queue = await this.surroundings.store.findQueue({ instanceId: this.instanceId, name });
    this.lines.get(name)?.set(queue);
  }

  async reloadSettings(): Promise<void> {
    if (!this.known) return;
    const { instanceId } = this;
    const { store, clock } = this.surroundings;
    const [settings, holds] = await Promise.all([store.instanceSettings({ instanceId }), store.listHolds({ instanceId })]);
    const known = settings ?? DEFAULT_INSTANCE_SETTINGS;
    this.known = known;
    const held = new Map(holds.map((hold) => [hold.origin, hold]));
    for (const hold of holds) {
      const place = this.placeOf(hold.origin);
      if (!place.standing.hold) place.restore(restoredStanding(hold, known.breaker, clock.now()));
    }
    for (const [origin, place] of [...this.places]) {
      place.settingsChanged();
      if (place.standing.hold && !held.has(origin)) place.lift();
    }
  }

  async reloadAll(): Promise<void> {
    await this.reloadSettings();
    for (const key of [...this.keys.keys()]) await this.reloadKey(key, false);
    for (const name of [...this.lines.keys()]) await this.reloadQueue(name);
  }

  standing(): Readonly<Record<string, { readonly waiting: number; readonly inFlight: number }>> {
    const loaded = [...this.keys].filter(([, key]) => key.loaded).map(([name, { status }]) => [name, status] as const);
    const standing = loaded.map(([name, { waiting, inFlight }]) => [name, { waiting, inFlight }] as const);
    return Object.fromEntries(standing.filter(([, { waiting, inFlight }]) => waiting + inFlight > 0));
  }

  waitingAt(key: string): Iterable<Delivery> {
    return this.keys.get(key)?.inOrder() ?? [];
  }

  stop(): void {
    for (const key of this.keys.values()) key.stop();
    for (const place of this.places.values()) place.stop();
    for (const line of this.lines.values()) line.stop();
  }

  // ---------------------------------------------------------------- the way of a delivery

  private toDestination(delivery: Delivery): void {
    const place = this.places.get(delivery.passage.origin);
    if (place?.keepsOut) place.wait(delivery);
    else this.goOn(delivery);
  }

  private lineOf(name: string): QueueLine {
    let line = this.lines.get(name);
    if (!line) {
      line = new QueueLine(name, (delivery) => this.toDestination(delivery));
      makeRoom(this.lines, (one) => one.idle);
      this.lines.set(name, line);
      this.loadLineSoon(line);
    }
    return line;
  }

  private loadLineSoon(line: QueueLine): void {
    this.loadLine(line).catch((error: unknown) => {
      this.surroundings.log.warn({ error: String(error) }, 'could not read a queue, retrying');
      this.surroundings.tryLater(() => this.loadLineSoon(line));
    });
  }

  private async loadLine(line: QueueLine): Promise<void> {
    const { store } = this.surroundings;
    const query = { instanceId: this.instanceId, name: line.name };
    const [queue, retried] = await Promise.all([store.findQueue(query), store.retriedInQueue(query)]);
    line.load(queue, retried);
  }

  private goOn(delivery: Delivery): void {
    const { flowControlKey } = delivery.passage;
    if (flowControlKey === null) this.surroundings.pass(delivery);
    else this.keyOf(flowControlKey).offer(delivery);
  }

  private keyOf(key: string): FlowKey {
    let flowKey = this.keys.get(key);
    if (!flowKey) {
      flowKey = this.newKey(key);
      makeRoom(this.keys, (one) => one.idle);
      this.keys.set(key, flowKey);
      this.loadSoon(flowKey);
    }
    return flowKey;
  }

  private newKey(key: string): FlowKey {
    const { instanceId, surroundings } = this;
    const { clock } = surroundings;
    return new FlowKey(key, {
      instanceId,
      now: () => clock.now(),
      setTimer: (atMs, fire) => clock.setTimer(atMs, fire),
      endOfTurn: (fire) => clock.endOfTurn(fire),
      transitMs: surroundings.transitMs,
      tryLater: surroundings.tryLater,
      writeWindow: (name, window) => surroundings.write({ kind: 'set-flow-window', instanceId, key: name, window }),
      isHeld: (delivery) => this.places.get(delivery.passage.origin)?.holds(delivery) ?? false,
      stepAside: (delivery) => this.placeOf(delivery.passage.origin).wait(delivery),
      rooms: surroundings.rooms,
      pass: surroundings.pass,
    });
  }

  private async loadedKey(key: string): Promise<FlowKey> {
    const flowKey = this.keyOf(key);
    if (!flowKey.loaded) await this.load(flowKey);
    return flowKey;
  }

  private async load(flowKey: FlowKey): Promise<void> {
    flowKey.load(await this.surroundings.store.findFlowControl({ instanceId: this.instanceId, key: flowKey.key }));
  }

  private loadSoon(flowKey: FlowKey): void {
    this.load(flowKey).catch((error: unknown) => {
      this.surroundings.log.warn({ error: String(error) }, 'could not read a flow control key, retrying');
      this.surroundings.tryLater(() => this.loadSoon(flowKey));
    });
  }

  private placeOf(origin: string, restored?: Standing): Destination {
    let place = this.places.get(origin);
    if (!place) {
      const { clock } = this.surroundings;
      const surroundings = {
        now: () => clock.now(),
        setTimer: (atMs: number, fire: () => void) => clock.setTimer(atMs, fire),
        endOfTurn: (fire: () => void) => clock.endOfTurn(fire),
        settings: () => (this.known ?? DEFAULT_INSTANCE_SETTINGS).breaker,
        couldStart: ({ passage }: Delivery) => this.keys.get(passage.flowControlKey ?? '')?.couldStart(passage) ?? true,
        goOn: (delivery: Delivery) => this.goOn(delivery),
        holdChanged: () => this.keepHold(origin),
      };
      place = new Destination(origin, surroundings, restored);
      makeRoom(this.places, (one) => !one.keepsOut);
      this.places.set(origin, place);
    }
    return place;
  }

  // ---------------------------------------------------------------- what the store keeps

  private read(): Promise<InstanceSettings> {
    if (this.known) return Promise.resolve(this.known);
    this.reading ??= this.readAll().finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  private readSoon(): void {
    this.read().catch((error: unknown) => {
      this.surroundings.log.warn({ error: String(error) }, 'could not read the settings of a queue instance, retrying');
      this.surroundings.tryLater(() => this.readSoon());
    });
  }

  private async readAll(): Promise<InstanceSettings> {
    const { instanceId } = this;
    const { store, clock } = this.surroundings;
    const [settings, holds] = await Promise.all([store.instanceSettings({ instanceId }), store.listHolds({ instanceId })]);
    const known = settings ?? DEFAULT_INSTANCE_SETTINGS;
    this.known = known;
    for (const hold of holds) {
      this.placeOf(hold.origin, restoredStanding(hold, known.breaker, clock.now())).settingsChanged();
    }
    for (let next = this.early.first; next; next = this.early.first) {
      this.early.remove(next);
      this.offer(next);
    }
    return known;
  }

  private writeHold(origin: string, hold: DestinationHold | null): Promise<void> {
    return this.surroundings.write({ kind: 'set-hold', instanceId: this.instanceId, origin, hold });
  }

  /** Writes down the hold that counts now, however often it takes. */
  private keepHold(origin: string): void {
    this.writeHold(origin, this.places.get(origin)?.standing.hold ?? null).catch((error: unknown) => {
      this.surroundings.log.warn({ origin, error: String(error) }, 'could not store a destination hold, retrying');
      this.surroundings.tryLater(() => this.keepHold(origin));
    });
  }
}

/** Lets go of some at which nothing goes on, when there are many. */
function makeRoom<One>(held: Map<string, One>, mayGo: (one: One) => boolean): void {
  if (held.size < KEPT) return;
  let looked = 0;
  for (const [name, one] of held) {
    held.delete(name);
    if (!mayGo(one)) held.set(name, one);
    if (++looked === LOOKED_AT) return;
  }
}
