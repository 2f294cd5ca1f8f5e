/**
 * One destination of one instance: whether it is held, by its breaker or by a person, and the deliveries that wait until the
 * hold ends. A worker URL without a connected worker holds its deliveries, too. While the breaker holds it, one delivery per interval passes as a probe.
 */
import type { BreakerSettings, DestinationHold } from '../../engine/runs/run.js';
import type { Clock } from '../../ports/clock.js';
import type { DestinationStatus, WaitReason } from '../services/workflow-service.js';
import { type DestinationState, HEALTHY, stateAfter } from './breaker.js';
import type { DeliveryResult } from './delivery.js';
import { type GatedDelivery, WaitList } from './wait-list.js';

/** Maximum number of deliveries that pass before other work of the process continues. */
const MAX_PER_TURN = 1_000;

/** The instance of a destination. */
export interface DestinationInstance {
  readonly breaker: BreakerSettings;
  /** Whether, as far as is known, only the destination prevents the delivery from starting. */
  couldStart(delivery: GatedDelivery): boolean;
  /** Returns since when no worker serves the destination; null if one does, or if it is not a worker URL. */
  noWorkerSince(origin: string): number | null;
  /** Called when the delivery has passed its destination. */
  passedDestination(delivery: GatedDelivery): void;
  /** Called when the hold has changed and must be stored. */
  holdChanged(origin: string): void;
}

export class Destination {
  readonly origin: string;
  private readonly instance: DestinationInstance;
  private readonly clock: Clock;
  private readonly list = new WaitList();
  private current: DestinationState;
  /** The delivery that passed as a probe: it is in flight, or waits at its key. */
  private probe: GatedDelivery | null = null;
  private releaseScheduled = false;
  private stopped = false;
  private cancelTimer: (() => void) | null = null;

  constructor(origin: string, instance: DestinationInstance, clock: Clock, state: DestinationState = HEALTHY) {
    this.origin = origin;
    this.instance = instance;
    this.clock = clock;
    this.current = state;
  }

  get state(): DestinationState {
    return this.current;
  }
  /** Whether an offered delivery must wait here: also behind those that are not released yet. */
  get blocks(): boolean {
    return this.isHeld || this.list.size > 0;
  }
  /** Whether no state of the destination has to be kept. */
  get idle(): boolean {
    return this.current.hold === null && this.list.size === 0 && this.current.failures === 0;
  }
  get busy(): boolean {
    return this.releaseScheduled;
  }

  /** Whether the delivery must not pass now, wherever it waits. */
  holds(delivery: GatedDelivery): boolean {
    return this.noWorkerSince !== null || (this.current.hold !== null && !delivery.probe);
  }

  wait(delivery: GatedDelivery): void {
    this.list.add(delivery);
    this.tryProbe();
  }

  /** Takes a delivery back that passed before the hold. Its caller releases it by the end of the turn. */
  returnDelivery(delivery: GatedDelivery): void {
    this.list.add(delivery);
    this.clock.endOfTurn(() => {
      this.releaseReady();
    });
  }

  /** Called when a delivery to the destination is done. */
  done(delivery: GatedDelivery, result: DeliveryResult): void {
    const probe = delivery === this.probe;
    if (probe) this.probe = null;
    this.setState(stateAfter(this.current, { origin: this.origin, result, probe, at: this.clock.now() }, this.instance.breaker));
  }

  /** Called when a delivery that waited, here or at its key, was withdrawn. */
  withdrawn(delivery: GatedDelivery): void {
    if (delivery !== this.probe) return;
    this.probe = null;
    this.setState({ ...this.current, probeAt: this.clock.now() });
  }

  holdByHand(hold: DestinationHold): void {
    this.dropProbe();
    this.current = { ...this.current, hold, probeAt: null };
    this.clearTimer();
  }

  /** Restores the state before a hold that could not be stored. */
  restore(state: DestinationState): void {
    this.current = state;
    this.releaseReady();
  }

  /** Called when a worker has connected, or its connection has ended. */
  workersChanged(): void {
    this.releaseReady();
  }

  /** Ends the hold; all waiting deliveries continue, in order. */
  lift(): void {
    this.dropProbe();
    this.current = HEALTHY;
    this.clearTimer();
    this.release();
  }

  /** Called when the settings of the breaker have changed. */
  settingsChanged(): void {
    const { hold, probeAt } = this.current;
    if (hold?.by !== 'breaker' || probeAt === null) return;
    const { enabled, probeEveryMs } = this.instance.breaker;
    if (enabled) this.setState({ ...this.current, probeAt: Math.min(probeAt, this.clock.now() + probeEveryMs) });
    else {
      this.lift();
      this.instance.holdChanged(this.origin);
    }
  }

  get status(): DestinationStatus {
    const { origin, noWorkerSince } = this;
    const { hold, failures, lastError } = this.current;
    return {
      origin,
      ...(noWorkerSince === null ? {} : { noWorkerSince }),
      ...{ hold, failures, lastError, waiting: this.list.size, probeAt: this.plannedProbeAt },
    };
  }

  /** Returns why a delivery to the destination does not pass; null if it is not held. */
  get reason(): WaitReason | null {
    const { hold } = this.current;
    const since = this.noWorkerSince;
    if (since !== null && hold?.by !== 'hand') return { kind: 'no-worker', url: this.origin, since };
    return hold && { kind: 'destination-held', hold, probeAt: this.plannedProbeAt };
  }

  stop(): void {
    this.stopped = true;
    this.clearTimer();
  }

  private get noWorkerSince(): number | null {
    return this.instance.noWorkerSince(this.origin);
  }

  private get isHeld(): boolean {
    return this.current.hold !== null || this.noWorkerSince !== null;
  }

  /** Lets the deliveries pass that may pass now. */
  private releaseReady(): void {
    if (this.current.hold) this.tryProbe();
    else this.release();
  }

  private get plannedProbeAt(): number | null {
    return this.list.size > 0 && !this.probe ? this.current.probeAt : null;
  }

  private setState(next: DestinationState): void {
    const previous = this.current;
    this.current = next;
    if (next.hold !== previous.hold) this.instance.holdChanged(this.origin);
    if (next.hold) this.tryProbe();
    else if (previous.hold) this.lift();
  }

  /** If a probe is due, lets the delivery pass that has waited longest and waits for nothing else. */
  private tryProbe(): void {
    const { hold, probeAt } = this.current;
    if (
      this.stopped ||
      this.noWorkerSince !== null ||
      this.probe ||
      hold?.by !== 'breaker' ||
      probeAt === null ||
      this.list.size === 0
    )
      return;
    const now = this.clock.now();
    if (now < probeAt) {
      this.setTimer(probeAt);
      return;
    }
    // If no delivery can start, or the chosen one then cannot, the next try follows an interval later.
    const nextProbeAt = now + this.instance.breaker.probeEveryMs;
    this.current = { ...this.current, probeAt: nextProbeAt };
    this.setTimer(nextProbeAt);
    const probe = this.chooseProbe();
    if (!probe) return;
    this.list.remove(probe);
    probe.probe = true;
    this.probe = probe;
    this.instance.passedDestination(probe);
  }

  private chooseProbe(): GatedDelivery | null {
    const fullKeys = new Set<string>();
    for (const delivery of this.list.inOrder()) {
      const { flowControlKey } = delivery.limits;
      if (flowControlKey === null) return delivery;
      if (fullKeys.has(flowControlKey)) continue;
      if (this.instance.couldStart(delivery)) return delivery;
      fullKeys.add(flowControlKey);
    }
    return null;
  }

  /** A probe that still waits at its key becomes an ordinary delivery; it returns when its turn at the key comes. */
  private dropProbe(): void {
    if (this.probe) this.probe.probe = false;
    this.probe = null;
  }

  private release(): void {
    if (this.releaseScheduled) return;
    for (let count = 0; count < MAX_PER_TURN; count++) {
      const { first } = this.list;
      if (!first || this.isHeld || this.stopped) return;
      this.list.remove(first);
      this.instance.passedDestination(first);
    }
    if (this.list.size === 0) return;
    this.releaseScheduled = true;
    this.clock.endOfTurn(() => {
      this.releaseScheduled = false;
      this.release();
    });
  }

  private setTimer(at: number): void {
    this.clearTimer();
    this.cancelTimer = this.clock.setTimer(at, () => {
      this.cancelTimer = null;
      const { probe } = this;
      if (probe?.list) {
        probe.list.remove(probe);
        this.dropProbe();
        this.list.add(probe);
      }
      this.tryProbe();
    });
  }

  private clearTimer(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}
