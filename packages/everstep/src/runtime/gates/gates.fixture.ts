/** Gates in front of scripted endpoints, in simulated time, on a store in memory with a latency. */

import { SimulatedClock } from '../../clock/testing/simulated-clock.js';
import type { DestinationHold, FlowControl, FlowControlState, InstanceSettings, Queue } from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit, ControlWrite } from '../../engine/writes.js';
import type { Delivery, DeliveryResult } from './delivery.js';
import { DeliveryGates } from './delivery-gates.js';
import type { ControlCommits, GateStore } from './gate-deps.js';

export const INSTANCE = 'qi_1';
export const ORIGIN = 'http://app:80';

/** A store in memory with the methods that the gates use. Commits take `latencyMs` and are applied in order. */
export class MemoryGateStore implements GateStore, ControlCommits {
  readonly keys = new Map<string, FlowControlState>();
  readonly holds = new Map<string, DestinationHold>();
  readonly queues = new Map<string, Queue>();
  /** Messages that keep their position in any queue. */
  retriedRunKeys: readonly string[] = [];
  settings: InstanceSettings | null = null;
  commits = 0;
  latencyMs: () => number = () => 0;
  /** Time from the moment whose state a read returns until it returns. */
  readLatencyMs = 0;
  /** Whether commits and reads fail. */
  isBroken = false;
  private readonly clock: SimulatedClock;
  private freeAt = 0;

  constructor(clock: SimulatedClock) {
    this.clock = clock;
  }

  async commitControl({ writes }: CommitUnit): Promise<CommitResult> {
    // Batches are written one after the other.
    this.freeAt = Math.max(this.freeAt, this.clock.now()) + this.latencyMs();
    if (this.freeAt > this.clock.now()) await new Promise<void>((resolve) => this.clock.setTimer(this.freeAt, resolve));
    if (this.isBroken) throw new Error('the disk is full');
    this.commits++;
    for (const write of writes) this.write(write);
    return { kind: 'applied' };
  }

  private write(write: CommitUnit['writes'][number]): void {
    switch (write.kind) {
      case 'set-flow-control':
        this.keys.set(write.state.key, this.withPart(write));
        break;
      case 'set-flow-window':
        this.keys.set(write.key, { ...(this.keys.get(write.key) ?? unlimited(write.key)), window: write.window });
        break;
      case 'put-flow-control': {
        const { key, parallelism = null, rate = null, periodMs = null } = write.flowControl;
        const existing = this.keys.get(key) ?? unlimited(key);
        const hasLimits = parallelism !== null || rate !== null;
        this.keys.set(key, {
          ...existing,
          ...(hasLimits && !existing.parallelismPinned ? { parallelism } : {}),
          ...(hasLimits && !existing.ratePinned ? { rate, periodMs } : {}),
        });
        break;
      }
      case 'set-hold':
        if (write.by === 'breaker' && this.holds.get(write.origin)?.by === 'hand') break;
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

  private withPart({ part, state }: Extract<ControlWrite, { readonly kind: 'set-flow-control' }>): FlowControlState {
    const existing = this.keys.get(state.key);
    if (!existing) return { ...state, window: null };
    return part === 'paused' ? { ...existing, paused: state.paused } : { ...existing, ...state, paused: existing.paused };
  }

  private async read<Value>(value: Value): Promise<Value> {
    const returnsAt = this.clock.now() + this.readLatencyMs;
    if (this.readLatencyMs > 0) await new Promise<void>((resolve) => this.clock.setTimer(returnsAt, resolve));
    if (this.isBroken) throw new Error('the disk is gone');
    return value;
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
    return this.read(this.retriedRunKeys);
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

/** A delivery that has passed the gates. */
export interface Start extends Delivery {
  readonly at: number;
}

/** Calls `end` once with the delivery's result, at any time. */
export type Endpoint = (start: Start, end: (result: DeliveryResult) => void, clock: SimulatedClock) => void;

/** Returns an endpoint that succeeds after this time. */
export const endsIn =
  (durationMs: () => number): Endpoint =>
  (_start, end, clock) => {
    clock.setTimer(clock.now() + durationMs(), () => end({ kind: 'delivered' }));
  };

export const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export class GateHarness {
  readonly clock = new SimulatedClock(1_800_000_000_000);
  readonly store = new MemoryGateStore(this.clock);
  readonly starts: Start[] = [];
  readonly inFlight = new Map<string, Start>();
  /** Texts of the warnings in the log. */
  readonly warnings: string[] = [];
  gates: DeliveryGates;
  /** Slots for deliveries to each origin. */
  slotsPerOrigin = Number.POSITIVE_INFINITY;
  /** Slots for deliveries of an instance. */
  slotsOf: (instanceId: string) => number = () => Number.POSITIVE_INFINITY;
  /** Free slots for long deliveries. */
  longSlots = Number.POSITIVE_INFINITY;
  endpoint: Endpoint = () => {};
  /** Whether requests are sent as soon as they start; otherwise the endpoint decides when. */
  sendsAtOnce = true;
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
    return this.starts.map(({ runKey }) => runKey);
  }

  private open(): DeliveryGates {
    const generation = ++this.generation;
    return new DeliveryGates({
      store: this.store,
      clock: this.clock,
      log: { ...quiet, warn: (_fields, text) => this.warnings.push(text) },
      commits: this.store,
      slots: {
        free: (origin) => this.slotsPerOrigin - this.inFlightTo(origin),
        reservable: (origin) => this.slotsPerOrigin - this.inFlightTo(origin),
        freeOf: (instanceId) => this.slotsOf(instanceId) - this.inFlightOf(instanceId),
        reservableOf: (instanceId) => this.slotsOf(instanceId) - this.inFlightOf(instanceId),
        freeLong: () => this.longSlots,
        freeShare: () => Number.POSITIVE_INFINITY,
        reserve: () => {},
        isFull: () => false,
        takeFreedOrigins: () => [],
      },
      transitMs: (periodMs) => this.transitMs(periodMs),
      exit: {
        onPassedGates: (delivery) => {
          // A process that has crashed starts nothing.
          if (generation === this.generation) this.start(delivery);
        },
      },
    });
  }

  private inFlightTo(origin: string): number {
    let count = 0;
    for (const { limits } of this.inFlight.values()) if (limits.origin === origin) count++;
    return count;
  }

  private inFlightOf(instanceId: string): number {
    let count = 0;
    for (const { limits } of this.inFlight.values()) if (limits.instanceId === instanceId) count++;
    return count;
  }

  private start({ runKey, slot, limits }: Delivery): void {
    const start = { runKey, slot, limits, at: this.now };
    this.starts.push(start);
    this.inFlight.set(runKey, start);
    this.onStart(start);
    if (this.sendsAtOnce) this.gates.onRequestSent(start);
    this.endpoint(start, (result) => this.end(start, result), this.clock);
  }

  /** Ends a delivery in flight; does nothing if a crash has ended it. */
  end(start: Start, result: DeliveryResult): void {
    if (this.inFlight.get(start.runKey) !== start) return;
    this.inFlight.delete(start.runKey);
    this.gates.done(start, result);
    this.gates.onSlotsFreed();
  }

  endRun(runKey: string, result: DeliveryResult = { kind: 'delivered' }): void {
    const start = this.inFlight.get(runKey);
    if (!start) throw new Error(`${runKey} is not in flight`);
    this.end(start, result);
  }

  /** The process and its memory are lost; another process opens the store. */
  crash(): void {
    void this.gates.stop();
    this.inFlight.clear();
    this.gates = this.open();
  }

  offer(flowControlKey: string | null, { origin = ORIGIN, runKey = `r${this.offered++}`, instanceId = INSTANCE } = {}): string {
    this.gates.offer({ runKey, slot: 0, limits: { instanceId, flowControlKey, origin } });
    return runKey;
  }
  offerMany(count: number, flowControlKey: string | null, more: { origin?: string } = {}): string[] {
    return Array.from({ length: count }, () => this.offer(flowControlKey, more));
  }

  /** Applies limits of a trigger. */
  async trigger(flowControl: FlowControl): Promise<void> {
    await this.store.commitControl({
      guards: [],
      writes: [{ kind: 'put-flow-control', instanceId: INSTANCE, flowControl, at: this.now }],
    });
    this.gates.recordLimits(INSTANCE, flowControl);
  }

  async breaker(enabled: boolean, failures = 3, probeEveryMs = 1_000): Promise<void> {
    const settings = await this.gates.instanceSettings({ instanceId: INSTANCE });
    await this.gates.changeInstanceSettings({
      instanceId: INSTANCE,
      settings: { ...settings, breaker: { enabled, failures, probeEveryMs } },
    });
  }

  /** Advances the time and runs what becomes due. */
  async passTime(forMs: number): Promise<void> {
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

  /** Resolves with the value of a promise while time passes, at most `withinMs`. */
  async get<Value>(promise: Promise<Value>, withinMs = 100): Promise<Value> {
    const [value] = await Promise.all([promise, this.passTime(withinMs)]);
    return value;
  }
}
