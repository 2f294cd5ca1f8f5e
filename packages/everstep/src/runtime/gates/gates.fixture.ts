/** Gates before endpoints that a test plays, in simulated time, over a store in memory that takes its time. */
import type { DestinationHold, FlowControl, FlowControlState, InstanceSettings, Queue } from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import { SimulatedClock } from '../../simulation/simulated-clock.js';
import { DeliveryGates, type DeliveryResult, type Passage, type Ticket } from './delivery-gates.js';
import type { GateStore } from './instance-gates.js';

export const INSTANCE = 'qi_1';
export const ORIGIN = 'http://app:80';

/** What of a store the gates need: a few maps. Commits take `latencyMs` and happen in their order. */
export class KeptInMemory implements GateStore {
  readonly keys = new Map<string, FlowControlState>();
  readonly holds = new Map<string, DestinationHold>();
  readonly queues = new Map<string, Queue>();
  /** Messages that keep their place in any queue. */
  retried: readonly string[] = [];
  settings: InstanceSettings | null = null;
  commits = 0;
  latencyMs: () => number = () => 0;
  /** Commits and reads fail while this is set. */
  broken = false;
  private readonly clock: SimulatedClock;
  private freeAt = 0;

  constructor(clock: SimulatedClock) {
    this.clock = clock;
  }

  async commit({ writes }: CommitUnit): Promise<CommitResult> {
    // A batch is taken to the disk after those before it.
    this.freeAt = Math.max(this.freeAt, this.clock.now()) + this.latencyMs();
    if (this.freeAt > this.clock.now()) await new Promise<void>((resolve) => this.clock.setTimer(this.freeAt, resolve));
    if (this.broken) throw new Error('the disk is full');
    this.commits++;
    for (const write of writes) this.write(write);
    return { kind: 'applied' };
  }

  private write(write: CommitUnit['writes'][number]): void {
    switch (write.kind) {
      case 'set-flow-control':
        this.keys.set(write.state.key, write.state);
        break;
      case 'set-flow-window':
        this.keys.set(write.key, { ...(this.keys.get(write.key) ?? unlimited(write.key)), window: write.window });
        break;
      case 'put-flow-control': {
        const { key, parallelism = null, rate = null, periodMs = null } = write.flowControl;
        const kept = this.keys.get(key) ?? unlimited(key);
        const hasLimits = parallelism !== null || rate !== null;
        this.keys.set(key, {
          ...kept,
          ...(hasLimits && !kept.parallelismPinned ? { parallelism } : {}),
          ...(hasLimits && !kept.ratePinned ? { rate, periodMs } : {}),
        });
        break;
      }
      case 'set-hold':
        if (write.hold) this.holds.set(write.origin, write.hold);
        else this.holds.delete(write.origin);
        break;
      case 'set-instance-settings':
        this.settings = write.settings;
        break;
      default:
        throw new Error(`the gates do not write ${write.kind}`);
    }
  }

  private read<Value>(value: Value): Promise<Value> {
    return this.broken ? Promise.reject(new Error('the disk is gone')) : Promise.resolve(value);
  }
  async findFlowControl({ key }: { key: string }): Promise<FlowControlState | null> {
    return this.read(this.keys.get(key) ?? null);
  }
  async listFlowControls(): Promise<readonly FlowControlState[]> {
    return this.read([...this.keys.values()].sort((a, b) => (a.key < b.key ? -1 : 1)));
  }
  async listHolds(): Promise<readonly DestinationHold[]> {
    return this.read([...this.holds.values()]);
  }
  async findQueue({ name }: { name: string }): Promise<Queue | null> {
    return this.read(this.queues.get(name) ?? null);
  }
  async retriedInQueue(): Promise<readonly string[]> {
    return this.read(this.retried);
  }
  async instanceSettings(): Promise<InstanceSettings | null> {
    return this.read(this.settings);
  }
}

const unlimited = (key: string): FlowControlState => ({
  key,
  parallelism: null,
  rate: null,
  periodMs: null,
  paused: false,
  parallelismPinned: false,
  ratePinned: false,
  window: null,
});

export interface Start {
  readonly ticket: Ticket;
  readonly passage: Passage;
  readonly at: number;
}

/** Calls `end` once with the delivery's result; how long that takes is up to the endpoint. */
export type Endpoint = (start: Start, end: (result: DeliveryResult) => void, clock: SimulatedClock) => void;

/** An endpoint that answers well after so long. */
export const answersIn =
  (durationMs: () => number): Endpoint =>
  (_start, end, clock) => {
    clock.setTimer(clock.now() + durationMs(), () => end({ kind: 'delivered' }));
  };

export const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export class GateWorld {
  readonly clock = new SimulatedClock(1_800_000_000_000);
  readonly store = new KeptInMemory(this.clock);
  readonly starts: Start[] = [];
  readonly flying = new Map<string, Start>();
  gates: DeliveryGates;
  /** Places for deliveries to each origin. */
  placesPerOrigin = Number.POSITIVE_INFINITY;
  /** Places for deliveries of an instance. */
  placesOf: (instanceId: string) => number = () => Number.POSITIVE_INFINITY;
  /** Places for long deliveries that are free. */
  longPlaces = Number.POSITIVE_INFINITY;
  endpoint: Endpoint = () => {};
  /** Requests leave as soon as they are started; else the endpoint says when. */
  leavesAtOnce = true;
  transitMs: (periodMs: number) => number = () => 0;
  onStart: (start: Start) => void = () => {};
  private generation = 0;
  private offered = 0;

  constructor() {
    this.gates = this.open();
  }

  get now(): number {
    return this.clock.now();
  }
  get startedRuns(): string[] {
    return this.starts.map(({ ticket }) => ticket.runKey);
  }

  private open(): DeliveryGates {
    const generation = ++this.generation;
    return new DeliveryGates({
      store: this.store,
      clock: this.clock,
      log: quiet,
      commit: (unit) => this.store.commit(unit),
      places: {
        free: (origin) => this.placesPerOrigin - this.flyingTo(origin),
        room: (origin) => this.placesPerOrigin - this.flyingTo(origin),
        freeOf: (instanceId) => this.placesOf(instanceId) - this.flyingOf(instanceId),
        roomOf: (instanceId) => this.placesOf(instanceId) - this.flyingOf(instanceId),
        freeLong: () => this.longPlaces,
        freeShare: () => Number.POSITIVE_INFINITY,
        promise: () => {},
      },
      transitMs: (periodMs) => this.transitMs(periodMs),
      pass: (ticket, passage) => {
        if (generation === this.generation) this.start(ticket, passage);
      },
    });
  }

  private flyingTo(origin: string): number {
    let count = 0;
    for (const { passage } of this.flying.values()) if (passage.origin === origin) count++;
    return count;
  }

  private flyingOf(instanceId: string): number {
    let count = 0;
    for (const { passage } of this.flying.values()) if (passage.instanceId === instanceId) count++;
    return count;
  }

  private start(ticket: Ticket, passage: Passage): void {
    const start = { ticket, passage, at: this.now };
    this.starts.push(start);
    this.flying.set(ticket.runKey, start);
    this.onStart(start);
    if (this.leavesAtOnce) this.gates.left(ticket);
    this.endpoint(start, (result) => this.end(start, result), this.clock);
  }

  /** Ends a delivery in flight; of one that a crash took it does nothing. */
  end(start: Start, result: DeliveryResult): void {
    if (this.flying.get(start.ticket.runKey) !== start) return;
    this.flying.delete(start.ticket.runKey);
    this.gates.done(start.ticket, start.passage, result);
    this.gates.roomFreed();
  }

  endRun(runKey: string, result: DeliveryResult = { kind: 'delivered' }): void {
    const start = this.flying.get(runKey);
    if (!start) throw new Error(`${runKey} is not in flight`);
    this.end(start, result);
  }

  /** The process is gone with all that was in memory; another one opens the store. */
  crash(): void {
    void this.gates.stop();
    this.flying.clear();
    this.gates = this.open();
  }

  offer(flowControlKey: string | null, { origin = ORIGIN, runKey = `r${this.offered++}`, instanceId = INSTANCE } = {}): string {
    this.gates.offer({ runKey, slot: 0 }, { instanceId, flowControlKey, origin });
    return runKey;
  }
  offerMany(count: number, flowControlKey: string | null, more: { origin?: string } = {}): string[] {
    return Array.from({ length: count }, () => this.offer(flowControlKey, more));
  }

  /** A trigger brings limits. */
  async trigger(flowControl: FlowControl): Promise<void> {
    await this.store.commit({
      guards: [],
      writes: [{ kind: 'put-flow-control', instanceId: INSTANCE, flowControl, at: this.now }],
    });
    this.gates.noteLimits(INSTANCE, flowControl);
  }

  async breaker(enabled: boolean, failures = 3, probeEveryMs = 1_000): Promise<void> {
    const settings = await this.gates.instanceSettings({ instanceId: INSTANCE });
    await this.gates.changeInstanceSettings({
      instanceId: INSTANCE,
      settings: { ...settings, breaker: { enabled, failures, probeEveryMs } },
    });
  }

  /** Lets time pass, and works off what falls due. */
  async pass(forMs: number): Promise<void> {
    const until = { reached: false };
    this.clock.setTimer(this.now + forMs, () => {
      until.reached = true;
    });
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.clock.runTurn()) continue;
      if (until.reached) return;
      this.clock.advance();
    }
  }

  /** The result of something that needs time to pass, at most `withinMs`. */
  async get<Value>(promise: Promise<Value>, withinMs = 100): Promise<Value> {
    const [value] = await Promise.all([promise, this.pass(withinMs)]);
    return value;
  }
}
