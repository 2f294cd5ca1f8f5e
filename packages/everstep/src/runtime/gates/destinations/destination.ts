/**
 * One destination of one instance: whether it is held, by its breaker or by a person, and the deliveries that wait until the
 * hold ends. A worker URL without a connected worker holds its deliveries, too. While the breaker holds the destination, one
 * delivery per interval passes as a probe.
 */
import type { BreakerSettings, DestinationHold } from '../../../engine/runs/run.js';
import type { Clock } from '../../../ports/clock.js';
import type { DestinationStatus, WaitReason } from '../../services/workflow-service.js';
import type { DeliveryResult } from '../delivery.js';
import { type GatedDelivery, WaitList } from '../wait-list.js';
import { type DestinationState, HEALTHY, stateAfter } from './breaker.js';

/** Maximum number of deliveries that pass before other work of the process continues. */
const MAX_PER_TURN = 1_000;

/** The instance of a destination. */
export interface DestinationInstance {
  readonly breaker: BreakerSettings;
  /** Returns whether, as far as is known, only the destination prevents the delivery from starting. */
  couldStart(delivery: GatedDelivery): boolean;
  /** Returns since when no worker serves the destination; null if one does, or if it is not a worker URL. */
  noWorkerSince(origin: string): number | null;
  /** Called when the delivery has passed its destination. */
  onPassedDestination(delivery: GatedDelivery): void;
  /** Called when the hold has changed and must be stored. */
  onHoldChanged(origin: string): void;
}

export class Destination {
  readonly origin: string;
  private readonly instance: DestinationInstance;
  private readonly clock: Clock;
  private readonly waitList = new WaitList();
  private currentState: DestinationState = HEALTHY;
  /** The delivery that passed as a probe: it is in flight, or waits at its key. */
  private probe: GatedDelivery | null = null;
  private isReleaseScheduled = false;
  private isStopped = false;
  private cancelTimer: (() => void) | null = null;

  constructor(origin: string, instance: DestinationInstance, clock: Clock) {
    this.origin = origin;
    this.instance = instance;
    this.clock = clock;
  }

  get state(): DestinationState {
    return this.currentState;
  }
  /** Whether an offered delivery must wait here, possibly only behind others that are not released yet. */
  get isBlocking(): boolean {
    return this.isHeld || this.waitList.size > 0;
  }
  /** Whether the destination can be removed from memory, because it has no state. */
  get isIdle(): boolean {
    return this.currentState.hold === null && this.waitList.size === 0 && this.currentState.failures === 0;
  }
  /** Whether deliveries are being released. */
  get isBusy(): boolean {
    return this.isReleaseScheduled;
  }

  /** Returns whether the delivery must not pass now, wherever it waits. A lent delivery may be the probe of its lender. */
  holds({ isProbe, limits }: GatedDelivery): boolean {
    if (this.noWorkerSince !== null) return true;
    const { hold } = this.currentState;
    return limits.lentBy === undefined ? hold !== null && !isProbe : hold?.by === 'hand';
  }

  wait(delivery: GatedDelivery): void {
    this.waitList.add(delivery);
    this.tryProbe();
  }

  /**
   * Takes back a delivery that passed before the hold. It may pass again from the end of the turn, when the caller has released
   * it.
   */
  returnDelivery(delivery: GatedDelivery): void {
    this.waitList.add(delivery);
    this.clock.endOfTurn(() => {
      this.releaseReady();
    });
  }

  /** Called when a delivery to the destination is done. */
  done(delivery: GatedDelivery, result: DeliveryResult): void {
    const isProbe = delivery === this.probe;
    if (isProbe) this.probe = null;
    this.setState(
      stateAfter(this.currentState, { origin: this.origin, result, isProbe, at: this.clock.now() }, this.instance.breaker),
    );
  }

  /** Called when a delivery that waited, here or at its key, was withdrawn. */
  deliveryWithdrawn(delivery: GatedDelivery): void {
    if (delivery !== this.probe) return;
    this.probe = null;
    this.setState({ ...this.currentState, probeAt: this.clock.now() });
  }

  holdManually(hold: DestinationHold): void {
    this.dropProbe();
    this.currentState = { ...this.currentState, hold, probeAt: null };
    this.clearTimer();
  }

  /** Sets a stored state, or the state before a hold that could not be stored. */
  restore(state: DestinationState): void {
    this.currentState = state;
    this.releaseReady();
  }

  /** Called when a worker has connected, or its connection has ended. */
  onWorkersChanged(): void {
    this.releaseReady();
  }

  /** Ends the hold; all waiting deliveries continue, in order. */
  lift(): void {
    this.dropProbe();
    this.currentState = HEALTHY;
    this.clearTimer();
    this.release();
  }

  /** Called when the settings of the breaker have changed. */
  settingsChanged(): void {
    const { hold, probeAt } = this.currentState;
    if (hold?.by !== 'breaker' || probeAt === null) return;
    const { enabled, probeEveryMs } = this.instance.breaker;
    if (enabled) this.setState({ ...this.currentState, probeAt: Math.min(probeAt, this.clock.now() + probeEveryMs) });
    else {
      this.lift();
      this.instance.onHoldChanged(this.origin);
    }
  }

  get status(): DestinationStatus {
    const { origin, noWorkerSince } = this;
    const { hold, failures, lastError } = this.currentState;
    return {
      origin,
      ...(noWorkerSince === null ? {} : { noWorkerSince }),
      ...{ hold, failures, lastError, waiting: this.waitList.size, probeAt: this.plannedProbeAt },
    };
  }

  /** Returns why a delivery to the destination does not pass; null if it is not held. */
  get reason(): WaitReason | null {
    const { hold } = this.currentState;
    const since = this.noWorkerSince;
    if (since !== null && hold?.by !== 'hand') return { kind: 'no-worker', url: this.origin, since };
    return hold && { kind: 'destination-held', hold, probeAt: this.plannedProbeAt };
  }

  stop(): void {
    this.isStopped = true;
    this.clearTimer();
  }

  private get noWorkerSince(): number | null {
    return this.instance.noWorkerSince(this.origin);
  }

  private get isHeld(): boolean {
    return this.currentState.hold !== null || this.noWorkerSince !== null;
  }

  /** Lets the deliveries pass that may pass now. */
  private releaseReady(): void {
    if (this.currentState.hold) this.tryProbe();
    else this.release();
  }

  private get plannedProbeAt(): number | null {
    return this.waitList.size > 0 && !this.probe ? this.currentState.probeAt : null;
  }

  private setState(nextState: DestinationState): void {
    const previousState = this.currentState;
    this.currentState = nextState;
    if (nextState.hold !== previousState.hold) this.instance.onHoldChanged(this.origin);
    if (nextState.hold) this.tryProbe();
    else if (previousState.hold) this.lift();
  }

  /** If a probe is due, lets the delivery pass that has waited longest and waits for nothing else. */
  private tryProbe(): void {
    const { hold, probeAt } = this.currentState;
    if (
      this.isStopped ||
      this.noWorkerSince !== null ||
      this.probe ||
      hold?.by !== 'breaker' ||
      probeAt === null ||
      this.waitList.size === 0
    )
      return;
    const now = this.clock.now();
    if (now < probeAt) {
      this.setTimer(probeAt);
      return;
    }
    // If no delivery can start, or the chosen one then cannot, the next try follows an interval later.
    const nextProbeAt = now + this.instance.breaker.probeEveryMs;
    this.currentState = { ...this.currentState, probeAt: nextProbeAt };
    this.setTimer(nextProbeAt);
    const probe = this.chooseProbe();
    if (!probe) return;
    this.waitList.remove(probe);
    probe.isProbe = true;
    this.probe = probe;
    this.instance.onPassedDestination(probe);
  }

  private chooseProbe(): GatedDelivery | null {
    const fullKeys = new Set<string>();
    for (const delivery of this.waitList.inOrder()) {
      const { flowControlKey } = delivery.limits;
      if (flowControlKey === null) return delivery;
      if (fullKeys.has(flowControlKey)) continue;
      if (this.instance.couldStart(delivery)) return delivery;
      fullKeys.add(flowControlKey);
    }
    return null;
  }

  /** Forgets the probe. If it still waits at its key, it becomes an ordinary delivery and returns when its turn there comes. */
  private dropProbe(): void {
    if (this.probe) this.probe.isProbe = false;
    this.probe = null;
  }

  private release(): void {
    if (this.isReleaseScheduled) return;
    for (let count = 0; count < MAX_PER_TURN; count++) {
      const { first } = this.waitList;
      if (!first || this.isHeld || this.isStopped) return;
      this.waitList.remove(first);
      this.instance.onPassedDestination(first);
    }
    if (this.waitList.size === 0) return;
    this.isReleaseScheduled = true;
    this.clock.endOfTurn(() => {
      this.isReleaseScheduled = false;
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
        this.waitList.add(probe);
      }
      this.tryProbe();
    });
  }

  private clearTimer(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}
